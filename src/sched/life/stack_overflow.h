/* SPDX-License-Identifier: MIT */
/*
 * Stack overflow, and exceptions that leave a fiber. See stack_overflow.c.
 */
#ifndef WEFT_SCHED_LIFE_STACK_OVERFLOW_H
#define WEFT_SCHED_LIFE_STACK_OVERFLOW_H

#include "sched/core/fiber.h"

int weft__overflow_watch(void);
void weft__overflow_unwatch(void);
/* The stack on which a carrier handles signals. */
int weft__signal_stack(void **memory);
void weft__signal_stack_free(void *memory);
/* The running fiber, which is on a bare stack, ends: has it overrun that? Does not return then. */
void weft__overrun_check(const struct weft__fiber *f);
/* The trimmer, while there are bare stacks: has any fiber overrun one? */
void weft__overrun_look(void);

#endif
