/* SPDX-License-Identifier: MIT */
/*
 * For explorations of the scheduler: each thread drives a worker of one cluster, or none. The program includes this,
 * then the source under test; what that calls and is not explored is stubbed here, or there.
 */
#ifndef WEAK_WORKERS_H
#define WEAK_WORKERS_H

#include "weak.h"

#include "sched/core/layers.h"
#include "sched/dispatch/forking.h"
#include "sched/tasks/tasks.h"
#include "sched/wake/load.h"

#include <stdio.h>
#include <stdlib.h>

#define GHOST __attribute__((noinline, no_sanitize("thread")))

#define WORKERS 3
static struct weft__worker worker[WORKERS];
struct weft__cluster weft__cluster;
_Atomic(struct weft__cluster *) weft__clusters[WEFT_CLUSTERS_MAX];
#ifndef HAS_SLAB /* the source has it */
struct weft__slab weft__fibers = {.record_size = sizeof(struct weft__fiber)};
#endif
__thread struct weft__worker *weft__tls;
_Atomic bool weft__fence_is_symmetric;
bool (*weft__tasks_other_work)(struct weft__worker *w);
struct weft__forking weft__forking;

#define FIBERS 4
static struct weft__fiber fiber[FIBERS];

/* --- the machine underneath ----------------------------------------------------------------------------- */

void weft__fence_heavy(void) {
    if (weak_symmetric)
        fence_sc();
    else
        WEAK_FENCE_ALL("weft__fence_heavy()");
}
void weft__fence_all(void) { WEAK_FENCE_ALL("weft__fence_all()"); }
static bool deadlines_pass; /* at any moment; else time stands still */
static bool time_passes;    /* every wait with a deadline ends */
int weft__futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t deadline) {
    if (time_passes && deadline != WEFT_FOREVER) {
        weak_pause();
        return -ETIMEDOUT;
    }
    return weak_futex_wait(word, value, deadlines_pass && deadline != WEFT_FOREVER) ? -ETIMEDOUT : 0;
}
/* The event fd of the worker that sleeps in the poller; at most one worker does. */
static _Atomic uint32_t rung;
void weft__eventfd_notify(int fd) {
    (void)fd;
    store_rel(&rung, 1);
    weak_futex_wake(&rung);
}
void weft__futex_wake(_Atomic uint32_t *word, int threads) {
    (void)threads;
    weak_futex_wake(word);
}
uint64_t weft__clock(void) { return 10 * WEFT_MICROSECOND; } /* what was seen at 1 was seen a while ago */
void weft__free(void *p) { (void)p; }
void weft__context_entry(void) { abort(); }
void weft__layer_add(struct weft__layer *layer) { (void)layer; }
/* No worker is left alone because it keeps up. Such a worker is like a worker with a single fiber in its queue: it is
 * awake, and the watchman looks after it. */
bool weft__keeps_up(const struct weft__worker *w, uint64_t now) { return (void)w, (void)now, false; }
struct weft__worker *weft__host_of(struct weft__worker *w) {
    return (void)w, NULL;
}
void weft__burden_dry(struct weft__worker *w, uint64_t busy) { (void)w, (void)busy; }
void weft__burden_sleeps(struct weft__worker *w, uint64_t now) { (void)w, (void)now; }
void weft__burden_wakes(struct weft__worker *w) { (void)w; }
int weft__ready_grow(struct weft__ready *q) { return (void)q, -ENOMEM; }

/* --- setting up --------------------------------------------------------------------------------------------- */

#define RING 8
static struct {
    struct weft__ready_slots ring;
    _Atomic(void *) slot[RING];
} rings[WORKERS];
__attribute__((weak)) void *weft__alloc(size_t n) { return (void)n, NULL; }
void *weft__alloc_aligned(size_t a, size_t n) { return (void)a, (void)n, NULL; }

/* Which worker each thread drives; NULL: it is no carrier. */
static struct weft__worker *driven[THREADS];
void weak_entering(unsigned t) { weft__tls = driven[t]; }

static void set_up_workers(unsigned n) {
    struct weft__cluster *c = &weft__cluster;
    c->stealing = true;
    store_rlx(&weft__fence_is_symmetric, weak_symmetric);
    store_rlx(&c->count, n);
    store_rlx(&c->wanted, n);
    store_rlx(&c->configured, n);
    store_rlx(&c->running, true);
    store_rlx(&weft__clusters[0], c);
    store_rlx(&weft__fibers.records, FIBERS);
    store_rlx(&weft__fibers.chunk[0], (char *)fiber);
    for (unsigned i = 0; i < FIBERS; i++) {
        store_rlx(&fiber[i].slot.life, WEFT_LIFE_ONE | i);
        store_rlx(&fiber[i].context.kind, WEFT_KIND_FIBER);
    }
    for (unsigned i = 0; i < n; i++) {
        struct weft__worker *w = &worker[i];
        c->workers[i] = w;
        w->cluster = c;
        w->index = i;
        w->pace.until_poll = 1000;
        rings[i].ring.mask = RING - 1;
        store_rlx(&w->ready.slots, &rings[i].ring);
        store_rlx(&w->sharing, WEFT_SHARED);
        store_rlx(&w->wheel.next, WEFT_FOREVER);
    }
}

/* What of these is part of the state; the rest never changes. */
static void share_workers(unsigned n) {
    weak_share(&weft__cluster.count, offsetof(struct weft__cluster, workers));
    weak_share(&weft__cluster.placement, sizeof weft__cluster - offsetof(struct weft__cluster, placement));
    weak_share(fiber, sizeof fiber);
    weak_share(rings, sizeof rings);
    for (unsigned i = 0; i < n; i++) {
        weak_share(&worker[i], offsetof(struct weft__worker, cache));
        weak_share(&worker[i].progress.busy_since, sizeof worker[i].progress.busy_since);
        weak_share(&worker[i].ready, offsetof(struct weft__worker, hog) - offsetof(struct weft__worker, ready));
        weak_share(&worker[i].wheel.armed, sizeof(struct weft__wheel) - offsetof(struct weft__wheel, armed));
    }
}

#endif
