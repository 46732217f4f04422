/* SPDX-License-Identifier: MIT */
/*
 * Forked calls of fibers that are suspended: the cluster's list of their deques, and which worker takes from it.
 *
 * The worker that a fiber parked on is the deque's home. It has nothing of the fiber to fetch from another core, so it
 * takes the calls first, as soon as it has no ready fiber. The other workers leave them to it:
 *
 *   a single call    for WEFT_HOME_STALE, as a queue of one is left alone (steal.c)
 *   several calls    from one look to the next
 *   any              for as long as the worker waits because its last steals did not pay (steal_worth.c)
 *
 * Without that, two forked siblings that wait for each other, by a channel say, are torn apart all the time: each round
 * then takes two trips between cores instead of a few hundred nanoseconds. A home that does not come by, because it
 * computes, is stuck, or is no longer wanted, does not keep its calls: the others look again, and sleep only if one of
 * them is the watchman, which looks at least once in a millisecond.
 */
#include "base/assert.h"
#include "sched/tasks/tasks.h"
#include "sched/wake/idle.h"

#define WEFT_HOME_STALE (20 * WEFT_MICROSECOND)

/* Locked. */
static void count_suspended(struct weft__tasks *t, const struct weft__deque *d, unsigned n) {
    store_rlx(&t->suspended, load_rlx(&t->suspended) + n);
    if (!d->joining) store_rlx(&t->parked, load_rlx(&t->parked) + n);
}

void weft__suspended_put(struct weft__worker *w, struct weft__deque *d) {
    struct weft__tasks *t = &w->cluster->tasks;
    weft__lock(&t->lock);
    d->listed = true;
    d->home = w;
    d->after = NULL;
    d->before = t->last;
    *(t->last ? &t->last->after : &t->first) = d;
    t->last = d;
    count_suspended(t, d, 1);
    weft__unlock(&t->lock);
}

/* Locked. */
static void unlist_suspended(struct weft__tasks *t, struct weft__deque *d) {
    WEFT_ASSERT(weft__lock_is_held(&t->lock));
    if (!d->listed) return;
    WEFT_ASSERT(load_rlx(&t->suspended) > 0);
    WEFT_ASSERT(d->before || t->first == d);
    WEFT_ASSERT(d->after || t->last == d);
    d->listed = false;
    *(d->before ? &d->before->after : &t->first) = d->after;
    *(d->after ? &d->after->before : &t->last) = d->before;
    count_suspended(t, d, -1u);
}

void weft__suspended_remove(struct weft__tasks *t, struct weft__deque *d) {
    weft__lock(&t->lock);
    unlist_suspended(t, d);
    weft__unlock(&t->lock);
}

void weft__suspended_reset(struct weft__tasks *t) {
    weft__lock(&t->lock);
    while (t->first) unlist_suspended(t, t->first);
    weft__unlock(&t->lock);
}

static bool has_several(struct weft__deque *d) {
    return d->variant->several ? d->variant->several(d) : d->variant->ready(d);
}

/* Will the worker that it was suspended on come by, and take calls? */
static bool has_home(struct weft__deque *d) {
    struct weft__worker *home = d->home;
    return weft__is_wanted(home) && weft__takes_calls(home) && !load_rlx(&home->rescue.is_stuck);
}

bool weft__suspended_is_for_home(struct weft__deque *d) { return has_home(d) && !has_several(d); }

/* Does w leave the calls to their home, for now? */
static bool is_left(struct weft__worker *w, struct weft__deque *d, uint64_t now) {
    struct weft__worth *own = &w->worth;
    if (d->home == w || !d->variant->several || !has_home(d)) return false;
    uint64_t public = load_rlx(&d->public), patience = weft__worth_patience(w);
    if (own->seen != d || own->seen_public != public) {
        own->seen = d;
        own->seen_public = public;
        own->seen_at = now;
        return true;
    }
    if (patience < WEFT_HOME_STALE && !has_several(d)) patience = WEFT_HOME_STALE;
    return now - own->seen_at < patience;
}

/* Is it one of those that are asked for, of those that have calls? */
static bool is_wanted_by(struct weft__worker *w, const struct weft__deque *d, enum weft__suspended which) {
    return which == WEFT_SUSPENDED_HERE ? d->home == w : which == WEFT_SUSPENDED_ALL || !d->joining;
}

/* The deque that has waited longest comes first. Deques that have nothing left leave the list. */
struct weft__deque *weft__suspended_find(struct weft__worker *w, enum weft__suspended which, uint64_t now,
                                         bool *is_here) {
    struct weft__tasks *t = &w->cluster->tasks;
    bool looked = false; /* at a deque that is left to its home: of these only the first is remembered */
    weft__lock(&t->lock);
    struct weft__deque *d = t->first;
    for (struct weft__deque *next; d; d = next) {
        next = d->after;
        if (!d->variant->ready(d)) {
            unlist_suspended(t, d);
            continue;
        }
        if (!is_wanted_by(w, d, which)) continue;
        if (d->home != w && looked) continue;
        if (!is_left(w, d, now)) break;
        looked = true;
    }
    *is_here = d && d->home == w; /* the fiber may go on, and be suspended elsewhere, once the lock is free */
    weft__unlock(&t->lock);
    return d;
}

/* With a watchman, single calls that have a home are no reason to stay awake. */
bool weft__suspended_in_sight(struct weft__worker *w) {
    struct weft__tasks *t = &w->cluster->tasks;
    if (likely(!load_rlx(&t->suspended))) return false;
    bool watched = load_rlx(&w->cluster->idle.state) & WEFT_IDLE_WATCHED, patient = weft__worth_patience(w), found;
    weft__lock(&t->lock);
    struct weft__deque *d = t->first;
    for (found = false; d && !found; d = d->after) {
        if (!d->variant->ready(d)) continue;
        found = d->home == w || !watched || !has_home(d) || (!patient && has_several(d));
    }
    weft__unlock(&t->lock);
    return found;
}
