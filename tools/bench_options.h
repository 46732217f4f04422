/* SPDX-License-Identifier: MIT */
/* The request of the user of `weft bench`. */
#ifndef TOOLS_BENCH_OPTIONS_H
#define TOOLS_BENCH_OPTIONS_H

#include "suite.h"
#include "values.h"

#define SWEEPS 4

/* A key, and the values that it takes one after the other. */
struct sweep {
    char key[32];
    struct values values;
};

struct request {
    const char *name;
    unsigned workers[VALUES_MOST + 1]; /* empty: the benchmark's numbers */
    struct sweep sweeps[SWEEPS];
    int swept;
    bool json, paper, help;
    char given[SUITE_WORDS]; /* words of the caller; setting.given points here, or to a copy with swept values */
    cpu_set_t cpus;
    struct setting setting;
};

/* Returns 0, or the exit code after a line with the error. */
int bench_options(int argc, char **argv, struct request *request);

/* weft bench --help, and weft bench NAME --help. */
void bench_help(void);
void bench_help_for(const struct bench *bench);

/* Does the request include this variant? */
static inline bool bench_wants(const struct request *request, const struct variant *variant) {
    return !request->paper == !variant->paper;
}

#endif
