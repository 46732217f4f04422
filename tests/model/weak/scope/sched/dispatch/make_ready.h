/* SPDX-License-Identifier: MIT */
/* Stands in for src/sched/dispatch/make_ready.h: what becomes ready is the explorer's business. The rest is the real
 * one. */
#ifndef WEAK_MAKE_READY_H
#define WEAK_MAKE_READY_H

#define weft__make_ready real_make_ready
#include_next "sched/dispatch/make_ready.h"
#undef weft__make_ready

void scope_make_ready(struct weft__fiber *f);
#define weft__make_ready scope_make_ready

#endif
