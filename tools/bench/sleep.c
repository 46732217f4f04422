/* SPDX-License-Identifier: MIT */
/*
 * Sleeping fibers.
 *
 * sleep: one fiber sleeps a millisecond at a time, and measures how late it is.
 *   samples=                    Metric: the median, in microseconds.
 *
 * sleepers: many fibers sleep for the same time at once.
 *   count=    sleep=  ms        Metric: ms from the first spawn until all have ended.
 */
#include "benches.h"
#include "system.h"

#include <stdlib.h>

#define MILLISECOND UINT64_C(1000000)

struct lateness {
    size_t samples;
    double *late;
    bool right;
};

static void *sleep_often(void *p) {
    struct lateness *l = (struct lateness *)p;
    l->right = true;
    for (size_t i = 0; i < l->samples; i++) {
        uint64_t began = clock_ns();
        sys_sleep(MILLISECOND);
        uint64_t slept = clock_ns() - began;
        l->right &= slept >= MILLISECOND;
        l->late[i] = ((double)slept - (double)MILLISECOND) / 1e3;
    }
    return NULL;
}

void bench_sleep(const struct args *args, struct result *result) {
    struct lateness l;
    struct sys_fiber fiber;
    l.samples = arg(args, "samples");
    l.late = (double *)allocate(l.samples, sizeof *l.late);
    sys_spawn(&fiber, sleep_often, &l);
    sys_join(&fiber);
    result->right = l.right;
    result->values[0] = median(l.late, l.samples);
    measure_quantiles("late", l.late, l.samples);
    free(l.late);
}

struct sleeper {
    uint64_t nanoseconds;
    unsigned slept; /* 1 if the fiber slept once, and long enough */
    struct sys_fiber fiber;
};

static void *sleep_once(void *p) {
    struct sleeper *sleeper = (struct sleeper *)p;
    uint64_t began = clock_ns();
    sys_sleep(sleeper->nanoseconds);
    sleeper->slept += clock_ns() - began >= sleeper->nanoseconds;
    return NULL;
}

void bench_sleepers(const struct args *args, struct result *result) {
    size_t count = arg(args, "count");
    struct sleeper *sleepers = (struct sleeper *)allocate(count, sizeof *sleepers);
    for (size_t i = 0; i < count; i++) sleepers[i].nanoseconds = arg(args, "sleep") * MILLISECOND;

    uint64_t began = clock_ns();
    for (size_t i = 0; i < count; i++) sys_spawn(&sleepers[i].fiber, sleep_once, &sleepers[i]);
    for (size_t i = 0; i < count; i++) sys_join(&sleepers[i].fiber);
    result->values[0] = (double)(clock_ns() - began) / 1e6;

    result->right = true;
    for (size_t i = 0; i < count; i++) result->right &= sleepers[i].slept == 1;
    free(sleepers);
}
