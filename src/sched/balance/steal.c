/* SPDX-License-Identifier: MIT */
/*
 * Stealing: an idle worker takes ready fibers from another's queue, half of them, the oldest.
 *
 * A queue of one is left alone while it moves. Its owner will run that fiber in a moment, and to
 * carry it to another core costs more than the run: two fibers that wake each other would be torn
 * apart for ever. But an owner that does not come by - it computes - must not keep it either. So a
 * thief remembers each queue's head, and takes a single fiber only when the head has not moved for
 * WEFT_STALE.
 *
 * The same with a few: a queue that moves so fast that every fiber in it runs within WEFT_CARRY is left
 * alone. Else fibers that send each other items at every 100 ns are torn apart, now and then, and from then on all
 * the time, because a fiber that a stolen fiber wakes comes along. See docs/decisions/waking.md.
 */
#include "base/probe.h"
#include "base/random.h"
#include "sched/balance/balance.h"
#include "sched/dispatch/dispatch.h"
#include "sched/dispatch/sharing.h"
#include "sched/dispatch/timers.h"
#include "sched/place/placement.h"
#include "sched/record/record.h"
#include "sched/rings/rings.h"
#include "sched/tasks/tasks.h"
#include "sched/wake/seen.h"

#define WEFT_STALE (20 * WEFT_MICROSECOND)
#define WEFT_STEAL_MOST 128
#define WEFT_RESERVE_PATIENCE \
    (500 * WEFT_MICROSECOND) /* the reserve puts most of what it finds into the injector: not from a queue that moves \
                              */

/* Is the next thief welcome, although the queue moves? See split_trial.c. */
static bool is_offered(struct weft__worker *victim) {
    return unlikely(load_rlx(&victim->age.offered)) && !load_rlx(&victim->age.taken);
}

/* Has a queue of one stood still for so long that its owner will not come? Once it has been seen to stand still, w does
 * not sleep before that is known. */
static bool is_stale(struct weft__worker *w, struct weft__worker *victim, uint64_t now) {
    uint64_t idle_time = weft__queue_idle_time(w, victim, now);
    if (idle_time && idle_time < WEFT_STALE) w->search.left_at = now;
    return idle_time >= WEFT_STALE;
}

static struct weft__fiber *steal_fibers(struct weft__worker *w, struct weft__worker *victim, uint64_t now) {
    struct weft__fiber *f = weft__aside_steal(w, victim);
    if (f) return f;
    uint64_t length = weft__ready_length(&victim->ready);
    if (!length) {
        weft__queue_seen_empty(w, victim);
        return NULL;
    }
    if (!weft__sharing_is_open(victim)) return NULL;
    if (unlikely(weft__is_reserve(w)) && weft__queue_idle_time(w, victim, now) < WEFT_RESERVE_PATIENCE) return NULL;
    if (weft__serves_itself(w, victim, now)) return NULL;
    if (!is_offered(victim)) {
        if (length < 2 && !is_stale(w, victim, now)) return NULL;
        if (length >= 2 && weft__queue_is_served_at_once(w, victim, length, now)) return NULL;
    }
    uint64_t want = weft__reserve_share(w, victim, weft__policy_amount(&w->cluster->policy, length));
    if (unlikely(!want)) return NULL;
    count_add(&w->numbers.steals_tried, 1);
    void *items[WEFT_STEAL_MOST];
    uint64_t got = weft__shared_take(victim, items, want < WEFT_STEAL_MOST ? want : WEFT_STEAL_MOST, now);
    if (!got) {
        w->search.left_at = now; /* the owner keeps its queue, and will share it soon */
        return NULL;
    }
    if (is_offered(victim)) weft__split_trial_note_taken(w, victim, now);
    count_add(&w->numbers.steals, 1);
    weft__probe3(steal, w->index, victim->index, got);
    weft__record(WEFT_HAPPENED_STEAL, 0, victim->index, got);
    count_add(&w->numbers.moved, got);
    weft__seen_note_taken(w, victim, got);
    for (uint64_t i = 1; i < got; i++)
        if (!weft__reserve_leaves(w, items[i])) weft__push(w, items[i]);
    return items[0];
}

/* What is taken runs at once, and does not pass through the queue on its way. */
static struct weft__fiber *steal_from(struct weft__worker *w, struct weft__worker *victim, uint64_t now) {
    struct weft__fiber *f = steal_fibers(w, victim, now);
    if (f) weft__remember_last(w, f);
    return f;
}

void weft__serve_stuck(struct weft__worker *w, struct weft__worker *stuck) {
    if (likely(!load_acq(&stuck->rescue.is_stuck))) return; /* pairs with the monitor */
    weft__mail_take(w, stuck);
    weft__ring_look(&stuck->ring);
}

/* One look at every other worker, the nearest first. */
struct weft__fiber *weft__steal_round(struct weft__worker *w, uint64_t now) {
    const struct weft__victims *victims = weft__victims_of(w);
    struct weft__victims_round round;
    unsigned i;
    weft__victims_begin(victims, &w->random, &round);
    while (weft__victims_next(victims, &round, &i)) {
        struct weft__worker *victim = w->cluster->workers[i];
        /* Any worker expires the timers of a worker that does not come by, and takes the mail of a stuck worker. */
        weft__serve_stuck(w, victim);
        if (weft__wheel_next(&victim->wheel) < now - WEFT_STALE) weft__expire(w, &victim->wheel, now);
        struct weft__fiber *f = unlikely(weft__has_ready(w)) ? weft__next(w) : NULL;
        if (!f && weft__may_take_from(w, victim)) f = steal_from(w, victim, now);
        if (!f) f = weft__tasks_steal(w, victim, now);
        if (f) return f;
    }
    return NULL;
}
