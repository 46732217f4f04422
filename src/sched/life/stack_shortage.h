/* SPDX-License-Identifier: MIT */
/* Stacks when there are few. See stack_shortage.c, and stack_overflow.c for bare stacks. */
#ifndef WEFT_SCHED_LIFE_STACK_SHORTAGE_H
#define WEFT_SCHED_LIFE_STACK_SHORTAGE_H

#include "sched/core/cluster.h"

/* At home: a fresh fiber gets a stack of any kind, and can be entered; or waits for one, and is gone. */
bool weft__fiber_try_begin(struct weft__worker *w, struct weft__fiber *f);
/* Gives a fresh fiber the stack, which may be bare. */
void weft__adopt_any(struct weft__fiber *f, struct weft__stack *s);
/* At home, while stacks are scarce: what the worker has goes to fibers that wait. */
void weft__starved_help(struct weft__worker *w);
/* While stacks are scarce: 0: one of this class can be had now; or -EAGAIN. w: the caller's, or NULL. */
int weft__spawn_scarce(struct weft__worker *w, unsigned class);
/* The same at any time, for a thread. */
int weft__stack_reserve(unsigned class);
/* The trimmer's; returns when it is to be called again. */
uint64_t weft__starved_tend(uint64_t now);
/* The runtime has ended, and what waits here never runs. */
void weft__starved_forget(void);
void weft__starved_after_fork(void);

#endif
