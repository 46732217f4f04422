/*
 * Sleeping and waking. Owns the cluster's stack of sleepers and idle.state.
 *
 * The handshake, which loses no wake-up. The steps of each side are ordered by a full fence:
 *
 *   a worker that found nothing               whoever made work visible
 *   1. becomes a sleeper: on the stack,       1. puts the fiber into a queue
 *      counted in idle.state                  -- fence --
 *   -- fence --                               2. looks at idle.state: are there sleepers, and
 *   2. looks for work everywhere, once more      nobody searching? then takes one off the stack,
 *   3. sleeps                                    makes it a searcher, and wakes it
 *
 * Either the worker's look (2) sees the fiber, or the other's look (2) sees the sleeper. The fence
 * on the right stands on the hot path, so it is the light one of a pair: the worker's is
 * membarrier, which makes every running thread pass a full fence.
 *
 * Few search: a waker wakes one, and none while somebody searches. A searcher that finds work and
 * sees more wakes the next one.
 *
 * What is worth a wake-up: it costs the waker a system call and arrives some 40 us later, the time
 * of hundreds of switches. So a worker whose queue holds one fiber does not wake anybody: it will
 * run that fiber itself, unless the fiber it runs now computes on. That is what the watchman is
 * for: while some worker is awake and others sleep, one of the sleepers sleeps with a timeout,
 * doubling from WEFT_WATCH_FIRST to WEFT_WATCH_LAST, and looks whether somebody's queue stands
 * still. Without a watchman, the first push wakes one. When everybody sleeps, nobody watches: an
 * idle program uses no CPU.
 */
#include "sched/dispatch.h"
#include "sched/dry.h"
#include "sched/trim.h"

#define WEFT_WATCH_FIRST (50 * WEFT_MICROSECOND)
#define WEFT_WATCH_LAST (1 * WEFT_MILLISECOND)
#define WEFT_SOON (10 * WEFT_MILLISECOND) /* a timer this near must not wait for a fiber that computes */

/* Release: pairs with readers without the lock, such as others_rest: they see what the worker did before. */
static void add_state(struct weft__idle *idle, uint64_t n) { store_rel(&idle->state, load_rlx(&idle->state) + n); }

static void stop_watching(struct weft__idle *idle, struct weft__worker *w) {
    if (!w->watching) return;
    w->watching = false;
    add_state(idle, -WEFT_IDLE_WATCHED);
}

/* The worker is no longer a sleeper. Locked. */
static void take_off(struct weft__idle *idle, struct weft__worker *w) {
    if (!w->is_sleeper) return;
    w->is_sleeper = false;
    add_ar(&idle->wakes, 1); /* pairs with a stop that looks twice */
    if (w->sleeper_above)
        w->sleeper_above->sleeper_below = w->sleeper_below;
    else
        idle->top = w->sleeper_below;
    if (w->sleeper_below) w->sleeper_below->sleeper_above = w->sleeper_above;
    add_state(idle, -WEFT_IDLE_SLEEPER);
    stop_watching(idle, w);
}

/* It is not retired any more. Locked. */
static void call_back(struct weft__idle *idle, struct weft__worker *w) {
    if (!w->is_retired) return;
    w->is_retired = false;
    add_ar(&idle->wakes, 1); /* pairs with a stop that looks twice */
    add_state(idle, -WEFT_IDLE_RETIREE);
}

/* Takes the sleeper off the stack and makes it a searcher; the caller wakes it. Locked. */
static void appoint(struct weft__idle *idle, struct weft__worker *w) {
    take_off(idle, w);
    w->searching = true;
    add_state(idle, WEFT_IDLE_SEARCHER);
}

void weft__idle_wake_one(struct weft__cluster *c) {
    struct weft__idle *idle = &c->idle;
    uint64_t state = load_rlx(&idle->state);
    if (!(state & WEFT_IDLE_SLEEPERS) || (state & WEFT_IDLE_SEARCHERS)) return;
    weft__lock(&idle->lock);
    struct weft__worker *w = load_rlx(&idle->state) & WEFT_IDLE_SEARCHERS ? NULL : idle->top;
    if (w) appoint(idle, w);
    weft__unlock(&idle->lock);
    if (w) weft__driver_wake(&w->driver);
}

void weft__idle_wake(struct weft__worker *w) {
    if (load_rlx(&w->driver.state) == WEFT_AWAKE) return;
    struct weft__idle *idle = &w->cluster->idle;
    weft__lock(&idle->lock);
    bool asleep = w->is_sleeper || w->is_retired;
    if (w->is_sleeper) appoint(idle, w);
    call_back(idle, w);
    weft__unlock(&idle->lock);
    if (asleep) weft__driver_wake(&w->driver);
}

