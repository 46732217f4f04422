/* SPDX-License-Identifier: MIT */
/*
 * Runs a variant of a benchmark on all systems. Every round runs each system once with each number of workers, so a
 * disturbance of the machine affects all systems alike. Figures are medians over the rounds. Comparisons are medians of
 * the ratios within each round.
 */
#ifndef TOOLS_SUITE_H
#define TOOLS_SUITE_H

#include "bench/bench.h"
#include "program.h"

#define SUITE_PEERS 8

struct setting {
    unsigned runs;
    unsigned milliseconds; /* of one measurement, if its duration can be chosen */
    bool quick;
    const char *peers[SUITE_PEERS]; /* the systems beside weft; none: all */
    const char *given;              /* words key=value of the caller, before those of the benchmark; never NULL */
    struct program_place place;
    bool counts; /* show what weft counted, too */
    bool silent; /* no progress */
};

struct figure {
    double median, min, max;
};

/* The median of the ratios within each round, and its 95 % interval; 0: there is none. */
struct ratio {
    double median, low, high;
};

struct outcome {
    const struct entrant *entrant;
    unsigned workers;
    unsigned runs; /* runs that gave a figure */
    bool ok;       /* all runs were made, and all results were right */
    struct figure figures[RESULT_VALUES];
    double *values[RESULT_VALUES]; /* of all rounds; 0 where there is no figure */
    struct samples samples;        /* of all rounds */
    struct ratio to_weft;          /* ratio of the first figure to weft's with the same number of workers */
    struct ratio to_serial;        /* ratio to the figure of as many serial processes, if `serial` takes part */
    struct ratio speedup;          /* ratio of the figure with the first number of workers to this figure */
    struct ratio share;            /* the speed-up divided by that of as many serial processes */
};

/* Does the setting let this system take part in the variant? It may still not be installed. */
bool suite_takes_part(const struct setting *setting, const struct variant *variant, const struct entrant *entrant);

/* Does the variant accept these parameters, and does it then differ from the earlier variants? */
bool suite_runs_variant(const struct setting *setting, const struct bench *bench, const struct variant *variant);

/* The words for an entrant. If a key occurs more than once, the first counts. */
#define SUITE_WORDS 1024
void suite_words(const struct setting *setting, const struct bench *bench, const struct variant *variant,
                 const struct entrant *entrant, unsigned workers, char words[SUITE_WORDS]);

/* Writes the name of a metric, with the parameters that the caller has changed. Returns name. */
#define SUITE_NAME 512
char *suite_metric_name(const struct setting *setting, const struct variant *variant, const char *metric,
                        char name[SUITE_NAME]);

/* Fills *outcomes, which suite_free() frees, and returns how many there are: one for each number of workers (0: no
 * more) and each system that takes part and is installed, weft first. */
int suite_run(const struct setting *setting, const struct bench *bench, const struct variant *variant,
              const unsigned *workers, struct outcome **outcomes);
void suite_free(struct outcome *outcomes, int count);

/* The cpus this process may use. */
unsigned suite_cpus(void);

#endif
