/* SPDX-License-Identifier: MIT */
/* Stacks when there are few. See stack_shortage.c, and stack_overflow.c for bare stacks. */
#ifndef WEFT_SCHED_LIFE_STACK_SHORTAGE_H
#define WEFT_SCHED_LIFE_STACK_SHORTAGE_H

#include "sched/core/cluster.h"

/* At home. True: the fresh fiber has got a stack, of any kind, and can be entered. False: it waits for a stack, and the
 * caller no longer owns it. */
bool weft__fiber_try_begin(struct weft__worker *w, struct weft__fiber *f);
/* Gives a fresh fiber the stack, which may be bare. */
void weft__adopt_any(struct weft__fiber *f, struct weft__stack *s);
/* At home, while stacks are scarce: gives the cached stacks of the worker to fibers that wait. */
void weft__starved_help(struct weft__worker *w);
/* While stacks are scarce. 0: a stack of this class is available now; else -EAGAIN. w: the caller's, or NULL. */
int weft__spawn_scarce(struct weft__worker *w, unsigned class);
/* The same at any time, for a thread. */
int weft__stack_reserve(unsigned class);
/* Called by the trimmer: tries to find stacks for the fibers that wait. Returns when to call it again. */
uint64_t weft__starved_tend(uint64_t now);
/* The runtime has ended: the fibers that wait here never run. */
void weft__starved_forget(void);
void weft__starved_after_fork(void);

#endif
