/*
 * Runs a variant of a benchmark on all systems, side by side: every round runs each system once, so
 * that whatever disturbs the machine disturbs all of them alike. Figures are medians over the rounds.
 */
#ifndef TOOLS_SUITE_H
#define TOOLS_SUITE_H

#include "bench/bench.h"

#define SUITE_PEERS 8

struct setting {
    unsigned runs;
    unsigned milliseconds; /* of one measurement, where its length can be chosen */
    bool quick;
    const char *peers[SUITE_PEERS]; /* the systems beside weft; none: all */
};

struct figure {
    double median, min, max;
};

struct outcome {
    const struct entrant *entrant;
    unsigned workers;
    unsigned runs; /* that gave a figure */
    bool ok;       /* all were run, and each one's result was right */
    struct figure figures[RESULT_VALUES];
};

/* Whether the setting lets this system take part in the variant; it may still not be installed. */
bool suite_takes_part(const struct setting *setting, const struct variant *variant, const struct entrant *entrant);

/* Fills `outcomes` (room for BENCH_ENTRANTS), weft first, and returns how many there are: one for
 * each system that takes part and is installed. */
int suite_run(const struct setting *setting, const struct bench *bench, const struct variant *variant, unsigned workers,
              struct outcome *outcomes);

/* The cpus this process may use. */
unsigned suite_cpus(void);

#endif
