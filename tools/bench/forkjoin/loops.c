/* SPDX-License-Identifier: MIT */
/*
 * loops: a loop over count= elements, each with 200 steps of integer work on average.
 *
 *   costs=  0: all the same; 1: rising; 2: random; 3: one element in the middle has a quarter of all
 *   how=    how the system divides the loop; see its form.h
 *
 * Metric: ms.
 */
#include "forkjoin.h"

#include <string.h>

#define MEAN 200

static size_t count;
static unsigned how;
static uint32_t *steps;
static uint64_t *got, *wanted;

static void body(size_t begin, size_t end) {
    for (size_t i = begin; i < end; i++) got[i] = work_done(i, steps[i]);
}

static uint32_t cost(uint64_t costs, size_t i, uint64_t *random) {
    switch (costs) {
    case 0: return MEAN;
    case 1: return (uint32_t)(2 * MEAN * i / count);
    case 2: return (uint32_t)random_below(random, 2 * MEAN);
    default: return i == count / 2 ? (uint32_t)(count * MEAN / 4) : MEAN * 3 / 4;
    }
}

static void prepare(const struct args *args) {
    uint64_t random = 1;
    count = arg(args, "count");
    how = (unsigned)arg_or(args, "how", 0);
    steps = (uint32_t *)allocate(count, sizeof *steps);
    got = (uint64_t *)allocate(count, sizeof *got);
    wanted = (uint64_t *)allocate(count, sizeof *wanted);
    for (size_t i = 0; i < count; i++) {
        steps[i] = cost(arg(args, "costs"), i, &random);
        wanted[i] = work_expected(i, steps[i]);
    }
    form_prepare((unsigned)arg(args, "workers"));
}

static void reset(void) { memset(got, 0, count * sizeof *got); }
static void compute(void) { form_for(count, how, body); }
static bool right(void) { return !memcmp(got, wanted, count * sizeof *got); }

WORKLOAD(loops, prepare, reset, compute, right, in_milliseconds)
