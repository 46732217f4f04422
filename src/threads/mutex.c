/* SPDX-License-Identifier: MIT */
/*
 * Mutexes, in the program's pthread_mutex_t. The kind is where glibc has it, so all static initialisers work. The lock
 * word is 0: free, 1: held, or 2: held, and threads may wait. glibc serves process-shared and robust mutexes.
 * Priorities have no effect on fibers, so priority protocols are accepted and ignored. Threads that wait say where the
 * owner is, so `weft dump` shows it.
 */
#define _GNU_SOURCE
#include "threads/locks.h"
#include "threads/shared.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

REAL(pthread_mutex_init);
REAL(pthread_mutex_destroy);
REAL(pthread_mutex_lock);
REAL(pthread_mutex_trylock);
REAL(pthread_mutex_clocklock);
REAL(pthread_mutex_unlock);
REAL(pthread_mutex_getprioceiling);
REAL(pthread_mutex_setprioceiling);
OURS(gettid);

enum { FREE, HELD, CONTENDED };
enum { ROBUST = 16, INHERIT = 32, PROTECT = 64, SHARED = 128 }; /* glibc's bits of the kind */
enum { SPINS = 40, CEILING_LEAST = 1, CEILING_MOST = 99 };

struct mutex {
    _Atomic uint32_t lock;
    uint32_t depth; /* how often the owner has locked a recursive mutex, minus one */
    uint32_t unused[2];
    int kind;
    int ceiling;
    _Atomic uintptr_t owner; /* weft__caller */
};
_Static_assert(sizeof(struct mutex) <= sizeof(pthread_mutex_t), "fits");
_Static_assert(offsetof(struct mutex, kind) == offsetof(pthread_mutex_t, __data.__kind), "glibc's offset of the kind");

static struct mutex *mutex_inside(pthread_mutex_t *m) { return (struct mutex *)(void *)m; }
static bool is_glibcs_mutex(const struct mutex *m) { return unlikely(m->kind & (ROBUST | SHARED)); }
static int type_of(const struct mutex *m) { return m->kind & 3; }

static bool try_lock(struct mutex *m) {
    uint32_t is = FREE;
    if (!cas_ar(&m->lock, &is, HELD)) return false; /* pairs with unlock */
    store_rlx(&m->owner, weft__caller());
    return true;
}

static WEFT_NOINLINE int lock_slowly(struct mutex *m, uint64_t deadline) {
    for (int i = 0; i < SPINS; i++) {
        if (load_rlx(&m->lock) == FREE && try_lock(m)) return 0;
        weft__cpu_pause();
    }
    int until = weft__cancel_is_async() ? WEFT_LOT_CANCEL : WEFT_LOT_PLAIN;
    while (atomic_exchange_explicit(&m->lock, CONTENDED, memory_order_acquire) != FREE) { /* pairs with unlock */
        int err = weft__lot_wait(&m->lock, CONTENDED, deadline, until, weft__lot_owned(WEFT_ON_MUTEX, m, &m->owner));
        if (err == ECANCELED) weft__cancel_point();
        if (err == ETIMEDOUT) return err;
    }
    store_rlx(&m->owner, weft__caller());
    return 0;
}

static int lock_again(struct mutex *m, bool tries) {
    if (type_of(m) == PTHREAD_MUTEX_RECURSIVE) {
        if (m->depth == UINT32_MAX) return EAGAIN;
        m->depth++;
        return 0;
    }
    if (tries) return EBUSY;
    return type_of(m) == PTHREAD_MUTEX_ERRORCHECK ? EDEADLK : -1;
}

static int lock_until(struct mutex *m, uint64_t deadline) {
    if (likely(try_lock(m))) return 0;
    int err = load_rlx(&m->owner) == weft__caller() ? lock_again(m, false) : -1;
    return err >= 0 ? err : lock_slowly(m, deadline);
}

static int mutex_unlock(struct mutex *m) {
    int type = type_of(m);
    if (unlikely(type == PTHREAD_MUTEX_RECURSIVE || type == PTHREAD_MUTEX_ERRORCHECK)) {
        if (load_rlx(&m->lock) == FREE || load_rlx(&m->owner) != weft__caller()) return EPERM;
        if (m->depth) {
            m->depth--;
            return 0;
        }
    }
    store_rlx(&m->owner, 0);
    if (atomic_exchange_explicit(&m->lock, FREE, memory_order_release) == CONTENDED) /* pairs with try_lock */
        weft__lot_wake(&m->lock, 1);
    return 0;
}

/* --- glibc's mutexes -------------------------------------------------------------------------------------- */

/* Locks a mutex that the caller already holds. The kind decides what happens. */
static int mutex_try_shared(pthread_mutex_t *mutex) {
    int err = real(pthread_mutex_trylock)(mutex);
    return err == EBUSY && mutex->__data.__owner == ours(gettid)() ? real(pthread_mutex_lock)(mutex) : err;
}
static int mutex_lock_shared(pthread_mutex_t *mutex) {
    return SHARED_WAIT(WEFT_FOREVER, real(pthread_mutex_lock)(mutex), mutex_try_shared(mutex), EBUSY);
}
static int lock_shared_until(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *at) {
    if (weft__time_is_bad(at)) return real(pthread_mutex_clocklock)(mutex, clock, at);
    return SHARED_WAIT(weft__time_deadline(at, clock), real(pthread_mutex_clocklock)(mutex, clock, at),
                       mutex_try_shared(mutex), EBUSY);
}