WEFT_COLD void weft__idle_consider(struct weft__worker *w, uint64_t state) {
    if (state & WEFT_IDLE_SEARCHERS || !w->cluster->stealing) return;
    if ((state & WEFT_IDLE_WATCHED) &&
        (weft__ready_length(&w->ready) < 2 || weft__keeps_up(w, load_rlx(&w->polled_at))))
        return;
    weft__idle_wake_one(w->cluster);
}

/* The most recent sleeper that takes calls. Locked. */
static struct weft__worker *sleeper_for_calls(struct weft__idle *idle) {
    struct weft__worker *w = idle->top;
    while (w && !weft__takes_calls(w)) w = w->sleeper_below;
    return w;
}

/*
 * Forks that saw w search, or chose it from the sleepers, have woken no other. So w looks on behalf of those that it
 * kept from being woken.
 */
WEFT_COLD void weft__idle_wake_for_calls(struct weft__worker *w) {
    struct weft__idle *idle = &w->cluster->idle;
    if (!(load_rlx(&idle->state) & WEFT_IDLE_SLEEPERS) || !w->cluster->stealing) return;
    weft__lock(&idle->lock);
    struct weft__worker *other = sleeper_for_calls(idle);
    bool wakes = other && weft__tasks_in_sight(other);
    if (wakes) appoint(idle, other);
    weft__unlock(&idle->lock);
    if (wakes) weft__driver_wake(&other->driver);
}

/*
 * Did w leave forked calls to others when it last looked? The monitor may lend w, or end that, at any moment. So w asks
 * before its look (took_calls) and after it: if w took calls both times, it did so in between.
 */
static bool may_have_left_calls(struct weft__worker *w, bool took_calls) {
    return !took_calls || !weft__takes_calls(w);
}

bool weft__idle_start_searching(struct weft__worker *w) {
    struct weft__idle *idle = &w->cluster->idle;
    if (w->searching) return true; /* appointed by whoever woke it */
    weft__lock(&idle->lock);
    /* Half of those who are awake may search, and one always. */
    uint64_t searchers = (load_rlx(&idle->state) & WEFT_IDLE_SEARCHERS) / WEFT_IDLE_SEARCHER;
    uint64_t awake = w->cluster->count - weft__idle_resting(load_rlx(&idle->state));
    w->searching = searchers == 0 || 2 * searchers < awake;
    if (w->searching) add_state(idle, WEFT_IDLE_SEARCHER);
    weft__unlock(&idle->lock);
    return w->searching;
}

static void stop_searching(struct weft__worker *w) {
    struct weft__idle *idle = &w->cluster->idle;
    if (!w->searching) return;
    weft__lock(&idle->lock);
    w->searching = false;
    add_state(idle, -WEFT_IDLE_SEARCHER);
    weft__unlock(&idle->lock);
}

/*
 * Pushes that saw a searcher woke nobody; if we were it, we look in their stead. And what was taken
 * over in the search stands in our queue or wheel now: if the fiber we go to run computes, somebody
 * must see to that, so there must be a watchman.
 */
void weft__idle_end(struct weft__worker *w) {
    struct weft__idle *idle = &w->cluster->idle;
    stop_searching(w);
    uint64_t state = load_rlx(&idle->state);
    if (!(state & WEFT_IDLE_SLEEPERS) || (state & WEFT_IDLE_SEARCHERS)) return;
    /*
     * A push that saw us search must be seen here, unless the watchman will see it. Only a carrier
     * that is awake can be pushing: without one, there is no need for the heavy fence of the pair.
     */
    bool watched = state & WEFT_IDLE_WATCHED;
    if (!watched && weft__idle_resting(state) + 1 < w->cluster->count) weft__fence_heavy();
    bool alone_with_timers =
        !watched && w->cluster->stealing && weft__wheel_next(&w->wheel) < weft__clock() + WEFT_SOON;
    bool took_calls = weft__takes_calls(w);
    if (weft__work_in_sight(w) || alone_with_timers) weft__idle_wake_one(w->cluster);
    if (unlikely(may_have_left_calls(w, took_calls))) weft__idle_wake_for_calls(w);
}

/* Step 1: a sleeper, and perhaps the watchman, or the last one. */
static void become_sleeper(struct weft__worker *w, bool *is_watchman, bool *is_last) {
    struct weft__cluster *c = w->cluster;
    struct weft__idle *idle = &c->idle;
    weft__lock(&idle->lock);
    if (w->searching) {
        w->searching = false;
        add_state(idle, -WEFT_IDLE_SEARCHER);
    }
    w->is_sleeper = true;
    w->sleeper_above = NULL;
    w->sleeper_below = idle->top;
    if (idle->top) idle->top->sleeper_above = w;
    idle->top = w;
    add_state(idle, WEFT_IDLE_SLEEPER);
    *is_last = weft__idle_resting(load_rlx(&idle->state)) == c->count;
    w->watching = *is_watchman = c->stealing && !*is_last && !(load_rlx(&idle->state) & WEFT_IDLE_WATCHED);
    if (w->watching) add_state(idle, WEFT_IDLE_WATCHED);
    weft__driver_announce(&w->driver);
    weft__unlock(&idle->lock);
}

