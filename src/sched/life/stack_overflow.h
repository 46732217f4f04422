/* SPDX-License-Identifier: MIT */
/*
 * Stack overflow, and exceptions that leave a fiber. See stack_overflow.c.
 */
#ifndef WEFT_SCHED_LIFE_STACK_OVERFLOW_H
#define WEFT_SCHED_LIFE_STACK_OVERFLOW_H

#include "sched/core/fiber.h"

#include <signal.h>

int weft__overflow_watch(void);
void weft__overflow_unwatch(void);
/* The stack on which a carrier handles signals. Without memory for it the carrier goes on with what it had. */
struct weft__signal_stack {
    void *memory;
    stack_t before;
};
void weft__signal_stack_begin(struct weft__signal_stack *s);
void weft__signal_stack_end(struct weft__signal_stack *s);
/* The running fiber, which is on a bare stack, ends: has it overrun that? Does not return then. */
void weft__overrun_check(const struct weft__fiber *f);
/* The trimmer, while there are bare stacks: has any fiber overrun one? */
void weft__overrun_look(void);

#endif
