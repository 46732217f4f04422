/* SPDX-License-Identifier: MIT */
/*
 * Reader-writer locks: a small lock protects a count of readers and the writer. Threads that must wait do so until the
 * next change. glibc serves process-shared locks.
 */
#define _GNU_SOURCE
#include "threads/shared.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

REAL(pthread_rwlock_init);
REAL(pthread_rwlock_destroy);
REAL(pthread_rwlock_rdlock);
REAL(pthread_rwlock_wrlock);
REAL(pthread_rwlock_tryrdlock);
REAL(pthread_rwlock_trywrlock);
REAL(pthread_rwlock_clockrdlock);
REAL(pthread_rwlock_clockwrlock);
REAL(pthread_rwlock_unlock);

struct rwlock {
    struct weft__lock lock;
    uint32_t readers;
    uint32_t writers_waiting;
    _Atomic uint32_t changes;
    uintptr_t writer; /* weft__caller */
};
_Static_assert(sizeof(struct rwlock) <= offsetof(pthread_rwlock_t, __data.__shared), "glibc's fields stay");

static struct rwlock *rwlock_inside(pthread_rwlock_t *l) { return (struct rwlock *)(void *)l; }
static bool is_glibcs_rwlock(const pthread_rwlock_t *l) { return unlikely(l->__data.__shared); }

static void rwlock_begin(struct rwlock *r) {
    weft__thread_enter();
    weft__lock(&r->lock);
}
static void rwlock_end(struct rwlock *r) {
    weft__unlock(&r->lock);
    weft__thread_leave();
}

static bool may_take(const pthread_rwlock_t *l, const struct rwlock *r, bool writes) {
    if (r->writer) return false;
    if (writes) return !r->readers;
    return !r->writers_waiting || l->__data.__flags != PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP;
}

static void rwlock_enter(struct rwlock *r, bool writes) {
    if (writes)
        r->writer = weft__caller();
    else
        r->readers++;
}

/* Locks. A deadline of 0 means not to wait. */
static int rwlock_acquire(pthread_rwlock_t *l, bool writes, uint64_t deadline) {
    struct rwlock *r = rwlock_inside(l);
    int err = 0;
    rwlock_begin(r);
    if (r->writer == weft__caller()) {
        rwlock_end(r);
        return deadline ? EDEADLK : EBUSY;
    }
    if (writes) r->writers_waiting++;
    while (!may_take(l, r, writes) && !err) {
        uint32_t changes = load_rlx(&r->changes);
        if (!deadline) {
            err = EBUSY;
            break;
        }
        rwlock_end(r);
        err = weft__lot_wait(
            &r->changes, changes, deadline, WEFT_LOT_PLAIN,
            (struct weft__lot_object){weft__for(writes ? WEFT_ON_WRITE : WEFT_ON_READ, r), &r->writer, &r->readers});
        rwlock_begin(r);
        if (err && may_take(l, r, writes)) err = 0;
    }
    if (writes) r->writers_waiting--;
    if (!err) rwlock_enter(r, writes);
    bool gave_up = err && writes; /* readers that waited for this writer go on */
    if (gave_up) add_rlx(&r->changes, 1);
    rwlock_end(r);
    if (gave_up) weft__lot_wake(&r->changes, INT_MAX);
    return err;
}

static int lock_by(pthread_rwlock_t *l, bool writes, clockid_t clock, const struct timespec *at) {
    if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC) return EINVAL;
    int err = rwlock_acquire(l, writes, 0);
    if (err != EBUSY) return err;
    if (weft__time_is_bad(at)) return EINVAL;
    return rwlock_acquire(l, writes, weft__time_deadline(at, clock));
}

