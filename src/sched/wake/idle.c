/* SPDX-License-Identifier: MIT */
/*
 * Sleeping and waking. This file owns the cluster's stack of sleepers and idle.state.
 *
 * This handshake loses no wake-up. A full fence orders the steps of each side:
 *
 *   a worker that found nothing               a thread that made work visible
 *   1. becomes a sleeper: on the stack,       1. puts the fiber into a queue
 *      counted in idle.state                  -- fence --
 *   -- fence --                               2. looks at idle.state: are there sleepers, and
 *   2. looks for work everywhere, once more      no searcher? then takes one sleeper off the
 *   3. sleeps                                    stack, makes it a searcher, and wakes it
 *
 * Either the worker sees the fiber in its step 2, or the other thread sees the sleeper in its step 2. The fence on the
 * right is on the hot path, so it is the light fence of a pair. The fence on the left is membarrier, which makes every
 * running thread pass a full fence.
 *
 * Few workers search at a time: a waker wakes one worker, and wakes none while another searches. A searcher that finds
 * work, and sees that more waits, wakes the next worker.
 *
 * A wake-up costs the waker a system call and takes effect some 40 us later, after the time of hundreds of switches. So
 * a worker with one fiber in its queue wakes no other worker: it will run that fiber itself, unless the fiber that it
 * runs now computes for long. The same holds for a few fibers that have run before, if the worker reaches them within
 * WEFT_CARRY. If it does not, the watchman takes them: while some workers are awake and others sleep, one of the
 * sleepers sleeps with a timeout, which doubles from WEFT_WATCH_FIRST to WEFT_WATCH_LAST, and checks whether any queue
 * stands still. Without a watchman, the first push wakes a worker. When all workers sleep there is no watchman, so an
 * idle program uses no CPU.
 *
 * The watchman may find work and then be busy for long, while others sleep on. So when it becomes busy, it asks the
 * deques of forked calls to report the next fork, as a worker that goes to sleep does, and looks for work once more
 * (weft__idle_end). The next fork or push sees that there is no watchman, and wakes a sleeper. If that sleeper finds
 * nothing, it becomes the watchman.
 */
#include "sched/wake/idle.h"
#include "base/assert.h"
#include "sched/wake/load.h"

/* Release: pairs with readers without the lock, such as others_rest, which then see what the worker did before. */
static void add_state(struct weft__idle *idle, uint64_t n) { store_rel(&idle->state, load_rlx(&idle->state) + n); }

static void stop_watching(struct weft__idle *idle, struct weft__worker *w) {
    if (idle->watchman != w) return;
    idle->watchman = NULL;
    add_state(idle, -WEFT_IDLE_WATCHED);
}

/* Removes the worker from the stack of sleepers, if it is on it. Locked. */
static void take_off(struct weft__idle *idle, struct weft__worker *w) {
    WEFT_ASSERT(weft__lock_is_held(&idle->lock));
    if (!w->sleeper.is_listed) return;
    WEFT_ASSERT(weft__idle_sleepers(load_rlx(&idle->state)) > 0);
    WEFT_ASSERT(w->sleeper.above || idle->top == w);
    WEFT_ASSERT(!w->sleeper.is_retired);
    w->sleeper.is_listed = false;
    add_ar(&idle->wakes, 1); /* pairs with a stop that looks twice */
    if (w->sleeper.above)
        w->sleeper.above->sleeper.below = w->sleeper.below;
    else
        idle->top = w->sleeper.below;
    if (w->sleeper.below) w->sleeper.below->sleeper.above = w->sleeper.above;
    add_state(idle, -WEFT_IDLE_SLEEPER);
    stop_watching(idle, w);
}

/* Ends the worker's retirement, if it is retired. Locked. */
static void call_back(struct weft__idle *idle, struct weft__worker *w) {
    WEFT_ASSERT(weft__lock_is_held(&idle->lock));
    if (!w->sleeper.is_retired) return;
    WEFT_ASSERT(weft__idle_retirees(load_rlx(&idle->state)) > 0);
    WEFT_ASSERT(!w->sleeper.is_listed);
    w->sleeper.is_retired = false;
    add_ar(&idle->wakes, 1); /* pairs with a stop that looks twice */
    add_state(idle, -WEFT_IDLE_RETIREE);
}

