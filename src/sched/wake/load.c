/* SPDX-License-Identifier: MIT */
/*
 * Is one worker enough? This matters for fibers that come through rings and run for moments, as in a server.
 *
 * The requests of such fibers go to the kernel in batches, and large batches are cheaper. With two workers the batches
 * are smaller, and each worker runs dry, sleeps and wakes more often. If the clients run on the same machine, they also
 * get less processor time. So a worker that keeps up is left alone. A worker keeps up if
 *
 *   - its ring is in use, and its dispatches are short, and
 *   - it has slept now and then lately, or processors are scarce: workers were ready to run and got no processor.
 *
 * No worker takes from its queue as long as the queue moves, and no other worker is woken for it. A fiber that the ring
 * of another worker makes ready goes to the first worker, if that worker keeps up and could do the work of both, or if
 * processors are scarce. The fiber stays there, because its next request goes to the first worker's ring. In all other
 * cases work is shared as usual: when dispatches are long, when a queue stands still, and when a worker never sleeps
 * although a processor is free.
 *
 * The worker times its dispatches and its sleeps. Once in a tick the monitor computes which part of the time the worker
 * slept, and how much CPU time its carrier got in the rest.
 */
#include "sched/wake/load.h"

#define WEFT_SHORT_TURN (50 * WEFT_MICROSECOND) /* as long as a wake-up takes */
#define WEFT_WINDOW (4 * WEFT_MILLISECOND)      /* the shortest time that the monitor measures: a tick */
#define WEFT_CROWDED (200 * WEFT_MILLISECOND)   /* for how long a measured shortage of processors counts */

#define WEFT_FULL (WEFT_SHARES - WEFT_SHARES / 16)      /* awake nearly all the time */
#define WEFT_ONE_WORKER (WEFT_SHARES - WEFT_SHARES / 4) /* the most that two workers do and one could do for both */

static bool is_quick(const struct weft__worker *w) {
    return weft__uring_is_in_use(&w->ring) && load_rlx(&w->burden.turn) < WEFT_SHORT_TURN;
}

bool weft__keeps_up(const struct weft__worker *w, uint64_t now) {
    return is_quick(w) && !load_rlx(&w->rescue.is_stuck) &&
           (load_rlx(&w->burden.share) < WEFT_FULL || weft__is_crowded(w->cluster, now));
}

struct weft__worker *weft__host_of(struct weft__worker *w) {
    struct weft__worker *first = w->cluster->workers[0];
    if (likely(w == first) || !w->cluster->stealing || load_rlx(&first->driver.state) != WEFT_AWAKE) return NULL;
    uint64_t now = weft__clock();
    bool comes_by = now < load_rlx(&first->progress.polled_at) + WEFT_POLL_TIME;
    bool fits = load_rlx(&first->burden.share) + load_rlx(&w->burden.share) < WEFT_ONE_WORKER;
    if (!fits && !weft__is_crowded(w->cluster, now)) return NULL;
    return comes_by && weft__keeps_up(first, now) && is_quick(w) ? first : NULL;
}

/* A single long time counts little, because the kernel may have taken the processor away for milliseconds. */
void weft__burden_dry(struct weft__worker *w, uint64_t busy) {
    struct weft__burden *b = &w->burden;
    uint64_t turns = load_rlx(&w->numbers.switches) - b->switches, old = load_rlx(&b->turn);
    uint64_t took = turns ? busy / turns : busy, most = old + old / 8 + WEFT_MICROSECOND;
    store_rlx(&b->turn, took > most ? most : (old + took) / 2);
}

void weft__burden_sleeps(struct weft__worker *w, uint64_t now) { store_rlx(&w->burden.asleep_since, now); }

void weft__burden_wakes(struct weft__worker *w) {
    struct weft__burden *b = &w->burden;
    store_rlx(&b->asleep, load_rlx(&b->asleep) + weft__clock() - load_rlx(&b->asleep_since));
    store_rlx(&b->asleep_since, 0);
}

/* How long the worker has slept until now. If it wakes up meanwhile, the result is slightly wrong, and the next look
 * corrects it. */
static uint64_t time_asleep(const struct weft__burden *b, uint64_t now) {
    return load_rlx(&b->asleep) + weft__since(load_rlx(&b->asleep_since), now);
}

void weft__burden_look(struct weft__worker *w, uint64_t cpu, uint64_t now) {
    struct weft__burden *b = &w->burden;
    uint64_t passed = now - b->seen_at;
    if (passed < WEFT_WINDOW) return;
    uint64_t slept = time_asleep(b, now), awake = passed - (slept - b->seen_asleep), ran = cpu - b->seen_cpu;
    if (awake > passed) awake = passed;
    bool first = !b->seen_at, counts = awake * 16 > passed;
    store_rlx(&b->share, first ? 0 : (unsigned)(awake * WEFT_SHARES / passed));
    if (!first && counts && ran < awake - awake / 10) store_rlx(&w->cluster->crowded, now + WEFT_CROWDED);
    b->seen_at = now;
    b->seen_asleep = slept;
    b->seen_cpu = cpu;
}
