/* SPDX-License-Identifier: MIT */
/*
 * Forked calls that another process may run. libweft-mpi calls these functions from a fiber: it takes calls that no
 * worker has begun, as a thief does, but makes no fibers for them. It sends them to another process, or runs them
 * itself, and finishes them when their results have arrived. See src/dist/README.md.
 *
 * The calls of suspended fibers come first: they are the oldest, so the largest pieces of work are among them. Of the
 * caller's own calls the older half is taken, of the others only what is public. A worker whose fiber has no public
 * call is asked for some, so a later attempt finds them.
 */
#include "sched/core/self.h"
#include "sched/tasks/tasks.h"

/* Takes up to n calls from the deque. If the owner has run a call out of order, only its slot is given back. */
static unsigned take_from(struct weft__deque *d, struct weft__stolen *stolen, unsigned n) {
    unsigned taken = 0;
    while (taken < n && d->variant->ready(d)) {
        struct weft_call *c = d->variant->steal(d);
        if (!c) break;
        if (!weft__call_begin(c)) {
            weft__call_finish(c);
            continue;
        }
        struct weft__stolen *s = &stolen[taken++];
        *s = (struct weft__stolen){c, NULL, NULL};
        if (c->run == weft__generic_run)
            *s = (struct weft__stolen){c, weft__generic_of(c)->fn, weft__generic_of(c)->arg};
    }
    return taken;
}

static unsigned take_suspended(struct weft__worker *w, struct weft__stolen *stolen, unsigned n) {
    unsigned taken = 0;
    bool is_here;
    while (taken < n && load_rlx(&w->cluster->tasks.suspended)) {
        struct weft__deque *d = weft__suspended_find(w, WEFT_SUSPENDED_ALL, weft__clock(), &is_here);
        unsigned more = d ? take_from(d, stolen + taken, n - taken) : 0;
        if (!more) break;
        taken += more;
    }
    return taken;
}

/* The owner publishes the older half of its private calls first. */
static unsigned take_own(struct weft__deque *d, struct weft__stolen *stolen, unsigned n) {
    if (d->variant == &weft__deque_split && !d->variant->ready(d) && !weft__deque_is_empty(d)) {
        if (load_rlx(weft__deque_span(d))) d->variant->press(d, weft__clock());
        d->variant->push(d, d->in.head - 1);
    }
    return take_from(d, stolen, n);
}

static unsigned take_from_others(struct weft__worker *w, struct weft__stolen *stolen, unsigned n) {
    unsigned taken = 0;
    struct weft__cluster *c = w->cluster;
    for (unsigned i = 0; i < load_acq(&c->count) && taken < n; i++) {
        struct weft__deque *d = load_acq(&c->workers[i]->calls.deque); /* pairs with weft__tasks_begin */
        if (!d || c->workers[i] == w || d->variant == &weft__deque_kept) continue;
        unsigned more = take_from(d, stolen + taken, n - taken);
        if (!more && d->variant->press) d->variant->press(d, weft__clock());
        taken += more;
    }
    return taken;
}

WEFT_PUBLIC unsigned weft__task_steal(struct weft__stolen *stolen, unsigned n) {
    struct weft__worker *w = weft__self();
    if (!w || !load_rlx(&w->current) || !w->cluster->stealing) return 0;
    unsigned taken = take_suspended(w, stolen, n);
    struct weft__deque *d = load_rlx(&w->calls.deque);
    if (taken < n && d && d->variant != &weft__deque_kept) taken += take_own(d, stolen + taken, n - taken);
    if (taken < n) taken += take_from_others(w, stolen + taken, n - taken);
    if (taken) count_add(&w->numbers.tasks_stolen, taken);
    return taken;
}

WEFT_PUBLIC void weft__task_done(struct weft_call *call) { weft__call_finish(call); }
