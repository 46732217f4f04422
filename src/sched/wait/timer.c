/* SPDX-License-Identifier: MIT */
/*
 * Timers: functions that a worker calls when their time has come. See driver/wheel.h for the wheel, and
 * dispatch/timers.c for the worker that expires it.
 */
#include "sched/core/quiescence.h"
#include "sched/wait/wait.h"
#include "sched/wake/idle.h"

_Static_assert(sizeof(struct weft__timer) <= sizeof(struct weft_timer), "the public timer has room");

/* The worker for a new timer: the caller's own, or for threads any worker. */
static struct weft__worker *worker_for(void) {
    static _Atomic unsigned turn;
    struct weft__worker *w = weft__self();
    if (w) return w;
    struct weft__cluster *c = &weft__cluster;
    unsigned count = load_acq(&c->running) ? weft__cluster_ready(c) : 0; /* pairs with weft__cluster_open */
    return count ? c->workers[add_rlx(&turn, 1) % count] : NULL;
}

WEFT_PUBLIC int weft_timer_arm(struct weft_timer *timer, uint64_t deadline, void (*fn)(void *), void *arg) {
    if (!timer || !fn) return -EINVAL;
    struct weft__timer *t = (struct weft__timer *)(void *)timer;
    struct weft__worker *w = worker_for();
    if (!w) return -ESRCH;
    if (weft__timer_is_armed(t)) return -EBUSY;
    int earliest = weft__wheel_arm(&w->wheel, t, deadline, (struct weft__due){fn, arg, 0});
    if (unlikely(earliest < 0)) return earliest; /* the runtime has just been stopped */
    if (unlikely(earliest && w != weft__self())) {
        fence_sc(); /* pairs with a worker that announces its sleep: it sees the timer, or this thread wakes it */
        weft__idle_wake(w);
    }
    return 0;
}

/*
 * A worker removes expired timers from their wheels before it calls their functions (weft__expire). So a caller that
 * finds a timer removed sees an odd `expiring` at that worker, and waits until the number changes: then the function
 * has returned.
 */
static bool await_worker(struct weft__worker *w, struct weft__fiber *me) {
    uint32_t round = load_acq(&w->progress.expiring); /* pairs with weft__expire */
    uint64_t nap = 20 * WEFT_MICROSECOND;
    if (likely(!(round & 1))) return false;
    for (unsigned turn = 0; load_acq(&w->progress.expiring) == round; turn++) { /* the same */
        if (turn < 16) {
            weft_yield();
            continue;
        }
        weft__wait_nap(me, nap);
        if (nap < WEFT_MILLISECOND) nap *= 2;
    }
    return true;
}

struct awaiting {
    struct weft__fiber *me;
    bool waited;
};

static bool await_functions(struct weft__cluster *c, void *arg) {
    struct awaiting *a = arg;
    for (unsigned i = 0; i < load_acq(&c->count); i++) a->waited |= await_worker(c->workers[i], a->me);
    return true;
}

WEFT_PUBLIC int weft_timer_stop(struct weft_timer *timer) {
    struct weft__worker *w = weft__self();
    if (!timer) return -EINVAL;
    if (w && !load_rlx(&w->current)) return -EDEADLK;
    struct weft__fiber *me = weft__me();
    if (!me) return -ENOMEM;
    int result = weft_timer_cancel(timer);
    for (struct awaiting a = {me, true}; a.waited;) { /* a running function may have armed the timer again */
        a.waited = false;
        weft__each_cluster(await_functions, &a);
        if (!weft_timer_cancel(timer)) a.waited = true;
    }
    return result;
}

WEFT_PUBLIC int weft_timer_cancel(struct weft_timer *timer) {
    if (!timer) return -EINVAL;
    struct weft__timer *t = (struct weft__timer *)(void *)timer;
    struct weft__wheel *wheel = load_rlx(&t->wheel);
    if (!weft__wheel_cancel(t)) return -EALREADY;
    if (wheel == &weft__wheel_dropped) return 0;
    struct weft__worker *w = weft__self();
    if (unlikely(!w || !wheel || w->cluster != container_of(wheel, struct weft__worker, wheel)->cluster))
        weft__quiet_notify(); /* a stop or drain of the runtime may wait for this timer */
    return 0;
}
