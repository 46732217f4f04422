/* SPDX-License-Identifier: MIT */
/*
 * Conditions. A waiter reads the sequence number under the mutex, and waits in the lot while it is unchanged. A signal
 * changes the number and wakes one waiter. glibc serves process-shared conditions.
 */
#define _GNU_SOURCE
#include "threads/locks.h"
#include "threads/shared.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

REAL(pthread_cond_init);
REAL(pthread_cond_destroy);
REAL(pthread_cond_wait);
REAL(pthread_cond_clockwait);
REAL(pthread_cond_signal);
REAL(pthread_cond_broadcast);

struct condition {
    _Atomic uint32_t sequence, waiters;
};
enum { SHARED = 1, MONOTONIC = 2 }; /* glibc's bits of __wrefs */

static struct condition *cond_inside(pthread_cond_t *c) { return (struct condition *)(void *)c; }
static bool is_glibcs_cond(const pthread_cond_t *c) { return unlikely(c->__data.__wrefs & SHARED); }

WEFT_INTERPOSED int pthread_cond_init(pthread_cond_t *cond, const pthread_condattr_t *attr) {
    clockid_t clock = CLOCK_REALTIME;
    int shared = 0;
    if (attr) {
        pthread_condattr_getpshared(attr, &shared);
        pthread_condattr_getclock(attr, &clock);
    }
    if (shared) return real(pthread_cond_init)(cond, attr);
    memset(cond, 0, sizeof *cond);
    cond->__data.__wrefs = clock == CLOCK_MONOTONIC ? MONOTONIC : 0;
    return 0;
}

/* Waits until all woken waiters have left the condition. */
WEFT_INTERPOSED int pthread_cond_destroy(pthread_cond_t *cond) {
    unsigned turn = 0;
    if (is_glibcs_cond(cond)) return real(pthread_cond_destroy)(cond);
    weft__thread_enter();
    while (load_acq(&cond_inside(cond)->waiters)) /* pairs with cond_wait */
        if (weft__caller_parks())
            weft_yield();
        else
            weft__backoff(&turn);
    weft__thread_leave();
    return 0;
}

static int cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, uint64_t deadline) {
    struct condition *c = cond_inside(cond);
    uint32_t depth = 0;
    weft__cancel_point();
    uint32_t sequence = load_acq(&c->sequence); /* pairs with cond_notify */
    add_ar(&c->waiters, 1);
    int err = weft__mutex_release(mutex, &depth);
    if (!err)
        err = weft__lot_wait(&c->sequence, sequence, deadline, WEFT_LOT_CANCEL, weft__lot_for(WEFT_ON_COND, c));
    else {
        add_ar(&c->waiters, -1u);
        return err;
    }
    add_ar(&c->waiters, -1u); /* pairs with pthread_cond_destroy */
    weft__mutex_retake(mutex, depth);
    if (err == ECANCELED) weft__cancel_point();
    return err == ETIMEDOUT ? ETIMEDOUT : 0;
}

/* For glibc's conditions. A thread that may not wait in glibc pauses, and returns without a signal. Programs expect
 * such spurious wake-ups, and check their condition again. */
static int pause_for(pthread_mutex_t *mutex, uint64_t deadline) {
    enum { LONG = 6 };
    uint32_t depth = 0;
    unsigned turn = LONG;
    weft__cancel_point();
    int err = weft__mutex_release(mutex, &depth);
    if (err) return err;
    bool in_time = weft__shared_pause(&turn, deadline);
    err = weft__mutex_retake(mutex, depth);
    weft__cancel_point();
    return err ? err : in_time ? 0 : ETIMEDOUT;
}
#define SHARED_COND_WAIT(mutex, deadline, wait) \
    ({ \
        bool waits_ = weft__shared_begin(); \
        int result_ = waits_ ? wait : pause_for(mutex, deadline); \
        if (waits_) weft__shared_end(); \
        result_; \
    })

WEFT_INTERPOSED int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex) {
    if (is_glibcs_cond(cond)) return SHARED_COND_WAIT(mutex, WEFT_FOREVER, real(pthread_cond_wait)(cond, mutex));
    return cond_wait(cond, mutex, WEFT_FOREVER);
}
WEFT_INTERPOSED int pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock,
                                           const struct timespec *at) {
    if (weft__time_is_bad(at) || (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC)) return EINVAL;
    uint64_t deadline = weft__time_deadline(at, clock);
    if (is_glibcs_cond(cond))
        return SHARED_COND_WAIT(mutex, deadline, real(pthread_cond_clockwait)(cond, mutex, clock, at));
    return cond_wait(cond, mutex, deadline);
}
WEFT_INTERPOSED int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *at) {
    clockid_t clock = cond->__data.__wrefs & MONOTONIC ? CLOCK_MONOTONIC : CLOCK_REALTIME;
    return pthread_cond_clockwait(cond, mutex, clock, at);
}

static int cond_notify(pthread_cond_t *cond, int n) {
    struct condition *c = cond_inside(cond);
    fence_sc(); /* pairs with cond_wait: a waiter counts itself before it unlocks the mutex */
    if (!load_rlx(&c->waiters)) return 0;
    add_ar(&c->sequence, 1); /* pairs with cond_wait */
    weft__lot_wake(&c->sequence, n);
    return 0;
}
WEFT_INTERPOSED int pthread_cond_signal(pthread_cond_t *cond) {
    return is_glibcs_cond(cond) ? real(pthread_cond_signal)(cond) : cond_notify(cond, 1);
}
WEFT_INTERPOSED int pthread_cond_broadcast(pthread_cond_t *cond) {
    return is_glibcs_cond(cond) ? real(pthread_cond_broadcast)(cond) : cond_notify(cond, INT_MAX);
}
