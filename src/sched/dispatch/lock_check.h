/* SPDX-License-Identifier: MIT */
/* A check build: does a fiber hold a lock of the C library while it parks? See lock_check.c. */
#ifndef WEFT_SCHED_LOCKS_H
#define WEFT_SCHED_LOCKS_H

#include "sched/core/fiber.h"

/* The fiber is about to do what `does` says ("parks"). Reports the locks of the C library that it holds. */
#ifdef WEFT_LOCKS
void weft__locks_check(struct weft__fiber *self, const char *does);
#else
static inline void weft__locks_check(struct weft__fiber *self, const char *does) { (void)self, (void)does; }
#endif

#endif
