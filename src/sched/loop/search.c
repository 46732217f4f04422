/* SPDX-License-Identifier: MIT */
/*
 * The search of an idle worker. For a while before it sleeps, it looks at its own sources of work and at the queues of
 * the other workers.
 */
#include "base/assert.h"
#include "base/random.h"
#include "sched/balance/balance.h"
#include "sched/dispatch/dispatch.h"
#include "sched/loop/loop.h"
#include "sched/tasks/tasks.h"
#include "sched/wake/io_backpressure.h"

/* How long to search before going to sleep. The time grows while searches find work, within these limits. */
#define WEFT_SEARCH_LEAST (5 * WEFT_MICROSECOND)
#define WEFT_SEARCH_MOST (40 * WEFT_MICROSECOND)
#define WEFT_SEARCH_SCARCE 4 /* so many times as long beside other busy processes */

#define WEFT_PAUSE_MOST 32 /* about 1 us: calls of a fiber that has begun to fork should not wait for longer */

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
 * Is a search useless?
 *   - If this worker is alone, only its ring or the poller can bring the next fiber. It sleeps in its ring; or it has
 *     just asked the poller (`fetched`), and it or the poll thread sleeps there.
 *   - If worker 0 keeps up, the others take nothing from it, and the next fiber comes through this worker's ring.
 *   - During overload a search uses up the worker's share of the processors. Then the next fiber would wait for all
 *     other threads (overload.c).
 */
static bool is_in_vain(const struct weft__worker *w, bool fetched) {
    if (unlikely(load_rlx(&w->cluster->overload_rate))) return true;
    if (load_rlx(&w->cluster->wanted) == 1) return fetched || weft__uring_is_in_use(&w->ring);
    return weft__uring_is_in_use(&w->ring) && weft__keeps_up(w->cluster->workers[0], weft__clock());
}

static bool is_short_of_processors(const struct weft__worker *w, uint64_t now) {
    return weft__is_crowded(w->cluster, now) || weft__is_crowd(w->cluster, 1);
}

/* Does a running fiber have a deque? Such a fiber may fork at any moment, and does not wake a worker for each call. */
static bool some_fiber_forks(struct weft__cluster *c) {
    unsigned count = load_acq(&c->count); /* pairs with the making of a worker */
    for (unsigned i = 0; i < count; i++)
        if (load_rlx(&c->workers[i]->calls.deque)) return true;
    return load_rlx(&c->tasks.suspended) != 0;
}

/*
 * Is it time to sleep? Not while a fiber is in a queue that does not move: this worker will take it in a moment.
 *
 * If processors are scarce, that depends on the work:
 *   - If fibers fork, the search goes on as usual, because a fork does not always wake a worker.
 *   - If more workers are awake than can run, or the work is input and output, two looks are enough. The processor is
 *     of more use to the threads that have work.
 *   - If fibers wake each other, the search takes longer. The other process would get the processor for a slice of
 *     some ms, and the kernel may wake this worker on the CPU of another worker.
 */
static bool is_search_over(struct weft__worker *w, uint64_t begun, uint64_t end, uint64_t now) {
    struct weft__cluster *c = w->cluster;
    if (load_rlx(&c->stopping) || !weft__is_wanted(w)) return true;
    if (w->search.left_at == now && end > begun) return now >= begun + WEFT_SEARCH_MOST;
    if (now == begun || likely(!is_short_of_processors(w, now)) || some_fiber_forks(c)) return now >= end;
    return weft__is_crowd(c, 1) || weft__does_io(w) || now >= begun + WEFT_SEARCH_SCARCE * (end - begun);
}

/*
 * The pauses between two looks grow, and are random, so that workers do not look at the same moment.
 */
struct weft__fiber *weft__search(struct weft__worker *w, bool once) {
    WEFT_ASSERT(weft__self() == w);
    bool in_vain = !once && load_rlx(&weft__poll_duty_state) && !weft__poll_duty_fetch();
    uint64_t now = weft__clock(), begun = now, end = now + (is_in_vain(w, in_vain) ? 0 : w->search.time);
    unsigned pause = w->cluster->policy.no_backoff ? 0 : 4;
    if (w->worth.stole_at) weft__worth_judge(w, now);
    for (;;) {
        struct weft__fiber *f = own_work(w, now);
        if (!f && w->cluster->stealing) f = weft__tasks_steal_suspended(w, now);
        if (!f && w->cluster->stealing) f = weft__steal_round(w, now);
        if (f || once || is_search_over(w, begun, end, now)) {
            if (!once) search_adapt(w, f != NULL);
            return f;
        }
        if (unlikely(is_short_of_processors(w, now)) && some_fiber_forks(w->cluster))
            weft__cpu_yield(); /* perhaps to the worker that has work */
        /* Only this worker takes its mail, so looking for it disturbs no other worker. */
        for (unsigned i = pause ? weft__random_below(&w->random, pause) + pause : 0; i > 0; i--) {
            weft__cpu_pause();
            if (!weft__mailbox_is_empty(&w->mailbox)) break;
        }
        if (pause < WEFT_PAUSE_MOST) pause *= 2;
        if (unlikely(w->cluster->policy.no_backoff)) pause = 0;
        now = weft__clock();
    }
}
