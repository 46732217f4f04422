/* SPDX-License-Identifier: MIT */
/*
 * create: spawn a fiber that does next to nothing, and join it.
 *
 *   batch=  1: spawn and join one fiber at a time; 1000: spawn that many, then join all
 *
 * Metric: ns for each fiber.
 */
#include "benches.h"
#include "system.h"

#include <stdlib.h>

struct child {
    uint64_t ran;
    struct sys_fiber fiber;
};

static void *body(void *p) {
    ((struct child *)p)->ran++;
    return NULL;
}

void bench_create(const struct args *args, struct result *result) {
    size_t batch = arg(args, "batch");
    struct child *children = (struct child *)allocate(batch, sizeof *children);
    uint64_t rounds = 0;

    struct alarm_clock alarm;
    alarm_start(&alarm, arg(args, "ms"));
    uint64_t began = clock_ns();
    do {
        for (size_t i = 0; i < batch; i++) sys_spawn(&children[i].fiber, body, &children[i]);
        for (size_t i = 0; i < batch; i++) sys_join(&children[i].fiber);
        rounds++;
    } while (!alarm_rung(&alarm));
    uint64_t ended = clock_ns();
    alarm_join(&alarm);

    result->values[0] = (double)(ended - began) / (double)rounds / (double)batch;
    result->right = true;
    for (size_t i = 0; i < batch; i++) result->right &= children[i].ran == rounds;
    free(children);
}
