/* SPDX-License-Identifier: MIT */
/*
 * Making a fiber ready: into which queue it goes. See make_ready.c.
 */
#ifndef WEFT_SCHED_DISPATCH_MAKE_READY_H
#define WEFT_SCHED_DISPATCH_MAKE_READY_H

#include "base/assert.h"
#include "sched/core/self.h"
#include "sched/core/wait_word.h"
#include "sched/wake/idle.h"

/* --- into a queue ---------------------------------------------------------------------------------- */

void weft__push_slow(struct weft__worker *w, struct weft__fiber *f);
/* Does the placement of the fiber differ from that of the worker? Then the slow path decides where it goes. */
static inline bool weft__has_wishes(const struct weft__worker *w, const struct weft__fiber *f) {
    return load_rlx(&f->context.placement) != w->placement;
}
/* Puts a fiber into the queue of the calling worker. Wakes no other worker. */
static inline void weft__push(struct weft__worker *w, struct weft__fiber *f) {
    if (unlikely(WEFT_MIGRATES || weft__has_wishes(w, f) || weft__ready_push(&w->ready, f))) weft__push_slow(w, f);
}
/* The fiber will run on this worker: records that in its placement word, if the fiber must return to its last worker.
 */
void weft__remember_last(struct weft__worker *w, struct weft__fiber *f);

/* Puts a fiber into the mailbox of a worker, and wakes the worker. */
void weft__mail(struct weft__worker *to, struct weft__fiber *f);
/* Puts a fiber into the injector of a cluster, and wakes a worker. */
void weft__inject(struct weft__cluster *c, struct weft__fiber *f);
/* Hands in a new fiber: from a thread that is no carrier, or for another cluster. handle: the handle by which the
 * caller found the cluster, or {0}. to: the worker that gets the fiber, or NULL. -ESRCH: the runtime is stopping, or
 * the cluster has ended. */
int weft__hand_in(struct weft__cluster *c, struct weft_cluster handle, struct weft__fiber *f, struct weft__worker *to);

/* --- ready ------------------------------------------------------------------------------------------ */

void weft__make_ready_elsewhere(struct weft__worker *w, struct weft__fiber *f);
/* Puts a fiber that is new, or has been won from its wait, where it will run. */
static inline void weft__make_ready(struct weft__fiber *f) {
    WEFT_ASSERT(!(load_rlx(&f->wait) & WEFT_WAIT_WAITING)); /* its wait was won before */
    struct weft__worker *w = weft__self();
    if (unlikely(!w || weft__has_wishes(w, f) || load_rlx(&f->context.kind) != WEFT_KIND_FIBER)) {
        weft__make_ready_elsewhere(w, f);
        return;
    }
    count_add(&w->numbers.unparks, 1);
    if (unlikely(WEFT_MIGRATES || weft__ready_push(&w->ready, f))) weft__push_slow(w, f);
    weft__notify_woken(w);
}
/* The same for a list of fibers. Their waits were won under a lock, which has been released since then. */
void weft__make_all_ready(struct weft__list *won);
/* The same for fibers whose requests a ring has completed. */
void weft__make_arrived_ready(struct weft__list *won);

/* --- mail and injector ------------------------------------------------------------------------------ */

/* Makes the fibers in the mailbox of the other worker ready here. */
void weft__mail_take(struct weft__worker *w, struct weft__worker *of);
/* Moves a fair share of the injector to the worker's queue. */
void weft__injector_take(struct weft__worker *w);
/* A worker or a cluster has ended: moves the fibers from its mailbox or injector to their new clusters. */
void weft__mailbox_hand_on(struct weft__worker *from);
void weft__injector_hand_on(struct weft__cluster *from);
/* Moves all fibers of the worker's own queue to the injector. */
void weft__queue_give_away(struct weft__worker *w);

/* --- the reserve (elastic/rescue.c) ------------------------------------------------------------------ */

/* If w is the reserve and the fiber is neither quick nor pinned to w: puts the fiber into the injector, for the other
 * workers. False: w may run the fiber. */
bool weft__reserve_leaves(struct weft__worker *w, struct weft__fiber *f);
/* How many of the n oldest fibers in the other's queue worker w may take. The reserve empties the queue of a stuck
 * worker. From any other queue it takes the oldest fiber, and only a quick one. If it took the others, too, a fiber
 * could go from queue to injector and back, each time behind younger fibers, and never run. */
uint64_t weft__reserve_share(struct weft__worker *w, struct weft__worker *from, uint64_t n);
/* Has the fiber run before, and was it never seen to keep a worker? (known_hogs.c) */
bool weft__is_quick(struct weft__fiber *f);
/* The monitor has seen that the fiber keeps a worker. (known_hogs.c) */
void weft__hog_remember(struct weft__fiber *f);

#endif
