/* SPDX-License-Identifier: MIT */
/*
 * work: fibers that compute, all spawned by one fiber: how well the workers share the work. balanced and imbalanced are
 * variants of it.
 *
 *   fibers=   in all       heavy=  steps of every tenth fiber      light=  steps of the others
 *   serial=1  no fibers: a plain loop
 *
 * Metric: ms until all results are there.
 */
#include "benches.h"
#include "system.h"

#include <stdlib.h>

struct piece {
    uint64_t seed, steps, outcome;
    struct sys_fiber fiber;
};

static void *body(void *p) {
    struct piece *piece = (struct piece *)p;
    piece->outcome = work_done(piece->seed, piece->steps);
    return NULL;
}

void bench_work(const struct args *args, struct result *result) {
    size_t count = arg(args, "fibers");
    uint64_t heavy = arg(args, "heavy"), light = arg(args, "light");
    bool serial = arg_or(args, "serial", 0);
    struct piece *pieces = (struct piece *)allocate(count, sizeof *pieces);
    for (size_t i = 0; i < count; i++) {
        pieces[i].seed = i;
        pieces[i].steps = i % 10 ? light : heavy;
    }

    uint64_t began = clock_ns();
    if (serial) {
        for (size_t i = 0; i < count; i++) body(&pieces[i]);
    } else {
        for (size_t i = 0; i < count; i++) sys_spawn(&pieces[i].fiber, body, &pieces[i]);
        for (size_t i = 0; i < count; i++) sys_join(&pieces[i].fiber);
    }
    result->values[0] = (double)(clock_ns() - began) / 1e6;

    result->right = true;
    for (size_t i = 0; i < count; i++)
        result->right &= pieces[i].outcome == work_expected(pieces[i].seed, pieces[i].steps);
    free(pieces);
}