/* --- for conditions ------------------------------------------------------------------------------------ */

bool weft__mutex_is_ours(pthread_mutex_t *mutex) { return !is_glibcs_mutex(mutex_inside(mutex)); }

int weft__mutex_release(pthread_mutex_t *mutex, uint32_t *depth) {
    struct mutex *m = mutex_inside(mutex);
    if (is_glibcs_mutex(m)) return real(pthread_mutex_unlock)(mutex);
    if (type_of(m) == PTHREAD_MUTEX_ERRORCHECK && load_rlx(&m->owner) != weft__caller()) return EPERM;
    *depth = m->depth;
    m->depth = 0;
    return mutex_unlock(m);
}

int weft__mutex_retake(pthread_mutex_t *mutex, uint32_t depth) {
    struct mutex *m = mutex_inside(mutex);
    if (is_glibcs_mutex(m)) return mutex_lock_shared(mutex);
    if (!try_lock(m)) lock_slowly(m, WEFT_FOREVER);
    m->depth = depth;
    return 0;
}

/* --- the calls ------------------------------------------------------------------------------------------ */

WEFT_INTERPOSED int pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attr) {
    int type = PTHREAD_MUTEX_DEFAULT, shared = 0, robust = 0, protocol = 0, ceiling = 0;
    if (attr) {
        pthread_mutexattr_gettype(attr, &type);
        pthread_mutexattr_getpshared(attr, &shared);
        pthread_mutexattr_getrobust(attr, &robust);
        pthread_mutexattr_getprotocol(attr, &protocol);
        if (protocol == PTHREAD_PRIO_PROTECT) pthread_mutexattr_getprioceiling(attr, &ceiling);
    }
    if (shared || robust) return real(pthread_mutex_init)(mutex, attr);
    memset(mutex, 0, sizeof *mutex);
    mutex_inside(mutex)->kind = type | (protocol == PTHREAD_PRIO_PROTECT ? PROTECT : 0);
    mutex_inside(mutex)->ceiling = ceiling;
    return 0;
}
WEFT_INTERPOSED int pthread_mutex_destroy(pthread_mutex_t *mutex) {
    if (is_glibcs_mutex(mutex_inside(mutex))) return real(pthread_mutex_destroy)(mutex);
    return load_rlx(&mutex_inside(mutex)->lock) == FREE ? 0 : EBUSY;
}
WEFT_INTERPOSED int pthread_mutex_lock(pthread_mutex_t *mutex) {
    struct mutex *m = mutex_inside(mutex);
    return is_glibcs_mutex(m) ? mutex_lock_shared(mutex) : lock_until(m, WEFT_FOREVER);
}
WEFT_INTERPOSED int pthread_mutex_trylock(pthread_mutex_t *mutex) {
    struct mutex *m = mutex_inside(mutex);
    if (is_glibcs_mutex(m)) return real(pthread_mutex_trylock)(mutex);
    if (try_lock(m)) return 0;
    return load_rlx(&m->owner) == weft__caller() ? lock_again(m, true) : EBUSY;
}
WEFT_INTERPOSED int pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *at) {
    struct mutex *m = mutex_inside(mutex);
    if (is_glibcs_mutex(m)) return lock_shared_until(mutex, clock, at);
    if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC) return EINVAL;
    if (try_lock(m)) return 0;
    int err = load_rlx(&m->owner) == weft__caller() ? lock_again(m, false) : -1;
    if (err >= 0) return err;
    return weft__time_is_bad(at) ? EINVAL : lock_slowly(m, weft__time_deadline(at, clock));
}
WEFT_INTERPOSED int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *at) {
    return pthread_mutex_clocklock(mutex, CLOCK_REALTIME, at);
}
WEFT_INTERPOSED int pthread_mutex_unlock(pthread_mutex_t *mutex) {
    struct mutex *m = mutex_inside(mutex);
    return is_glibcs_mutex(m) ? real(pthread_mutex_unlock)(mutex) : mutex_unlock(m);
}
WEFT_INTERPOSED int pthread_mutex_getprioceiling(const pthread_mutex_t *mutex, int *ceiling) {
    const struct mutex *m = (const struct mutex *)(const void *)mutex;
    if (is_glibcs_mutex(m)) return real(pthread_mutex_getprioceiling)(mutex, ceiling);
    if (!(m->kind & PROTECT)) return EINVAL;
    *ceiling = m->ceiling;
    return 0;
}
WEFT_INTERPOSED int pthread_mutex_setprioceiling(pthread_mutex_t *mutex, int ceiling, int *before) {
    struct mutex *m = mutex_inside(mutex);
    if (is_glibcs_mutex(m)) return real(pthread_mutex_setprioceiling)(mutex, ceiling, before);
    if (!(m->kind & PROTECT) || ceiling < CEILING_LEAST || ceiling > CEILING_MOST) return EINVAL;
    *before = m->ceiling;
    m->ceiling = ceiling;
    return 0;
}
