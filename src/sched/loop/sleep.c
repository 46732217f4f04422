/* SPDX-License-Identifier: MIT */
/*
 * Sleeping: what a worker does before, during and after its sleep. The handshake with its wakers is in wake/idle.c.
 */
#include "base/assert.h"
#include "base/probe.h"
#include "sched/balance/balance.h"
#include "sched/balance/work.h"
#include "sched/core/quiescence.h"
#include "sched/dispatch/make_ready.h"
#include "sched/dispatch/priority.h"
#include "sched/loop/loop.h"
#include "sched/record/record.h"
#include "sched/tasks/tasks.h"
#include "sched/wake/io_backpressure.h"
#include "sched/wake/load.h"

#define WEFT_WATCH_FIRST (50 * WEFT_MICROSECOND)
#define WEFT_WATCH_LAST (1 * WEFT_MILLISECOND)
#define WEFT_SOON (10 * WEFT_MILLISECOND) /* a timer this near must not wait for a fiber that computes */

/*
 * A fork that saw w search, or that woke w, has woken no other worker. So w must look for calls in place of the
 * sleepers, and wake one of them. The sleeper leaves some calls to the watchman, if there is a watchman. That loses no
 * call: while a worker that takes calls sleeps, only such a worker is the watchman.
 */
WEFT_COLD void weft__idle_wake_for_calls(struct weft__worker *w) {
    if (!(load_rlx(&w->cluster->idle.state) & WEFT_IDLE_SLEEPERS) || !w->cluster->stealing) return;
    weft__idle_wake_taker(w->cluster, weft__tasks_in_sight);
}

/*
 * Did w ignore forked calls in its last look? The monitor may lend w, or end that, at any moment. So w asks before the
 * look (took_calls) and after it: if w took calls both times, it did not ignore them in between.
 */
static bool may_have_left_calls(struct weft__worker *w, bool took_calls) {
    return !took_calls || !weft__takes_calls(w);
}

/*
 * The worker has found work. Pushes that saw it search woke no worker, so it looks for their work here. The search may
 * also have moved fibers and timers to its queue and wheel. If the fiber that it runs next computes for long, another
 * worker must serve these, so there must be a watchman.
 */
void weft__idle_end(struct weft__worker *w) {
    struct weft__idle *idle = &w->cluster->idle;
    weft__idle_stop_searching(w);
    uint64_t state = load_rlx(&idle->state);
    if (!(state & WEFT_IDLE_SLEEPERS) || (state & WEFT_IDLE_SEARCHERS)) return;
    /*
     * We must see a push that saw us search, unless there is a watchman, which will see it. Only a carrier that is
     * awake can push: if there is none, the heavy fence of the pair is not needed. A fork looks for sleepers only if
     * its deque was asked to report, and an earlier fork may have used up that request: so we ask again.
     */
    bool watched = state & WEFT_IDLE_WATCHED;
    if (!watched && weft__idle_resting(state) + 1 < w->cluster->count) {
        if (w->cluster->stealing) weft__tasks_ask(w->cluster);
        weft__fence_heavy();
    }
    bool alone_with_timers =
        !watched && w->cluster->stealing && weft__wheel_next(&w->wheel) < weft__clock() + WEFT_SOON;
    bool took_calls = weft__takes_calls(w);
    if (weft__work_in_sight(w) || alone_with_timers) weft__idle_wake_one(w->cluster);
    if (unlikely(may_have_left_calls(w, took_calls))) weft__idle_wake_for_calls(w);
}

/* Has the worker given its memory back since it became idle? Then nothing is left to return until it has had work. */
static bool has_flushed(const struct weft__worker *w) {
    return w->cache.next_flush > w->search.idle_since + WEFT_FLUSH_EVERY;
}

/* Until when to sleep: the next timer, the tick of the watchman or of the reserve, or the time to give memory back. */
static uint64_t sleep_until(struct weft__worker *w, uint64_t now, bool is_watchman) {
    uint64_t until = weft__wheel_next(&w->wheel);
    if (is_watchman || unlikely(weft__is_reserve(w))) {
        w->search.tick = w->search.tick ? w->search.tick * 2 : WEFT_WATCH_FIRST;
        if (w->search.tick > WEFT_WATCH_LAST || load_rlx(&w->cluster->overload_rate)) w->search.tick = WEFT_WATCH_LAST;
        if (now + w->search.tick < until) until = now + w->search.tick;
    } else if (w->search.idle_since && !has_flushed(w) && w->cache.next_flush < until)
        until = w->cache.next_flush;
    return until;
}

