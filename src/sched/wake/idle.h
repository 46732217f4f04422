/* SPDX-License-Identifier: MIT */
/*
 * Sleepers and searchers of a cluster, and waking a sleeper. The handshake is explained in idle.c.
 */
#ifndef WEFT_SCHED_WAKE_IDLE_H
#define WEFT_SCHED_WAKE_IDLE_H

#include "sched/core/cluster.h"

/* idle.state: the numbers of sleepers, searchers and retired workers, and whether there is a watchman. */
#define WEFT_IDLE_SLEEPER UINT64_C(1)
#define WEFT_IDLE_SLEEPERS UINT64_C(0xffff)
#define WEFT_IDLE_SEARCHER UINT64_C(0x10000)
#define WEFT_IDLE_SEARCHERS UINT64_C(0xffff0000)
#define WEFT_IDLE_WATCHED (UINT64_C(1) << 32)
#define WEFT_IDLE_RETIREE (UINT64_C(1) << 33)
#define WEFT_IDLE_RETIREES (UINT64_C(0xffff) << 33)

static inline unsigned weft__idle_sleepers(uint64_t state) { return (unsigned)(state & WEFT_IDLE_SLEEPERS); }
static inline unsigned weft__idle_retirees(uint64_t state) {
    return (unsigned)((state & WEFT_IDLE_RETIREES) / WEFT_IDLE_RETIREE);
}
/* Workers that sleep, idle or retired. */
static inline unsigned weft__idle_resting(uint64_t state) {
    return weft__idle_sleepers(state) + weft__idle_retirees(state);
}

/* --- for threads that have made work visible ----------------------------------------------------- */

/* Wakes one sleeper, unless a worker already searches. */
void weft__idle_wake_one(struct weft__cluster *c);
/* Wakes the most recent sleeper that takes calls, if calls wait for it. */
void weft__idle_wake_taker(struct weft__cluster *c, bool (*calls_wait)(struct weft__worker *));
/* A worker retires: wakes the most recent sleeper, if work waits for it. */
void weft__idle_wake_successor(struct weft__cluster *c, bool (*work_waits)(struct weft__worker *));
/* Wakes this worker, if it sleeps. */
void weft__idle_wake(struct weft__worker *w);
/* The worker has pushed work, and there are sleepers: is it worth waking one? fresh: a fiber that has not run yet. */
void weft__idle_consider(struct weft__worker *w, uint64_t state, bool fresh);

static inline void weft__notify_of(struct weft__worker *w, bool fresh) {
    if (load_rlx(&w->ready.alone) == WEFT_ALONE) return; /* there is no worker to wake */
    /* Light: pairs with the heavy fence of a worker that announces its sleep; see idle.c. */
    weft__fence_light();
    uint64_t state = load_rlx(&w->cluster->idle.state);
    if (unlikely(state & WEFT_IDLE_SLEEPERS)) weft__idle_consider(w, state, fresh);
}
/* The worker has pushed work that may take long. */
static inline void weft__notify(struct weft__worker *w) { weft__notify_of(w, true); }
/* The worker has pushed fibers that have run before. */
static inline void weft__notify_woken(struct weft__worker *w) { weft__notify_of(w, false); }

/* --- for the worker itself ------------------------------------------------------------------------ */

/* False: enough workers search already. */
bool weft__idle_start_searching(struct weft__worker *w);
void weft__idle_stop_searching(struct weft__worker *w);
/* Step 1 of the handshake: the worker becomes a sleeper. Says whether it became the watchman, too, and whether it was
 * the last worker that was awake. */
void weft__idle_announce_sleep(struct weft__worker *w, bool *is_watchman, bool *is_last);
/* The worker is awake again. */
void weft__idle_leave(struct weft__worker *w);
/* The same for a worker that retires. True: no other worker is awake. */
bool weft__idle_announce_retirement(struct weft__worker *w);
void weft__idle_leave_retirement(struct weft__worker *w);

#endif
