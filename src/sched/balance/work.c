/* SPDX-License-Identifier: MIT */
/*
 * Is there work for an idle worker, anywhere in its cluster? See work.h for the sources of work.
 */
#include "sched/balance/work.h"

#include "base/assert.h"
#include "sched/core/self.h"
#include "sched/dispatch/sharing.h"
#include "sched/wake/idle.h"
#include "sched/wake/seen.h"

/* Will the owner of the queue, if it is awake, run all of it soon? If the owner does not come home, the watchman takes
 * the queue. Uses what w has seen of that queue before, so only w itself may call this. */
static bool is_served(struct weft__worker *w, struct weft__worker *other) {
    uint64_t now = weft__clock();
    return weft__serves_itself(w, other, now) ||
           weft__queue_is_served_at_once(w, other, weft__ready_length(&other->ready), now);
}

/* Is there work for which an idle worker must stay awake? Two kinds of work are no reason: a single fiber in the queue
 * of an awake worker, if a watchman looks after it; and fibers that their worker will run at once. */
static bool in_sight(struct weft__worker *w, bool (*served)(struct weft__worker *, struct weft__worker *)) {
    uint64_t least = load_rlx(&w->cluster->idle.state) & WEFT_IDLE_WATCHED ? 2 : 1;
    struct weft__cluster *c = w->cluster;
    if (!weft__mailbox_is_empty(&w->mailbox)) return true;
    if (unlikely(weft__is_reserve(w)))
        return load_acq(&c->stopping); /* pairs with the stop. The reserve wakes by itself */
    if (load_rlx(&c->injector.length)) return true;
    unsigned count = load_acq(&c->count);
    for (unsigned i = 0; c->stealing && i < count; i++) {
        struct weft__worker *other = c->workers[i];
        if (!weft__may_take_from(w, other)) continue;
        if (weft__sharing_is_open(other) && weft__ready_length(&other->ready) >= least &&
            (least < 2 || other == w || !served(w, other)))
            return true;
        if (load_rlx(&other->aside.loose) >= least) return true;
        if (load_rlx(&other->rescue.is_stuck) && weft__work_is_left_by(other)) return true;
    }
    if (c->stealing && weft__tasks_in_sight(w)) return true;
    return load_acq(&c->stopping); /* pairs with the stop */
}

bool weft__work_in_sight(struct weft__worker *w) {
    WEFT_ASSERT(weft__self() == w);
    return in_sight(w, is_served);
}

static bool is_not_known(struct weft__worker *w, struct weft__worker *other) { return (void)w, (void)other, false; }

bool weft__work_for_sleeper(struct weft__worker *w) { return in_sight(w, is_not_known); }

__attribute__((constructor)) static void offer_work(void) { weft__tasks_other_work = weft__work_in_sight; }
