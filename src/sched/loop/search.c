/* SPDX-License-Identifier: MIT */
/*
 * The search of an idle worker: everything that is its own, and the queues of the others, for a while before it sleeps.
 */
#include "base/assert.h"
#include "base/random.h"
#include "sched/balance/balance.h"
#include "sched/dispatch/dispatch.h"
#include "sched/loop/loop.h"
#include "sched/tasks/tasks.h"
#include "sched/wake/io_backpressure.h"

/* How long to search before going to sleep: longer while searching pays, within these limits. */
#define WEFT_SEARCH_LEAST (5 * WEFT_MICROSECOND)
#define WEFT_SEARCH_MOST (40 * WEFT_MICROSECOND)

#define WEFT_PAUSE_MOST 32 /* a microsecond: a fiber that has begun to fork should not wait for longer than that */

static struct weft__fiber *own_work(struct weft__worker *w, uint64_t now) {
    weft__poll(w, now);
    return weft__next(w);
}

static void search_adapt(struct weft__worker *w, bool found) {
    w->search.time = found ? w->search.time * 2 : w->search.time / 2;
    if (w->search.time < WEFT_SEARCH_LEAST) w->search.time = WEFT_SEARCH_LEAST;
    if (w->search.time > WEFT_SEARCH_MOST) w->search.time = WEFT_SEARCH_MOST;
}

/*
 * Is a search useless? There is no other worker to take from, or the first one keeps up and is left alone. The next
 * fiber comes through the worker's ring, in which it sleeps, or through the poller: the worker has just fetched, and
 * sleeps there, or a thread does. And during overload a search uses up the worker's share of the processors, so that
 * the next fiber waits for all others (overload.c).
 */
static bool is_in_vain(const struct weft__worker *w, bool fetched) {
    if (unlikely(load_rlx(&w->cluster->overload_rate))) return true;
    if (load_rlx(&w->cluster->wanted) == 1) return fetched || weft__uring_is_in_use(&w->ring);
    return weft__uring_is_in_use(&w->ring) && weft__keeps_up(w->cluster->workers[0], weft__clock());
}

/*
 * Searches for a while, or once: everything that is the worker's own, and the others' queues, with
 * pauses that grow, and differ between workers.
 */
struct weft__fiber *weft__search(struct weft__worker *w, bool once) {
    WEFT_ASSERT(weft__self() == w);
    bool in_vain = !once && load_rlx(&weft__poll_duty_state) && !weft__poll_duty_fetch();
    uint64_t now = weft__clock(), end = now + (is_in_vain(w, in_vain) ? 0 : w->search.time);
    unsigned pause = w->cluster->policy.no_backoff ? 0 : 4;
    if (w->worth.stole_at) weft__worth_judge(w, now);
    for (;;) {
        struct weft__fiber *f = own_work(w, now);
        if (!f && w->cluster->stealing) f = weft__tasks_steal_suspended(w, now);
        if (!f && w->cluster->stealing) f = weft__steal_round(w, now);
        if (f || once || now >= end || load_rlx(&w->cluster->stopping) || !weft__is_wanted(w)) {
            if (!once) search_adapt(w, f != NULL);
            return f;
        }
        if (unlikely(weft__is_crowded(w->cluster, now) || weft__is_crowd(w->cluster, 1)))
            weft__cpu_yield(); /* perhaps to the worker that has work */
        /* Mail is for this worker alone, and looking for it disturbs no other. */
        for (unsigned i = pause ? weft__random_below(&w->random, pause) + pause : 0; i > 0; i--) {
            weft__cpu_pause();
            if (!weft__mailbox_is_empty(&w->mailbox)) break;
        }
        if (pause < WEFT_PAUSE_MOST) pause *= 2;
        if (unlikely(w->cluster->policy.no_backoff)) pause = 0;
        now = weft__clock();
    }
}
