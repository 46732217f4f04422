/* SPDX-License-Identifier: MIT */
/*
 * Forked calls of fibers that are suspended: the cluster's list of their deques, and which worker takes from it.
 *
 * The worker on which a fiber parked is the home of the fiber's deque. Its core has the fiber's data in its cache, so
 * it takes the calls first, as soon as it has no ready fiber. The other workers leave the calls to it for a while:
 *
 *   a single call    for WEFT_HOME_STALE, as a queue with a single fiber is left alone (steal.c)
 *   several calls    until they look the second time
 *   any calls        for as long as they leave calls alone because their last steals did not pay (steal_worth.c)
 *
 * Otherwise two forked siblings that wait for each other, by a channel for example, would always run on two workers:
 * each round would take two trips between cores instead of a few hundred nanoseconds. A home that does not take its
 * calls, because it computes, is stuck, or is no longer wanted, does not keep them: the other workers look again, and
 * sleep only if one of them is the watchman, which looks at least once in a millisecond.
 */
#include "base/assert.h"
#include "sched/tasks/tasks.h"
#include "sched/wake/idle.h"

#define WEFT_HOME_STALE (20 * WEFT_MICROSECOND)

/* Adds n to the counts that this deque belongs to. Locked. */
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

/* Removes the deque from the list, if it is in it. Locked. */
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

/* Can the deque's home still take its calls? */
static bool has_home(struct weft__deque *d) {
    struct weft__worker *home = d->home;
    return weft__is_wanted(home) && weft__takes_calls(home) && !load_rlx(&home->rescue.is_stuck);
}

bool weft__suspended_is_for_home(struct weft__deque *d) { return has_home(d) && !has_several(d); }

/* Does w leave these calls to their home for now? */
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

/* Is d one of the deques that w asks for? */
static bool is_wanted_by(struct weft__worker *w, const struct weft__deque *d, enum weft__suspended which) {
    return which == WEFT_SUSPENDED_HERE ? d->home == w : which == WEFT_SUSPENDED_ALL || !d->joining;
}

/* Returns the deque that has waited longest. Deques without calls are removed from the list. */
struct weft__deque *weft__suspended_find(struct weft__worker *w, enum weft__suspended which, uint64_t now,
                                         bool *is_here) {
    struct weft__tasks *t = &w->cluster->tasks;
    bool looked = false; /* at a deque that is left to its home. w->worth remembers only the first of these */
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
    *is_here = d && d->home == w; /* read under the lock: later the fiber may be suspended on another worker */
    weft__unlock(&t->lock);
    return d;
}

/* Single calls that have a home do not keep a worker awake if there is a watchman. */
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
