/* SPDX-License-Identifier: MIT */
/*
 * The poll: when a worker comes home, it looks at its timers, its ring, its mailbox and the injector. This file also
 * decides how often the worker comes home.
 */
#include "base/assert.h"
#include "sched/balance/balance.h"
#include "sched/dispatch/dispatch.h"
#include "sched/dispatch/sharing.h"
#include "sched/dispatch/timers.h"
#include "sched/loop/loop.h"
#include "sched/place/placement.h"
#include "sched/rings/rings.h"
#include "sched/tasks/tasks.h"
#include "sched/wake/io_backpressure.h"

/* A suspended fiber may wait for a call that it has forked. So a busy worker takes such calls, too. */
static void take_suspended_task(struct weft__worker *w, uint64_t now) {
    struct weft__fiber *f = w->cluster->stealing ? weft__tasks_steal_suspended(w, now) : NULL;
    if (f) weft__push(w, f);
}

/* What a worker that has work does only now and then. */
static void look_about(struct weft__worker *w, uint64_t now) {
    weft__sharing_update(w, now);
    weft__location_update(w, now);
    if (unlikely(now >= w->cache.next_flush)) weft__worker_flush(w, now);
    if (w->cluster->helping) weft__help_tick(w, now);
    weft__split_trial_tick(w, now);
}

/* Updates the mean time of a dispatch: `done` dispatches took `took` ns. A sample that is far too large is cut off, as
 * in weft__help_average, because the kernel has run another thread meanwhile. */
static void time_turns(struct weft__worker *w, uint64_t took, uint64_t done) {
    uint64_t mean = w->pace.mean_turn, sample = took * 16 / done;
    if (mean && sample > 4 * mean) sample = 4 * mean;
    w->pace.mean_turn = mean ? mean - mean / 8 + sample / 8 : sample;
}

/*
 * The number of dispatches until the next poll: as many as fit into WEFT_POLL_TIME, WEFT_POLL_EVERY at most. The
 * dispatches since the last poll tell how long a dispatch takes. A long dispatch is forgotten slowly, so that a few
 * short dispatches after it change little.
 */
static int poll_pace(struct weft__worker *w, uint64_t now) {
    uint64_t took = now - load_rlx(&w->progress.polled_at), done = (uint64_t)(w->pace.poll_from - w->pace.until_poll),
             slice = w->pace.slice;
    if (!load_rlx(&w->progress.busy_since))
        took = 0; /* the worker has slept or searched since the last poll */
    else if (done)
        time_turns(w, took, done);
    store_rlx(&w->progress.polled_at, now);
    if (likely(took <= WEFT_POLL_TIME && slice <= WEFT_POLL_TIME / WEFT_POLL_EVERY)) return WEFT_POLL_EVERY;
    if (done > 1) took /= done;
    slice -= slice / 4;
    w->pace.slice = slice = took > slice ? took : slice;
    uint64_t fit = WEFT_POLL_TIME / slice;
    return fit < 1 ? 2 : fit < WEFT_POLL_EVERY ? (int)fit + 1 : WEFT_POLL_EVERY; /* the last dispatch goes home */
}

/* Are the rare duties (look_about) due? They are due once in WEFT_POLL_EVERY dispatches, or once in WEFT_DUE_TIME if
 * dispatches are slow. The count goes on across polls, so that they also become due for a worker that always runs dry
 * before WEFT_POLL_EVERY. */
static bool is_due(struct weft__worker *w, int dispatches, uint64_t now) {
    w->pace.until_due -= dispatches;
    if (w->pace.until_due > 0 && now < w->pace.next_due) return false;
    w->pace.until_due = WEFT_POLL_EVERY;
    w->pace.next_due = now + WEFT_DUE_TIME;
    return true;
}

/*
 * Only for workers that are not retired. A worker that was just woken, or has just run dry, looks for work before it
 * does its rare duties. But it must do these now and then: otherwise a worker that always finds work nearby would never
 * help the others. It takes suspended calls only when the duties are due: otherwise a fiber that yields now and then
 * would find all of its calls taken.
 */
static void take_share(struct weft__worker *w, int dispatches, uint64_t now) {
    bool due = is_due(w, dispatches, now);
    weft__injector_take(w);
    if (due) take_suspended_task(w, now);
    if (due || load_rlx(&w->progress.busy_since)) look_about(w, now);
    if (weft__ready_length(&w->ready))
        weft__notify_woken(w); /* also for fibers that have yielded: a yield notifies no worker */
}

WEFT_COLD void weft__poll(struct weft__worker *w, uint64_t now) {
    WEFT_ASSERT(weft__self() == w);
    int dispatches = w->pace.poll_from - w->pace.until_poll;
    weft__summons_clear(w);
    w->pace.until_poll = w->pace.poll_from = poll_pace(w, now);
    if (weft__wheel_next(&w->wheel) <= now) weft__expire(w, &w->wheel, now);
    weft__ring_look(&w->ring);
    if (unlikely(load_rlx(&weft__poll_duty_state))) weft__poll_duty_look(w, now);
    weft__mail_take(w, w);
    if (likely(weft__is_wanted(w)))
        take_share(w, dispatches, now);
    else
        weft__queue_give_away(w);
    /* Pushing the timed fiber may set until_poll to 1. We are already at home, so use 2: weft__next then returns that
     * fiber. Otherwise a carrier would leave the fiber behind when its cluster ends. */
    if (w->pace.until_poll < 2) w->pace.until_poll = w->pace.poll_from = 2;
}
