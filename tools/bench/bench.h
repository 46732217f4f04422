/* SPDX-License-Identifier: MIT */
/*
 * The benchmarks as data: what each measures, with which parameters, and which systems take part.
 *
 *   benchmark   has a name; runs one measurement (measure.h) in several variants
 *   variant     one set of parameters; has a few metrics, each an object of its own in the JSON
 *   entrant     a system that takes part: a measuring program, and additional parameters
 */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include "measure.h"

struct metric {
    const char *name; /* NULL: no metric */
    const char *unit;
    const char *heading; /* the heading of its column; the first metric of a variant needs none */
    bool more_is_better;
};

struct variant {
    const char *params;
    struct metric metrics[RESULT_VALUES];
    const char *measurement; /* NULL: that of the benchmark */
    const char *without;     /* a system that does not take part in this variant */
    const char *paper;       /* the document that has these parameters: the variant runs only under --paper. NULL: it
                                runs by default */
};

struct entrant {
    const char *system;      /* the name in the output */
    const char *program;     /* in the directory of peers; NULL: this program */
    const char *params;      /* parameters before those of the variant; the first value of a key counts */
    const char *measurement; /* NULL: that of the variant */
    const char *server;      /* in the directory of peers, passed as server=PATH: the program to measure from outside */
};

#define BENCH_VARIANTS 20
#define BENCH_ENTRANTS 12
#define BENCH_WORKERS 2

struct bench {
    const char *name;
    const char *summary;
    const char *does; /* the work of each system, in one line; docs/BENCHMARKS.md has the same text */
    const char *measurement;
    const char *reference; /* in the directory of peers; passed as reference=PATH if it exists. NULL: none */
    const char *quick;     /* parameters under --quick, which come first */
    struct variant variants[BENCH_VARIANTS];
    struct entrant entrants[BENCH_ENTRANTS]; /* weft is the first */
    unsigned workers[BENCH_WORKERS];         /* the default numbers of workers; 0 ends the list */
    bool yardstick; /* the entrant `serial`, as many processes as workers, takes part: speed-ups are shown beside its
                       speed-up */
};

/* Returns NULL if the index is too large, or the name is unknown. */
const struct bench *bench_at(size_t index);
const struct bench *bench_find(const char *name);
const struct entrant *bench_entrant(const struct bench *bench, const char *system);

#endif
