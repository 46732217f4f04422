/* SPDX-License-Identifier: MIT */
/*
 * Helping: a worker that has work takes some from a queue that waits longer.
 *
 * Once in WEFT_POLL_EVERY dispatches, but not more often than in WEFT_HELP_PAUSE, a worker looks at what
 * another worker has published. The owner seldom writes that cache line, so the look is cheap. If dispatches are slow,
 * the worker looks at several others, so that each queue is looked at often enough. If the published figures call for
 * help (help_rule.h), the worker looks at the queue itself, and takes its oldest fibers.
 *
 * If turns are short, the look costs more: the owner writes that line once in WEFT_MARK_EVERY, and each look takes it
 * away from the owner's cache. So looks become rarer while the queues are even, up to WEFT_HELP_PAUSE_MOST.
 * (yield, two workers, 100 fibers each: two in a hundred.)
 */
#include "base/probe.h"
#include "base/random.h"
#include "sched/balance/balance.h"
#include "sched/balance/help_rule.h"
#include "sched/dispatch/delay.h"
#include "sched/dispatch/make_ready.h"
#include "sched/dispatch/priority.h"
#include "sched/dispatch/sharing.h"
#include "sched/dispatch/timers.h"
#include "sched/place/placement.h"
#include "sched/record/record.h"
#include "sched/tasks/tasks.h"
#include "sched/wake/seen.h"

#define WEFT_HELP_MOST 128
#define WEFT_SHUFFLE_TURN 1000                    /* ns */
#define WEFT_CALLS_EVERY (100 * WEFT_MICROSECOND) /* the look takes a line from a fiber that forks */
#define WEFT_CALL_PATIENCE (1 * WEFT_MILLISECOND)

/*
 * A queue's delay is what fibers have waited lately, or what a fiber that is pushed now will wait: the length times the
 * time of a dispatch. The first is late where queues are long: one fiber is timed in a whole round. The second is the
 * same for two queues that are alike, whichever of their fibers are timed just now.
 */
static uint64_t usual_delay(struct weft__worker *w, uint64_t length, uint64_t turn) {
    uint64_t average = load_rlx(&w->age.average);
    return average > length * turn ? average : length * turn;
}

/* The view of the worker's own queue. */
static struct weft__view own_view(struct weft__worker *w, uint64_t now) {
    uint64_t length = weft__ready_length(&w->ready);
    return (struct weft__view){weft__since(load_rlx(&w->age.marked_at), now),
                               usual_delay(w, length, w->pace.mean_turn / 16), length};
}

/* The view of another worker's queue, as its owner published it. `since` belongs to the last timed fiber, which had
 * waited for a round when it was published. The next timed fiber is published a round later. So an age of up to one
 * round more is usual. */
static struct weft__view published_view(struct weft__worker *w, uint64_t now) {
    uint64_t length = load_rlx(&w->age.length); /* an empty queue may have filled since */
    uint64_t usual = usual_delay(w, length, load_rlx(&w->age.turn)), allowed = usual + WEFT_MARK_EVERY;
    uint64_t waited = weft__since(load_rlx(&w->age.since), now);
    return (struct weft__view){waited > allowed ? waited - allowed : 0, usual, length ? length : 1};
}

/* The view of another worker's queue at this moment. The oldest fiber has waited at least as long as the timed fiber,
 * if that has not reached the head yet, and at least since w first saw it at the head. */
static struct weft__view looked_at(struct weft__worker *w, struct weft__worker *other, uint64_t now) {
    uint64_t waited = weft__queue_idle_time(w, other, now), timed = weft__age_of(other, now);
    uint64_t length = weft__ready_length(&other->ready);
    return (struct weft__view){timed > waited ? timed : waited, usual_delay(other, length, load_rlx(&other->age.turn)),
                               length};
}

/*
 * Takes up to n fibers, and pushes them in a random order. Fibers that follow each other in a queue often use data
 * that follow each other in memory. If two workers share such fibers, and each runs its part in the order of
 * addresses, the prefetcher of each core fetches the lines between, which the other core writes. (cycle, two workers:
 * 48 -> 56 million a second.) If a turn takes longer than WEFT_SHUFFLE_TURN, this makes no difference, and the fibers
 * keep their order.
 */
