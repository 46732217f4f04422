/* SPDX-License-Identifier: MIT */
/*
 * Stealing: an idle worker takes the older half of the ready fibers in another queue.
 *
 * A thief leaves a queue of one fiber alone while the queue moves. The owner will run that fiber in a moment, and
 * moving it to another core costs more than running it. Without this rule, two fibers that wake each other would be
 * separated again and again. But an owner that computes must not keep the fiber. So a thief remembers the head of each
 * queue, and takes a single fiber only if the head has not moved for WEFT_STALE.
 *
 * A thief also leaves a short queue alone if it moves so fast that every fiber in it runs within WEFT_CARRY. Otherwise
 * fibers that send each other items every 100 ns would be separated now and then, and would stay so, because a fiber
 * that a stolen fiber wakes follows it. See docs/decisions/waking.md.
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
/* The reserve puts most fibers that it takes into the injector, so it takes none from a queue that moves. */
#define WEFT_RESERVE_PATIENCE (500 * WEFT_MICROSECOND)

/* Does the owner offer its queue to a thief, although the queue moves? See split_trial.c. */
static bool is_offered(struct weft__worker *victim) {
    return unlikely(load_rlx(&victim->age.offered)) && !load_rlx(&victim->age.taken);
}

/* Has a queue of one fiber stood still for WEFT_STALE? Then its owner computes. Once w has seen that the queue stands
 * still, it does not sleep before it knows. */
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

/* The first stolen fiber runs at once, without passing through the queue of w. So its last worker is noted here. */
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
        /* Any worker expires the timers of a worker that does not come home, and takes the mail of a stuck worker. */
        weft__serve_stuck(w, victim);
        if (weft__wheel_next(&victim->wheel) < now - WEFT_STALE) weft__expire(w, &victim->wheel, now);
        struct weft__fiber *f = unlikely(weft__has_ready(w)) ? weft__next(w) : NULL;
        if (!f && weft__may_take_from(w, victim)) f = steal_from(w, victim, now);
        if (!f) f = weft__tasks_steal(w, victim, now);
        if (f) return f;
    }
    return NULL;
}
