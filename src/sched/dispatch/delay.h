/* SPDX-License-Identifier: MIT */
/*
 * How long ready fibers wait. See delay.c.
 */
#ifndef WEFT_SCHED_DISPATCH_DELAY_H
#define WEFT_SCHED_DISPATCH_DELAY_H

#include "sched/core/cluster.h"

/* The time between two timed fibers of a queue. */
#define WEFT_MARK_EVERY (8 * WEFT_MICROSECOND)

/* The next fiber that is pushed will be timed. The carrier calls this when it starts, before it runs a fiber. */
void weft__age_begin(struct weft__worker *w);
/* The trap of the queue was reached: times the fiber that is being pushed. */
void weft__age_mark(struct weft__worker *w);
/* Has the timed fiber come to the head of the queue? Then another fiber is timed. */
void weft__delay_tick(struct weft__worker *w, uint64_t now);
/* How long the oldest fiber in the worker's queue has waited, at least. */
uint64_t weft__age_of(struct weft__worker *w, uint64_t now);
/* A fiber has waited longer than the cluster's limit, perhaps behind a fiber that hogs the worker. */
void weft__report_late(struct weft__worker *w, struct weft__fiber *late, struct weft__fiber *hog, uint64_t waited,
                       uint64_t now);

/* For lists other than the queue, under their lock: times a fiber that is put into a list, unless another is timed. */
void weft__timed_put(struct weft__timed *t, struct weft__fiber *f);
/* When the removed fiber became ready, or 0 if it was not timed. */
uint64_t weft__timed_take(struct weft__timed *t, struct weft__fiber *f);
/* After the lock has been released: counts the delay since then, and reports it if it is too long. */
void weft__timed_note(struct weft__worker *w, struct weft__fiber *f, uint64_t since);

#endif
