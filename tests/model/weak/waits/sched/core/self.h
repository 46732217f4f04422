/* SPDX-License-Identifier: MIT */
/* Stands in for src/sched/core/self.h: which fiber runs the explorer says. */
#ifndef WEFT_SCHED_SELF_H
#define WEFT_SCHED_SELF_H

#include "sched/core/cluster.h"

struct weft__worker *waits_worker(void);
struct weft__fiber *waits_me(void);
struct weft__fiber *waits_record(uint32_t index);
uint64_t waits_life(const struct weft__fiber *me);

static inline struct weft__worker *weft__self(void) { return waits_worker(); }
static inline struct weft__fiber *weft__me(void) { return waits_me(); }
static inline uint64_t weft__life(const struct weft__fiber *me) { return waits_life(me); }
static inline struct weft__fiber *weft__fiber_in(uint64_t life) { return waits_record((uint32_t)life - 1); }

#endif