/* Makes an attempt to lock a lock that glibc serves. */
static int rwlock_try_shared(pthread_rwlock_t *l, bool writes) {
    return writes ? real(pthread_rwlock_trywrlock)(l) : real(pthread_rwlock_tryrdlock)(l);
}
static int rwlock_lock_shared(pthread_rwlock_t *l, bool writes) {
    return SHARED_WAIT(WEFT_FOREVER, writes ? real(pthread_rwlock_wrlock)(l) : real(pthread_rwlock_rdlock)(l),
                       rwlock_try_shared(l, writes), EBUSY);
}
static int lock_shared_by(pthread_rwlock_t *l, bool writes, clockid_t clock, const struct timespec *at) {
    __typeof__(pthread_rwlock_clockrdlock) *wait =
        writes ? real(pthread_rwlock_clockwrlock) : real(pthread_rwlock_clockrdlock);
    if (weft__time_is_bad(at)) return wait(l, clock, at);
    return SHARED_WAIT(weft__time_deadline(at, clock), wait(l, clock, at), rwlock_try_shared(l, writes), EBUSY);
}

WEFT_INTERPOSED int pthread_rwlock_init(pthread_rwlock_t *l, const pthread_rwlockattr_t *attr) {
    int shared = 0, kind = 0;
    if (attr) {
        pthread_rwlockattr_getpshared(attr, &shared);
        pthread_rwlockattr_getkind_np(attr, &kind);
    }
    if (shared) return real(pthread_rwlock_init)(l, attr);
    memset(l, 0, sizeof *l);
    l->__data.__flags = (unsigned)kind;
    return 0;
}
WEFT_INTERPOSED int pthread_rwlock_destroy(pthread_rwlock_t *l) {
    return is_glibcs_rwlock(l) ? real(pthread_rwlock_destroy)(l) : 0;
}
WEFT_INTERPOSED int pthread_rwlock_rdlock(pthread_rwlock_t *l) {
    return is_glibcs_rwlock(l) ? rwlock_lock_shared(l, false) : rwlock_acquire(l, false, WEFT_FOREVER);
}
WEFT_INTERPOSED int pthread_rwlock_wrlock(pthread_rwlock_t *l) {
    return is_glibcs_rwlock(l) ? rwlock_lock_shared(l, true) : rwlock_acquire(l, true, WEFT_FOREVER);
}
WEFT_INTERPOSED int pthread_rwlock_tryrdlock(pthread_rwlock_t *l) {
    return is_glibcs_rwlock(l) ? real(pthread_rwlock_tryrdlock)(l) : rwlock_acquire(l, false, 0);
}
WEFT_INTERPOSED int pthread_rwlock_trywrlock(pthread_rwlock_t *l) {
    return is_glibcs_rwlock(l) ? real(pthread_rwlock_trywrlock)(l) : rwlock_acquire(l, true, 0);
}
WEFT_INTERPOSED int pthread_rwlock_timedrdlock(pthread_rwlock_t *l, const struct timespec *at) {
    return is_glibcs_rwlock(l) ? lock_shared_by(l, false, CLOCK_REALTIME, at) : lock_by(l, false, CLOCK_REALTIME, at);
}
WEFT_INTERPOSED int pthread_rwlock_timedwrlock(pthread_rwlock_t *l, const struct timespec *at) {
    return is_glibcs_rwlock(l) ? lock_shared_by(l, true, CLOCK_REALTIME, at) : lock_by(l, true, CLOCK_REALTIME, at);
}
WEFT_INTERPOSED int pthread_rwlock_clockrdlock(pthread_rwlock_t *l, clockid_t clock, const struct timespec *at) {
    return is_glibcs_rwlock(l) ? lock_shared_by(l, false, clock, at) : lock_by(l, false, clock, at);
}
WEFT_INTERPOSED int pthread_rwlock_clockwrlock(pthread_rwlock_t *l, clockid_t clock, const struct timespec *at) {
    return is_glibcs_rwlock(l) ? lock_shared_by(l, true, clock, at) : lock_by(l, true, clock, at);
}
WEFT_INTERPOSED int pthread_rwlock_unlock(pthread_rwlock_t *l) {
    struct rwlock *r = rwlock_inside(l);
    if (is_glibcs_rwlock(l)) return real(pthread_rwlock_unlock)(l);
    rwlock_begin(r);
    bool held = r->writer ? r->writer == weft__caller() : r->readers > 0;
    if (held && r->writer)
        r->writer = 0;
    else if (held)
        r->readers--;
    bool is_free = held && !r->readers;
    if (is_free) add_rlx(&r->changes, 1);
    rwlock_end(r);
    if (is_free) weft__lot_wake(&r->changes, INT_MAX);
    return held ? 0 : EPERM;
}
