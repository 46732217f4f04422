/* SPDX-License-Identifier: MIT */
/*
 * How busy a worker is, and whether one worker is enough. See load.c.
 */
#ifndef WEFT_SCHED_WAKE_LOAD_H
#define WEFT_SCHED_WAKE_LOAD_H

#include "sched/core/cluster.h"
#include "sched/wake/idle.h"

/* What it costs to run a fiber on a core whose cache has nothing of it. */
#define WEFT_CARRY (1 * WEFT_MICROSECOND)

/* A worker looks at timers, ring, mailbox and injector after this many dispatches, or after this time. */
#define WEFT_POLL_EVERY 61
#define WEFT_POLL_TIME \
    (500 * WEFT_MICROSECOND) /* with 50, requests go to the ring in smaller batches: weft serve 5.0 -> 6.1 us */

/* Does the owner come to all that is queued before a thief could run it? Only the worker's carrier asks. */
static inline bool weft__is_prompt(struct weft__worker *w) {
    return w->pace.mean_turn && weft__ready_length(&w->ready) * w->pace.mean_turn < 16 * WEFT_CARRY;
}
/* Have workers been ready to run lately, and had no processor? */
static inline bool weft__is_crowded(const struct weft__cluster *c, uint64_t now) { return now < load_rlx(&c->crowded); }
/*
 * Are at least `more` workers awake beyond those that can run at once? Forked calls are not worth such a worker: it
 * would take a processor away from the workers that run the other calls. A worker that blocks does not count: the
 * monitor adds one to the capacity for it.
 */
static inline bool weft__is_crowd(const struct weft__cluster *c, unsigned more) {
    unsigned run_capacity = load_rlx(&c->run_capacity);
    return run_capacity && load_rlx(&c->count) - weft__idle_resting(load_rlx(&c->idle.state)) >= run_capacity + more;
}
/* Does the worker serve its ring alone, without help? */
bool weft__keeps_up(const struct weft__worker *w, uint64_t now);
/* The worker that is to run what the ring of w has brought; NULL: w itself. */
struct weft__worker *weft__host_of(struct weft__worker *w);
/* The worker has run dry after `busy` ns of work. */
void weft__burden_dry(struct weft__worker *w, uint64_t busy);
/* The worker has work again. */
static inline void weft__burden_busy(struct weft__worker *w) { w->burden.switches = load_rlx(&w->numbers.switches); }
/* Before and after a sleep. */
void weft__burden_sleeps(struct weft__worker *w, uint64_t now);
void weft__burden_wakes(struct weft__worker *w);
/* The monitor calls this at each tick. cpu: the CPU time that the carrier has used since its start. */
void weft__burden_look(struct weft__worker *w, uint64_t cpu, uint64_t now);

#endif
