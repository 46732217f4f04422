/* SPDX-License-Identifier: MIT */
/*
 * The square of side= on which heat and heatfor compute, in steps= steps: its input, its two copies, and the expected
 * result. Both files include it, so each has its own.
 */
#ifndef BENCH_SQUARE_H
#define BENCH_SQUARE_H

#include "forkjoin.h"
#include "kernels.h"

#include <string.h>

static size_t side, steps;
static double *start, *now, *after, *wanted;

static void turn(void) {
    double *t = now;
    now = after;
    after = t;
}

static void reset(void) {
    memcpy(now, start, side * side * sizeof *now);
    memcpy(after, start, side * side * sizeof *after); /* the edge never changes */
}

static void prepare_square(const struct args *args) {
    uint64_t random = 1;
    side = arg(args, "side");
    steps = arg(args, "steps");
    if (side < 3) fail("side", EINVAL);
    start = (double *)allocate(side * side, sizeof *start);
    now = (double *)allocate(side * side, sizeof *now);
    after = (double *)allocate(side * side, sizeof *after);
    wanted = (double *)allocate(side * side, sizeof *wanted);
    for (size_t i = 0; i < side * side; i++) start[i] = (double)random_below(&random, 1000);
    reset();
    for (size_t i = 0; i < steps; i++, turn()) kernel_heat(now, after, side, 1, side - 1);
    memcpy(wanted, now, side * side * sizeof *wanted);
}

static bool right(void) { return !memcmp(now, wanted, side * side * sizeof *now); }

#endif
