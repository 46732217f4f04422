/* SPDX-License-Identifier: MIT */
/*
 * Ready fibers that are not ordinary: pinned, or of another priority. They stand aside, in lists of their own. See
 * priority.c.
 */
#ifndef WEFT_SCHED_DISPATCH_PRIORITY_H
#define WEFT_SCHED_DISPATCH_PRIORITY_H

#include "sched/core/cluster.h"
#include "sched/core/waits_for.h"

/* How many fibers stand aside. */
static inline unsigned weft__aside_count(struct weft__worker *w) {
    return load_rlx(&w->aside.state) & ~WEFT_ASIDE_FLAGS;
}
/* Is any fiber ready in the worker's own queue and lists? */
static inline bool weft__has_ready(struct weft__worker *w) {
    return weft__ready_length(&w->ready) || weft__aside_count(w);
}
/* Makes the worker go home and poll at its next dispatch or yield. Any thread. */
void weft__worker_summon(struct weft__worker *w);
/* The owner has come home. */
void weft__summons_clear(struct weft__worker *w);
/* Does the worker record its dispatches? */
static inline bool weft__is_recorded(struct weft__worker *w) { return load_rlx(&w->aside.state) & WEFT_ASIDE_RECORDED; }
/* Makes the worker record its dispatches from the next on, or stop doing so. Any thread. */
void weft__worker_set_recorded(struct weft__worker *w, bool recorded);

void weft__aside_put(struct weft__worker *w, unsigned which, struct weft__fiber *f);
/* Takes the next fiber to run, from the aside lists or the queue, in turns. NULL: the worker goes home. self: the fiber
 * that ran, if the caller knows it. what: the wait that it has begun. */
struct weft__fiber *weft__aside_next(struct weft__worker *w, struct weft__fiber *self, struct weft__waits_for what);
/* The same without the checks for summons and recording. */
struct weft__fiber *weft__aside_pop(struct weft__worker *w);
/* Takes a fiber from the other worker's aside lists that w may run, or returns NULL. If the other worker is stuck, w
 * takes over all its pinned fibers. */
struct weft__fiber *weft__aside_steal(struct weft__worker *w, struct weft__worker *from);

#endif
