/* SPDX-License-Identifier: MIT */
/*
 * switch: switch from one context to another on the same kernel thread and back, by the scheduler's own routine. Two
 * places in the code switch, and do nothing else.
 * Metric: ns per switch, one way.
 */
#include "own.h"

#include "arch/switch.h"

#include <stdlib.h>

#define STACK ((size_t)64 * 1024)
#define STRIDE 1000 /* round trips between two checks of the alarm */

struct pair {
    struct weft__context here, there;
    uint64_t answered;
};

/* Reached by a jump, not by a call. */
static void answer(void *p) {
    struct pair *pair = p;
    for (;;) {
        pair->answered++;
        weft__switch(&pair->there, &pair->here, pair);
    }
}

static NOINLINE void stride(struct pair *pair) {
    for (int i = 0; i < STRIDE; i++) pair = weft__switch(&pair->here, &pair->there, pair);
}

/* Returns the distance from the top of a stack at which a function must start: as after a call. On x86-64 a return
 * address is there. */
static size_t below_top(void) {
#if defined(__x86_64__)
    return 16 + sizeof(void *);
#else
    return 16;
#endif
}

void own_switch(const struct args *args, struct result *result) {
    char *stack = allocate(1, STACK);
    struct pair pair = {.answered = 0};
    pair.there.pc = (void *)(uintptr_t)answer;
    pair.there.sp = stack + STACK - below_top();

    struct alarm_clock alarm;
    uint64_t asked = 0;
    alarm_start(&alarm, arg(args, "ms"));
    uint64_t began = clock_ns();
    do {
        stride(&pair);
        asked += STRIDE;
    } while (!alarm_rung(&alarm));
    uint64_t ended = clock_ns();
    alarm_join(&alarm);

    result->values[0] = (double)(ended - began) / (double)asked / 2;
    result->right = pair.answered == asked;
    free(stack);
}