static void help_take(struct weft__worker *w, struct weft__worker *from, uint64_t n, uint64_t now) {
    void *items[WEFT_HELP_MOST];
    count_add(&w->numbers.steals_tried, 1);
    uint64_t got = weft__shared_take(from, items, n < WEFT_HELP_MOST ? n : WEFT_HELP_MOST, now);
    count_add(&w->numbers.helps, got > 0);
    weft__probe3(help, w->index, from->index, got);
    if (got) weft__record(WEFT_HAPPENED_HELP, 0, from->index, got);
    count_add(&w->numbers.moved, got);
    if (w->pace.mean_turn < WEFT_SHUFFLE_TURN * 16) weft__random_shuffle(&w->random, items, got);
    for (uint64_t i = 0; i < got; i++)
        if (!weft__reserve_leaves(w, items[i])) weft__push(w, items[i]);
    weft__seen_note_taken(w, from, got);
    w->help.next_look = 0; /* there may be more */
}

/* If the owner does not come home: takes fibers of other priorities, and if the owner is stuck, its mail and its pinned
 * fibers. */
static void serve_aside(struct weft__worker *w, struct weft__worker *other, uint64_t now) {
    bool stuck = load_rlx(&other->rescue.is_stuck);
    if (likely(!stuck && !load_rlx(&other->aside.loose))) return;
    if (!stuck && weft__queue_idle_time(w, other, now) < WEFT_MARK_EVERY) return;
    weft__serve_stuck(w, other);
    struct weft__fiber *f = weft__aside_steal(w, other);
    if (f) weft__push(w, f);
}

/*
 * Helps with forked calls that wait at a worker which runs something else. The calls count as one fiber. w takes one of
 * them if they have waited for at least WEFT_CALL_PATIENCE, and longer than fibers wait here, by the same rule as for a
 * queue. So short calls stay where they were forked, and a worker that has fibers of its own runs one call a round.
 */
static void help_with_calls(struct weft__worker *w, struct weft__worker *other, const struct weft__view *mine,
                            uint64_t now) {
    if (likely(!load_rlx(&other->calls.deque)) || now < w->help.next_calls || !weft__takes_calls(w)) return;
    w->help.next_calls = now + WEFT_CALLS_EVERY;
    struct weft__view theirs = {weft__calls_left_alone(w, other, now), 0, 1};
    if (theirs.waited < WEFT_CALL_PATIENCE || !weft__help(mine, &theirs)) return;
    struct weft__fiber *f = weft__tasks_steal(w, other, now);
    if (f) weft__push(w, f);
}

static void help_once(struct weft__worker *w, uint64_t now) {
    struct weft__worker *other =
        w->cluster->workers[weft__victims_one(weft__victims_of(w), w->help.looks++, &w->random)];
    if (other == w || !weft__sharing_is_open(other)) return;
    if (weft__wheel_next(&other->wheel) < now - WEFT_MARK_EVERY) weft__expire(w, &other->wheel, now);
    if (!weft__may_take_from(w, other)) return;
    serve_aside(w, other, now);
    struct weft__view mine = own_view(w, now);
    help_with_calls(w, other, &mine, now);
    if (weft__serves_itself(w, other, now)) return;
    struct weft__view theirs = published_view(other, now);
    bool helps = weft__help(&mine, &theirs);
    if (helps || theirs.waited > WEFT_HELP_SLACK / 4)
        w->help.is_even = false; /* perhaps its owner does not come home */
    if (!helps) return;
    theirs = looked_at(w, other, now);
    uint64_t n = weft__reserve_share(w, other, weft__help(&mine, &theirs));
    if (n) help_take(w, other, n, now);
}

void weft__help_tick(struct weft__worker *w, uint64_t now) {
    weft__delay_tick(w, now);
    unsigned count = load_rlx(&w->cluster->count);
    if (now < w->help.next_look || !w->cluster->stealing || count < 2) return;
    uint64_t elapsed = w->help.next_look ? now - w->help.looked_at : 0; /* 0: it has just taken something */
    w->help.looked_at = now;
    w->help.next_look = now + WEFT_HELP_PAUSE;
    w->help.is_even = true;
    for (unsigned looks = weft__help_looks(elapsed, count - 1); looks && w->help.next_look; looks--) help_once(w, now);
    w->help.pause = weft__help_pause(w->help.pause, w->help.is_even);
    if (w->help.next_look) w->help.next_look = now + w->help.pause;
}