/* Takes the sleeper off the stack and makes it a searcher; the caller wakes it. Locked. */
static void make_searcher(struct weft__idle *idle, struct weft__worker *w) {
    WEFT_ASSERT(w->sleeper.is_listed && !w->search.is_searcher);
    take_off(idle, w);
    w->search.is_searcher = true;
    add_state(idle, WEFT_IDLE_SEARCHER);
}

/* The most recent sleeper that takes calls. Locked. */
static struct weft__worker *sleeper_for_calls(struct weft__idle *idle) {
    struct weft__worker *w = idle->top;
    while (w && !weft__takes_calls(w)) w = w->sleeper.below;
    return w;
}

/* The sleeper that is woken for work of any kind. A spare that takes no calls does not take from every queue either
 * (weft__may_take_from), so it is woken only if no other worker sleeps. Locked. */
static struct weft__worker *sleeper_for_any(struct weft__idle *idle) {
    struct weft__worker *w = sleeper_for_calls(idle);
    return likely(w != NULL) ? w : idle->top;
}

void weft__idle_wake_one(struct weft__cluster *c) {
    struct weft__idle *idle = &c->idle;
    uint64_t state = load_rlx(&idle->state);
    if (!(state & WEFT_IDLE_SLEEPERS) || (state & WEFT_IDLE_SEARCHERS)) return;
    weft__lock(&idle->lock);
    struct weft__worker *w = load_rlx(&idle->state) & WEFT_IDLE_SEARCHERS ? NULL : sleeper_for_any(idle);
    if (w) make_searcher(idle, w);
    weft__unlock(&idle->lock);
    if (w) weft__driver_wake(&w->driver);
}

void weft__idle_wake(struct weft__worker *w) {
    if (load_rlx(&w->driver.state) == WEFT_AWAKE) return;
    struct weft__idle *idle = &w->cluster->idle;
    weft__lock(&idle->lock);
    bool asleep = w->sleeper.is_listed || w->sleeper.is_retired;
    if (w->sleeper.is_listed) make_searcher(idle, w);
    call_back(idle, w);
    weft__unlock(&idle->lock);
    if (asleep) weft__driver_wake(&w->driver);
}

/* May w be left alone with its queue? Yes if it has few fibers: if it does not reach them, the watchman takes them. */
static bool is_left_to_owner(struct weft__worker *w, bool fresh) {
    return weft__ready_length(&w->ready) < 2 || (!fresh && weft__is_prompt(w)) ||
           weft__keeps_up(w, load_rlx(&w->progress.polled_at));
}

WEFT_COLD void weft__idle_consider(struct weft__worker *w, uint64_t state, bool fresh) {
    if (state & WEFT_IDLE_SEARCHERS || !w->cluster->stealing) return;
    if ((state & WEFT_IDLE_WATCHED) && is_left_to_owner(w, fresh)) return;
    weft__idle_wake_one(w->cluster);
}

void weft__idle_wake_taker(struct weft__cluster *c, bool (*calls_wait)(struct weft__worker *)) {
    struct weft__idle *idle = &c->idle;
    weft__lock(&idle->lock);
    struct weft__worker *w = sleeper_for_calls(idle);
    bool wakes = w && calls_wait(w);
    if (wakes) make_searcher(idle, w);
    weft__unlock(&idle->lock);
    if (wakes) weft__driver_wake(&w->driver);
}

/*
 * A worker that retires may leave work behind. Wakers that saw it search have woken no other worker. Forked calls of a
 * fiber that parked on it have lost their home. And it may have been the watchman. So it looks for work in place of the
 * most recent sleeper, and wakes that sleeper if there is work for it.
 */
void weft__idle_wake_successor(struct weft__cluster *c, bool (*work_waits)(struct weft__worker *)) {
    struct weft__idle *idle = &c->idle;
    weft__lock(&idle->lock);
    struct weft__worker *w = load_rlx(&idle->state) & WEFT_IDLE_SEARCHERS ? NULL : idle->top;
    if (w && !work_waits(w)) w = sleeper_for_calls(idle); /* the first sleeper may be a spare */
    if (w && !work_waits(w)) w = NULL;
    if (w) make_searcher(idle, w);
    weft__unlock(&idle->lock);
    if (w) weft__driver_wake(&w->driver);
}

