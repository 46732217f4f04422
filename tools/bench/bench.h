/* SPDX-License-Identifier: MIT */
/*
 * The benchmarks as data: what each measures, with which parameters, and which systems take part.
 *
 *   benchmark   a name to ask for; runs one measurement (measure.h) in several variants
 *   variant     one set of parameters; has a few metrics, each an object of its own in the JSON
 *   entrant     a system that takes part: a measuring program, and what it is given in addition
 */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include "measure.h"

struct metric {
    const char *name; /* NULL: there is none */
    const char *unit;
    const char *heading; /* of its column, for all but the first metric of a variant */
    bool more_is_better;
};

struct variant {
    const char *params;
    struct metric metrics[RESULT_VALUES];
    const char *measurement; /* NULL: as the benchmark says */
    const char *without;     /* a system that does not take part in this one */
    const char *paper;       /* the document whose parameters these are: it runs under --paper only. NULL: by default */
};

struct entrant {
    const char *system;      /* the name that is shown */
    const char *program;     /* in the directory of peers; NULL: this program itself */
    const char *params;      /* these come before those of the variant: the first one found counts */
    const char *measurement; /* NULL: as the variant says */
    const char *server;      /* in the directory of peers, given as server=PATH: what is measured from outside */
};

#define BENCH_VARIANTS 20
#define BENCH_ENTRANTS 12
#define BENCH_WORKERS 2

struct bench {
    const char *name;
    const char *summary;
    const char *does; /* what each system does, in one line; docs/BENCHMARKS.md has the same */
    const char *measurement;
    const char *reference; /* in the directory of peers; given as reference=PATH if it is there. NULL: none */
    const char *quick;     /* parameters under --quick, before all others */
    struct variant variants[BENCH_VARIANTS];
    struct entrant entrants[BENCH_ENTRANTS]; /* weft is the first */
    unsigned workers[BENCH_WORKERS];         /* when none are asked for; 0: no more */
    bool yardstick; /* there is `serial`, as many processes as workers: speed-ups are shown beside its own */
};

/* NULL if the index is too large, or the name is unknown. */
const struct bench *bench_at(size_t index);
const struct bench *bench_find(const char *name);
const struct entrant *bench_entrant(const struct bench *bench, const char *system);

#endif
