/* SPDX-License-Identifier: MIT */
/*
 * Ready fibers that are not ordinary: pinned, or of another priority. They stand aside, in lists of their own. See
 * priority.c.
 */
#ifndef WEFT_SCHED_DISPATCH_PRIORITY_H
#define WEFT_SCHED_DISPATCH_PRIORITY_H

#include "sched/core/cluster.h"

/* How many fibers stand aside. */
static inline unsigned weft__aside_count(struct weft__worker *w) {
    return load_rlx(&w->aside.state) & ~WEFT_ASIDE_SUMMONED;
}
/* Is any fiber ready in the worker's own queue and lists? */
static inline bool weft__has_ready(struct weft__worker *w) {
    return weft__ready_length(&w->ready) || weft__aside_count(w);
}
/* The worker's next dispatch, or yield, takes it home, where it polls. Any thread. */
void weft__worker_summon(struct weft__worker *w);
/* The owner is at home. */
void weft__summons_clear(struct weft__worker *w);

void weft__aside_put(struct weft__worker *w, unsigned which, struct weft__fiber *f);
/* The next fiber to run, of those that stand aside and of the queue, each in its turn. */
struct weft__fiber *weft__aside_next(struct weft__worker *w);
/* A fiber that w may run, or NULL. If the other worker is stuck, w takes over its pinned fibers. */
struct weft__fiber *weft__aside_steal(struct weft__worker *w, struct weft__worker *from);

#endif
