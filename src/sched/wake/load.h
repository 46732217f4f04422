/* SPDX-License-Identifier: MIT */
/*
 * How busy a worker is, and whether one worker is enough. See load.c.
 */
#ifndef WEFT_SCHED_WAKE_LOAD_H
#define WEFT_SCHED_WAKE_LOAD_H

#include "sched/core/cluster.h"
#include "sched/wake/idle.h"
#include "sched/wake/io_backpressure.h"

/* The cost of running a fiber on a core whose cache has none of its data. */
#define WEFT_CARRY (1 * WEFT_MICROSECOND)

/* A worker looks at timers, ring, mailbox and injector after this many dispatches, or after this time. */
#define WEFT_POLL_EVERY 61
#define WEFT_POLL_TIME \
    (500 * WEFT_MICROSECOND) /* with 50, requests go to the ring in smaller batches: weft serve 5.0 -> 6.1 us */

/* burden.share counts in these: all of them mean that the worker was awake all the time. */
#define WEFT_SHARES 256

/* Will the worker reach all fibers in its queue before a thief could run them? Only its carrier calls this. */
static inline bool weft__is_prompt(struct weft__worker *w) {
    return w->pace.mean_turn && weft__ready_length(&w->ready) * w->pace.mean_turn < 16 * WEFT_CARRY;
}
/* Have workers lately been ready to run without getting a processor? */
static inline bool weft__is_crowded(const struct weft__cluster *c, uint64_t now) { return now < load_rlx(&c->crowded); }
/*
 * Are at least `more` workers awake beyond the number that can run at once (run_capacity)? Waking such a worker for
 * forked calls would not pay: it would take a processor away from the workers that run the other calls. A worker that
 * blocks does not count, because the monitor adds 1 to run_capacity for it.
 */
static inline bool weft__is_crowd(const struct weft__cluster *c, unsigned more) {
    unsigned run_capacity = load_rlx(&c->run_capacity);
    return run_capacity && load_rlx(&c->count) - weft__idle_resting(load_rlx(&c->idle.state)) >= run_capacity + more;
}
/* Was the worker awake for a noticeable part of the monitor's last tick? */
static inline bool weft__has_been_awake(const struct weft__worker *w) {
    return load_rlx(&w->burden.share) >= WEFT_SHARES / 16;
}
/* Does work come from rings or the poller? Then the kernel wakes workers, and the clients need processors. */
static inline bool weft__does_io(const struct weft__worker *w) {
    return weft__uring_is_in_use(&w->ring) || weft__uring_is_in_use(&w->cluster->workers[0]->ring) ||
           weft__poll_duty_is_used();
}
/* Can the worker serve its ring without help from other workers? See load.c. */
bool weft__keeps_up(const struct weft__worker *w, uint64_t now);
/* The worker that will run the fibers whose requests have completed in the ring of w; NULL: w itself. */
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
