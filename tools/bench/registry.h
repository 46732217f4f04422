/* SPDX-License-Identifier: MIT */
/*
 * Macros for the tables of benchmarks (registry_*.c). See bench.h.
 */
#ifndef BENCH_REGISTRY_H
#define BENCH_REGISTRY_H

#include "bench.h"

/* Each table ends with a NULL name. */
extern const struct bench benches_of_fibers[], benches_of_locks[], benches_of_chan[], benches_of_forks[],
    benches_of_io[];

/* A system, its program, and its additional parameters. */
#define SYSTEM(system, program, params) \
    { system, program, params, NULL, NULL }
#define WEFT SYSTEM("weft", NULL, "")
#define GO SYSTEM("go", "go", "")
#define BOOST SYSTEM("boost", "boost", "")
#define PTHREAD SYSTEM("pthread", "pthread", "")
/* weft with its cheapest wait, while all others use semaphores. */
#define WEFT_PARK SYSTEM("weft-park", NULL, "primitive=park")
#define FUTEX SYSTEM("pthread-futex", "pthread", "primitive=park")
#define NOSTEAL SYSTEM("weft-nosteal", NULL, "stealing=0")

/* Metrics for which less, or more, is better. The first metric of a variant needs no heading. */
#define LESS(name, unit) \
    { name, unit, NULL, false }
#define MORE(name, unit) \
    { name, unit, NULL, true }
#define SERVED(name) \
    { name, "ratio", "least/mean", true }
#define SECONDS(name) \
    { name, "s", "seconds", false }

#define ALSO(name, unit, heading) \
    { name, unit, heading, false }

#endif