/* Returns cached memory, if the worker has been idle for long enough. */
static void sleep_flush(struct weft__worker *w, uint64_t now) {
    if (!w->search.idle_since || has_flushed(w) || now < w->cache.next_flush) return;
    weft__worker_flush(w, now);
}

/* All workers rest now. A stop or a drain may have waited for that. The fibers that wait in a drain become ready at
 * this worker. */
static void last_sleeper_notifies(struct weft__worker *w) {
    weft__quiet_notify();
    if (weft__has_ready(w)) weft__driver_wake(&w->driver);
}

bool weft__idle_sleep(struct weft__worker *w) {
    WEFT_ASSERT(weft__self() == w);
    uint64_t now = weft__clock();
    sleep_flush(w, now);
    bool is_watchman, is_last, woken = true;
    weft__idle_announce_sleep(w, &is_watchman, &is_last);
    bool takes_calls = weft__takes_calls(w);
    if (likely(takes_calls)) {
        weft__tasks_slept(w->cluster);
        weft__tasks_ask(w->cluster);
    }
    /*
     * Pairs with weft__notify, and with the full fences of the other wakers. The last worker that was awake needs no
     * heavy fence: any other worker takes the lock under which we became a sleeper, before it makes anything ready.
     */
    if (is_last)
        fence_sc();
    else
        weft__fence_heavy();
    bool at_poller = unlikely(load_rlx(&weft__poll_duty_state)) && weft__poll_duty_take(w);
    bool stays = weft__has_ready(w) || weft__work_in_sight(w) || !weft__is_wanted(w);
    if (unlikely(may_have_left_calls(w, takes_calls))) weft__idle_wake_for_calls(w);
    if (stays) {
        weft__driver_cancel_sleep(&w->driver);
    } else {
        if (is_last) last_sleeper_notifies(w);
        count_add(&w->numbers.sleeps, 1);
        uint64_t until = sleep_until(w, now, is_watchman);
        weft__probe2(worker_sleep, w->index, until);
        weft__record(WEFT_HAPPENED_SLEEP, 0, until, 0);
        weft__burden_sleeps(w, now);
        woken = at_poller ? weft__poll_duty_sleep(w, until) : weft__driver_sleep(&w->driver, &w->ring, until);
        weft__probe2(worker_wake, w->index, woken);
        weft__record(WEFT_HAPPENED_WAKE, 0, woken, 0);
        weft__burden_wakes(w);
        count_add(&w->numbers.wakeups, woken);
    }
    weft__idle_leave(w);
    if (at_poller) weft__poll_duty_leave(w);
    return woken;
}

/* The worker retires. It does not join the stack of sleepers, so no waker chooses it for work that others can do. It
 * still wakes up for its mail and for the timers in its wheel, and gives the fibers that they make ready to others. */
void weft__idle_retire(struct weft__worker *w) {
    WEFT_ASSERT(weft__self() == w);
    weft__idle_stop_searching(w);
    weft__queue_give_away(w);
    weft__stack_flush(w->cache.stacks, 0);
    weft__tasks_flush(w, false);
    weft__slab_flush(&weft__fibers, &w->cache.records);
    bool is_last = weft__idle_announce_retirement(w);
    weft__fence_heavy(); /* pairs with the full fences of wakers, and with weft__notify */
    weft__idle_wake_successor(w->cluster, weft__work_for_sleeper);
    if (weft__is_wanted(w) || weft__work_is_only_here(w) || load_acq(&w->cluster->stopping)) {
        weft__driver_cancel_sleep(&w->driver);
    } else {
        if (unlikely(load_rlx(&weft__poll_duty_state))) weft__poll_duty_notify();
        if (is_last) last_sleeper_notifies(w);
        weft__driver_sleep(&w->driver, &w->ring, weft__wheel_next(&w->wheel));
    }
    weft__idle_leave_retirement(w);
}