bool weft__idle_start_searching(struct weft__worker *w) {
    struct weft__idle *idle = &w->cluster->idle;
    if (w->search.is_searcher) return true; /* its waker made it a searcher */
    weft__lock(&idle->lock);
    /* Half of the workers that are awake may search, but always at least one. */
    uint64_t searchers = (load_rlx(&idle->state) & WEFT_IDLE_SEARCHERS) / WEFT_IDLE_SEARCHER;
    uint64_t awake = w->cluster->count - weft__idle_resting(load_rlx(&idle->state));
    w->search.is_searcher = searchers == 0 || 2 * searchers < awake;
    if (w->search.is_searcher) add_state(idle, WEFT_IDLE_SEARCHER);
    weft__unlock(&idle->lock);
    return w->search.is_searcher;
}

void weft__idle_stop_searching(struct weft__worker *w) {
    struct weft__idle *idle = &w->cluster->idle;
    if (!w->search.is_searcher) return;
    weft__lock(&idle->lock);
    w->search.is_searcher = false;
    add_state(idle, -WEFT_IDLE_SEARCHER);
    weft__unlock(&idle->lock);
}

/*
 * Should w, which goes to sleep, become the watchman? Workers leave work of all kinds to the watchman, so that should
 * be a worker that takes calls. A spare that takes none watches only while no other worker sleeps. If a worker that
 * takes calls sleeps, but does not watch, there is no watchman: then the next push wakes that worker.
 */
static bool watches_better(struct weft__idle *idle, const struct weft__worker *w) {
    if (weft__takes_calls(w)) return !idle->watchman || !weft__takes_calls(idle->watchman);
    return !idle->watchman && !sleeper_for_calls(idle);
}

void weft__idle_announce_sleep(struct weft__worker *w, bool *is_watchman, bool *is_last) {
    struct weft__cluster *c = w->cluster;
    struct weft__idle *idle = &c->idle;
    weft__lock(&idle->lock);
    if (w->search.is_searcher) {
        w->search.is_searcher = false;
        add_state(idle, -WEFT_IDLE_SEARCHER);
    }
    w->sleeper.is_listed = true;
    WEFT_ASSERT(!w->sleeper.is_retired && !w->search.is_searcher);
    w->sleeper.above = NULL;
    w->sleeper.below = idle->top;
    if (idle->top) idle->top->sleeper.above = w;
    idle->top = w;
    add_state(idle, WEFT_IDLE_SLEEPER);
    *is_last = weft__idle_resting(load_rlx(&idle->state)) == c->count;
    *is_watchman = c->stealing && !*is_last && watches_better(idle, w);
    if (*is_watchman) {
        if (!idle->watchman) add_state(idle, WEFT_IDLE_WATCHED);
        idle->watchman = w;
    }
    weft__driver_announce(&w->driver);
    weft__unlock(&idle->lock);
}

/* After this no other thread writes w->search.is_searcher: wakers write it only for sleepers. */
void weft__idle_leave(struct weft__worker *w) {
    struct weft__idle *idle = &w->cluster->idle;
    weft__lock(&idle->lock);
    take_off(idle, w);
    weft__unlock(&idle->lock);
    fence_rel(); /* pairs with weft__is_quiet: if that sees anything that we do from here on, it also sees idle.wakes */
}

/* --- retirement ---------------------------------------------------------------------------------- */

bool weft__idle_announce_retirement(struct weft__worker *w) {
    struct weft__idle *idle = &w->cluster->idle;
    weft__lock(&idle->lock);
    w->sleeper.is_retired = true;
    WEFT_ASSERT(!w->sleeper.is_listed && !w->search.is_searcher);
    add_state(idle, WEFT_IDLE_RETIREE);
    bool is_last = weft__idle_resting(load_rlx(&idle->state)) == w->cluster->count;
    weft__driver_announce(&w->driver);
    weft__unlock(&idle->lock);
    return is_last;
}

void weft__idle_leave_retirement(struct weft__worker *w) {
    struct weft__idle *idle = &w->cluster->idle;
    weft__lock(&idle->lock);
    call_back(idle, w);
    weft__unlock(&idle->lock);
    fence_rel(); /* as in weft__idle_leave */
}
