/* SPDX-License-Identifier: MIT */
/* The check build for kernel locks that a fiber holds while it parks; see lock_check.c. */
#ifndef WEFT_SCHED_LOCKS_H
#define WEFT_SCHED_LOCKS_H

#include "sched/core/fiber.h"

/* The fiber is about to do this: does it hold something that belongs to the kernel thread? */
#ifdef WEFT_LOCKS
void weft__locks_check(struct weft__fiber *self, const char *does);
#else
static inline void weft__locks_check(struct weft__fiber *self, const char *does) { (void)self, (void)does; }
#endif

#endif