/* After this nobody else writes w->searching: only sleepers are appointed. */
static void wake_up(struct weft__worker *w) {
    struct weft__idle *idle = &w->cluster->idle;
    weft__lock(&idle->lock);
    take_off(idle, w);
    weft__unlock(&idle->lock);
    fence_rel(); /* pairs with weft__is_quiet: it does not see what we do from here on without idle.wakes */
}

/* Until when to sleep: its own next timer, the tick of the watchman or the reserve, the time to give memory back. */
static uint64_t sleep_until(struct weft__worker *w, uint64_t now, bool is_watchman) {
    uint64_t until = weft__wheel_next(&w->wheel);
    if (is_watchman || unlikely(weft__is_reserve(w))) {
        w->tick = w->tick ? w->tick * 2 : WEFT_WATCH_FIRST;
        if (w->tick > WEFT_WATCH_LAST) w->tick = WEFT_WATCH_LAST;
        if (now + w->tick < until) until = now + w->tick;
    } else if (w->idle_since && w->next_flush < until)
        until = w->next_flush;
    return until;
}

/* Memory that waits for work goes back. */
static void flush(struct weft__worker *w, uint64_t now) {
    if (!w->idle_since || now < w->next_flush) return;
    weft__worker_flush(w, now);
    w->idle_since = 0; /* done, until there was work again */
}

/* All rest now: a stop or a drain may have waited for that, and who drained become ready right here. */
static void last_one_tells(struct weft__worker *w) {
    weft__tell_quiet();
    if (weft__has_ready(w)) weft__driver_wake(&w->driver);
}

bool weft__idle_sleep(struct weft__worker *w) {
    uint64_t now = weft__clock();
    flush(w, now);
    bool is_watchman, is_last, woken = true;
    become_sleeper(w, &is_watchman, &is_last);
    bool takes_calls = weft__takes_calls(w);
    if (likely(takes_calls)) weft__tasks_ask(w->cluster);
    /*
     * Pairs with weft__notify, and with the full fences of the other wakers. The last one needs no heavy fence: any
     * other worker comes back through the lock under which we became a sleeper, before it makes anything ready.
     */
    if (is_last)
        fence_sc();
    else
        weft__fence_heavy();
    bool at_poller = unlikely(load_rlx(&weft__dry_awaited)) && weft__dry_take(w);
    bool stays = weft__has_ready(w) || weft__work_in_sight(w) || !weft__is_wanted(w);
    if (unlikely(may_have_left_calls(w, takes_calls))) weft__idle_wake_for_calls(w);
    if (stays) {
        weft__driver_stay(&w->driver);
    } else {
        if (is_last) last_one_tells(w);
        count_add(&w->numbers.sleeps, 1);
        uint64_t until = sleep_until(w, now, is_watchman);
        weft__burden_sleeps(w, now);
        woken = at_poller ? weft__dry_sleep(w, until) : weft__driver_sleep(&w->driver, &w->ring, until);
        weft__burden_wakes(w);
        count_add(&w->numbers.wakeups, woken);
    }
    wake_up(w);
    if (at_poller) weft__dry_leave(w);
    return woken;
}

/* Retired: on no stack, so nobody wakes it for work that others can do. Mail it must see, and the
 * timers in its wheel; those that they make ready are given away. */
void weft__idle_retire(struct weft__worker *w) {
    struct weft__idle *idle = &w->cluster->idle;
    stop_searching(w);
    weft__give_away(w);
    weft__stack_flush(w->stacks, 0);
    weft__tasks_flush(w, false);
    weft__slab_flush(&weft__fibers, &w->records);
    weft__lock(&idle->lock);
    w->is_retired = true;
    add_state(idle, WEFT_IDLE_RETIREE);
    bool is_last = weft__idle_resting(load_rlx(&idle->state)) == w->cluster->count;
    weft__driver_announce(&w->driver);
    weft__unlock(&idle->lock);
    weft__fence_heavy(); /* pairs with the full fences of those who wake it */
    if (weft__is_wanted(w) || !weft__mailbox_empty(&w->mailbox) || weft__aside_count(w) ||
        load_acq(&w->cluster->stopping)) {
        weft__driver_stay(&w->driver);
    } else {
        /* What was left to us as the searcher is somebody else's now. */
        if (load_rlx(&w->cluster->injector.length)) weft__idle_wake_one(w->cluster);
        if (unlikely(load_rlx(&weft__dry_awaited))) weft__dry_tell();
        if (is_last) last_one_tells(w);
        weft__driver_sleep(&w->driver, &w->ring, weft__wheel_next(&w->wheel));
    }
    weft__lock(&idle->lock);
    call_back(idle, w);
    weft__unlock(&idle->lock);
    fence_rel(); /* as in wake_up */
}
