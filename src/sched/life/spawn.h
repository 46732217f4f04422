/* SPDX-License-Identifier: MIT */
/*
 * Records that become fibers. See fiber.c.
 */
#ifndef WEFT_SCHED_LIFE_SPAWN_H
#define WEFT_SCHED_LIFE_SPAWN_H

#include "sched/core/self.h"

/* Takes a free record. The caller makes it a fiber by weft__fiber_init, or returns it. NULL: no memory. */
struct weft__fiber *weft__fiber_get(struct weft__worker *w);
/* Makes the record a fresh fiber. tag: WEFT_JOIN_NOBODY or WEFT_JOIN_DETACHED. */
void weft__fiber_init(struct weft__fiber *f, void *(*fn)(void *), void *arg, const char *where, uint8_t class,
                      uint32_t place, uint64_t tag);

#endif
