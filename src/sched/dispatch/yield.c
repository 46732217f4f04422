/* SPDX-License-Identifier: MIT */
/*
 * Yielding, and the slow ways to suspend a fiber: it handles an exception, has thread-local storage of its own, or has
 * forked calls.
 */
#include "sched/dispatch/dispatch.h"
#include "sched/dispatch/forking.h"
#include "sched/dispatch/own_tls.h"

#include <sched.h>

struct weft__forking weft__forking;

/* Notifies no other worker: there are no more ready fibers than before, and whatever made these ready has notified. */
static WEFT_SWITCHES void switch_in_turn(struct weft__worker *w, struct weft__fiber *self) {
    weft__push(w, self);
    weft__suspend(w, self);
}

WEFT_PUBLIC void weft_yield(void) {
    struct weft__worker *w = weft__self();
    struct weft__fiber *self = w ? load_rlx(&w->current) : NULL;
    if (unlikely(!self)) {
        sched_yield();
        return;
    }
    weft__locks_check(self, "yields");
    if (!WEFT_MIGRATES && unlikely(!weft__ready_length(&w->ready) && !load_rlx(&w->aside.state))) {
        /* The only fiber here: continue. Now and then go home and poll. */
        if (likely(--w->pace.until_poll > 0 && w->cluster->policy.queue != WEFT_QUEUE_GLOBAL)) return;
    }
    switch_in_turn(w, self);
}

WEFT_COLD struct weft__worker *weft__suspend_handling(struct weft__worker *w, struct weft__fiber *self) {
    if (weft__own_tls_runs(w)) return weft__suspend_owning(w, self);
    struct weft__exceptions handling = *w->carrier.exceptions;
    *w->carrier.exceptions = (struct weft__exceptions){NULL, 0};
    w = load_rlx(&w->calls.deque) ? weft__suspend_forking(w, self) : weft__suspend_plain(w, self);
    *w->carrier.exceptions = handling;
    return w;
}

WEFT_SWITCHES struct weft__worker *weft__suspend_forking(struct weft__worker *w, struct weft__fiber *self) {
    return weft__forking.suspend(w, self);
}
