/* SPDX-License-Identifier: MIT */
/* Stands in for src/sched/dispatch/make_ready.h: what becomes ready is the explorer's business. The rest is the real
 * one. */
#ifndef WEAK_MAKE_READY_H
#define WEAK_MAKE_READY_H

#define weft__make_ready real_make_ready
#include_next "sched/dispatch/make_ready.h"
#undef weft__make_ready

void waits_ready(struct weft__fiber *f);
static inline void weft__make_ready(struct weft__fiber *f) { waits_ready(f); }

#endif
