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
/* The running fiber ends, and its stack is bare. If the fiber has overrun it, prints a line and aborts. */
void weft__overrun_check(const struct weft__fiber *f);
/* Called by the trimmer while there are bare stacks. If a fiber has overrun its stack, prints a line and aborts. */
void weft__overrun_look(void);

#endif
