/* SPDX-License-Identifier: MIT */
/*
 * Records that become fibers. See fiber.c.
 */
#ifndef WEFT_SCHED_LIFE_SPAWN_H
#define WEFT_SCHED_LIFE_SPAWN_H

#include "sched/core/self.h"

/* A record, which weft__fiber_init makes a fiber, or which goes back. NULL: no memory. */
struct weft__fiber *weft__fiber_get(struct weft__worker *w);
/* The record is a fresh fiber. tag: WEFT_JOIN_NOBODY or WEFT_JOIN_DETACHED. */
void weft__fiber_init(struct weft__fiber *f, void *(*fn)(void *), void *arg, const char *where, uint8_t class,
                      uint32_t place, uint64_t tag);

#endif
