/* SPDX-License-Identifier: MIT */
/*
 * pi: counts how many of chunks= times 4096 random points in a square lie in the circle. The chunks are halved until
 * one is left. Each chunk has its own random numbers, so the count is always the same.
 *
 * Metric: ms.
 */
#include "forkjoin.h"

#define POINTS 4096

static uint64_t chunks, got, wanted;

static uint64_t chunk(uint64_t which) {
    uint64_t random = (which + 1) * UINT64_C(0x9e3779b97f4a7c15), inside = 0;
    for (int i = 0; i < POINTS; i++) {
        uint64_t x = random_next(&random) >> 1, y = random_next(&random) >> 1;
        inside += (x * x + y * y) >> 62 == 0;
    }
    return inside;
}

TASK_2(uint64_t, throw_darts, uint64_t, first, uint64_t, count) {
    if (count == 1) return chunk(first);
    uint64_t half = count / 2;
    FRAME;
    SLOT(throw_darts, left);
    FORK(left, throw_darts, first, half);
    uint64_t right = CALL(throw_darts, first + half, count - half);
    SYNC;
    return JOIN(left, throw_darts) + right;
}

static void prepare(const struct args *args) {
    chunks = arg(args, "chunks");
    wanted = 0;
    for (uint64_t i = 0; i < chunks; i++) wanted += chunk(i);
}

static void compute(void) { got = ROOT(throw_darts, 0, chunks); }

/* Checks the count, and that it is near pi. */
static bool right(void) {
    double pi = 4 * (double)got / ((double)chunks * POINTS);
    return got == wanted && pi > 3.13 && pi < 3.15;
}

WORKLOAD(pi, prepare, NULL, compute, right, in_milliseconds)
