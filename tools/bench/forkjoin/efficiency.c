/* SPDX-License-Identifier: MIT */
/*
 * efficiency: a tree with leaves= leaves of 1 to 40 us of integer work. It measures which share of the workers' time is
 * spent in the leaves.
 *
 * Metrics: computing time over running time of a worker; ms.
 */
#include "forkjoin.h"

static uint64_t leaves, wanted, computed; /* computed: ns of all workers; atomic */

static uint64_t steps_of(uint64_t leaf) {
    uint64_t random = (leaf + 1) * UINT64_C(0x9e3779b97f4a7c15);
    return 500 + random_below(&random, 20000);
}

TASK_2(uint64_t, grow, uint64_t, first, uint64_t, count) {
    if (count == 1) {
        uint64_t began = clock_ns();
        uint64_t sum = work_done(first, steps_of(first));
        __atomic_fetch_add(&computed, clock_ns() - began, __ATOMIC_RELAXED);
        return sum;
    }
    uint64_t third = count < 3 ? 1 : count / 3; /* unequal parts, because halves would be too easy */
    FRAME;
    SLOT(grow, left);
    FORK(left, grow, first, third);
    uint64_t right = CALL(grow, first + third, count - third);
    SYNC;
    return JOIN(left, grow) + right;
}

void FORM(efficiency)(const struct args *args, struct result *result) {
    uint64_t limit = arg(args, "ms") * 1000000, span = 0, rounds = 0;
    leaves = arg(args, "leaves");
    wanted = 0;
    for (uint64_t i = 0; i < leaves; i++) wanted += work_expected(i, steps_of(i));
    result->right = ROOT(grow, 0, leaves) == wanted; /* the first run is not measured */
    for (computed = 0; span < limit; rounds++) {
        uint64_t began = clock_ns();
        result->right &= ROOT(grow, 0, leaves) == wanted;
        span += clock_ns() - began;
    }
    result->values[0] = (double)computed / (double)span / (double)arg(args, "workers");
    result->values[1] = (double)span / (double)rounds / 1e6;
}
