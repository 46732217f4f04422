/* SPDX-License-Identifier: MIT */
/*
 * memory: many fibers park, and are then all woken.
 *
 *   count=      fibers
 *   primitive=  sem: each fiber waits at its own semaphore; park: by the system's cheapest wait
 *
 * Bytes for each fiber: the growth of resident memory and page tables while all are parked. The harness's own records,
 * including semaphores, are allocated before. Neither figure contains the kernel's data for a kernel thread, so for
 * threads it is some 20 KiB too low.
 * Metrics: bytes for each fiber, seconds until all were parked.
 */
#include "baton.h"
#include "benches.h"

#include <stdlib.h>

struct sleeper {
    struct hall *hall;
    unsigned woken;
    struct baton baton;
    struct sys_fiber fiber;
};

struct hall {
    APART size_t arrived;
    APART struct sleeper *sleepers;
};

static void *body(void *p) {
    struct sleeper *sleeper = (struct sleeper *)p;
    __atomic_fetch_add(&sleeper->hall->arrived, 1, __ATOMIC_RELAXED);
    baton_wait(&sleeper->baton);
    sleeper->woken++;
    return NULL;
}

void bench_memory(const struct args *args, struct result *result) {
    size_t count = arg(args, "count");
    bool bare = baton_is_bare(args);
    struct hall hall;
    hall.arrived = 0;
    hall.sleepers = (struct sleeper *)allocate(count, sizeof *hall.sleepers);
    for (size_t i = 0; i < count; i++) {
        hall.sleepers[i].hall = &hall;
        baton_init(&hall.sleepers[i].baton, bare);
    }

    uint64_t before = memory_now();
    uint64_t began = clock_ns();
    for (size_t i = 0; i < count; i++) {
        sys_spawn(&hall.sleepers[i].fiber, body, &hall.sleepers[i]);
        baton_bind(&hall.sleepers[i].baton, &hall.sleepers[i].fiber);
    }
    while (__atomic_load_n(&hall.arrived, __ATOMIC_RELAXED) < count) sys_yield();
    result->values[1] = (double)(clock_ns() - began) / 1e9;
    result->values[0] = ((double)memory_now() - (double)before) / (double)count;

    result->right = true;
    for (size_t i = 0; i < count; i++) result->right &= hall.sleepers[i].woken == 0;
    for (size_t i = 0; i < count; i++) baton_give(&hall.sleepers[i].baton);
    for (size_t i = 0; i < count; i++) {
        sys_join(&hall.sleepers[i].fiber);
        result->right &= hall.sleepers[i].woken == 1;
    }
    free(hall.sleepers);
}
