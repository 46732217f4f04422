/* SPDX-License-Identifier: MIT */
/*
 * timers: arm a timer and cancel it again, while many others are armed.
 *
 *   others=  timers, due in one to two hours
 *
 * Metric: ns for both.
 */
#include "own.h"
#include "weft.h"

#include <stdlib.h>

#define HOUR (3600 * WEFT_SECOND)
#define STRIDE 100 /* operations between two checks of the alarm */

/* Returns a random time within an hour after the base. */
static uint64_t due(uint64_t base, uint64_t *random) { return base + random_next(random) * (HOUR >> 32); }

static void fired(void *p) { __atomic_fetch_add((uint64_t *)p, 1, __ATOMIC_RELAXED); }

void own_timers(const struct args *args, struct result *result) {
    size_t count = arg(args, "others");
    struct weft_timer *others = allocate(count, sizeof *others);
    struct weft_timer timer = WEFT_TIMER_INIT;
    uint64_t calls = 0, random = 1, rounds = 0;
    int wrong = 0;
    uint64_t base = weft_now() + HOUR;
    for (size_t i = 0; i < count; i++)
        must(weft_timer_arm(&others[i], due(base, &random), fired, &calls), "weft_timer_arm");

    struct alarm_clock alarm;
    alarm_start(&alarm, arg(args, "ms"));
    uint64_t began = clock_ns();
    do {
        for (int i = 0; i < STRIDE; i++) {
            wrong |= weft_timer_arm(&timer, due(base, &random), fired, &calls);
            wrong |= weft_timer_cancel(&timer);
        }
        rounds += STRIDE;
    } while (!alarm_rung(&alarm));
    uint64_t ended = clock_ns();
    alarm_join(&alarm);

    for (size_t i = 0; i < count; i++) wrong |= weft_timer_cancel(&others[i]);
    result->values[0] = (double)(ended - began) / (double)rounds;
    result->right = !wrong && !calls;
    free(others);
}
