/* SPDX-License-Identifier: MIT */
/*
 * How long ready fibers wait. See delay.c.
 */
#ifndef WEFT_SCHED_DISPATCH_DELAY_H
#define WEFT_SCHED_DISPATCH_DELAY_H

#include "sched/core/cluster.h"

/* One fiber in so long is timed, of each queue. */
#define WEFT_MARK_EVERY (8 * WEFT_MICROSECOND)

/* The first fiber that is pushed will be timed. The carrier, before it runs any. */
void weft__age_begin(struct weft__worker *w);
/* The trap of the queue has sprung: the fiber that is pushed next is timed. */
void weft__age_mark(struct weft__worker *w);
/* Has the timed fiber come to the head of the queue? Then the next one is timed. */
void weft__delay_tick(struct weft__worker *w, uint64_t now);
/* How long the oldest fiber in the worker's queue has waited, at least. */
uint64_t weft__age_of(struct weft__worker *w, uint64_t now);
/* A fiber has waited longer than the cluster's limit, perhaps behind a fiber that hogs the worker. */
void weft__report_late(struct weft__worker *w, struct weft__fiber *late, struct weft__fiber *hog, uint64_t waited,
                       uint64_t now);

/* Lists other than the queue; their lock is held. A fiber that is put into one is timed, unless another is. */
void weft__timed_put(struct weft__timed *t, struct weft__fiber *f);
/* When the removed fiber became ready, or 0 if it was not timed. */
uint64_t weft__timed_take(struct weft__timed *t, struct weft__fiber *f);
/* Then, without the lock: counts the delay, and reports it if it is too long. */
void weft__timed_note(struct weft__worker *w, struct weft__fiber *f, uint64_t since);

#endif
