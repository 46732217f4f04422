/* SPDX-License-Identifier: MIT */
/*
 * Timers that have expired. See timers.c.
 */
#ifndef WEFT_SCHED_DISPATCH_TIMERS_H
#define WEFT_SCHED_DISPATCH_TIMERS_H

#include "sched/core/cluster.h"

/* Ends the waits, and calls the functions, of the timers of a wheel that had expired when it began. */
void weft__expire(struct weft__worker *w, struct weft__wheel *wheel, uint64_t now);

#endif
