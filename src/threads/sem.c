/* SPDX-License-Identifier: MIT */
/*
 * Semaphores. Our own are those that sem_init has made for this process; they have a mark. glibc serves named and
 * process-shared semaphores.
 */
#define _GNU_SOURCE
#include "threads/shared.h"

#include <errno.h>
#include <limits.h>
#include <semaphore.h>
#include <string.h>

REAL(sem_init);
REAL(sem_destroy);
REAL(sem_wait);
REAL(sem_trywait);
REAL(sem_clockwait);
REAL(sem_post);
REAL(sem_getvalue);

struct semaphore {
    _Atomic uint32_t value;
    uint32_t unused[5];
    uint64_t mark;
};
#define MARK UINT64_C(0x77656674207365d6)
_Static_assert(sizeof(struct semaphore) <= sizeof(sem_t), "fits");

static struct semaphore *semaphore_inside(sem_t *s) { return (struct semaphore *)(void *)s; }
static bool is_glibcs_semaphore(sem_t *s) { return unlikely(semaphore_inside(s)->mark != MARK); }

static int semaphore_fail(int err) {
    errno = err;
    return -1;
}

static bool semaphore_take(struct semaphore *s) {
    uint32_t value = load_rlx(&s->value);
    while (value)
        if (cas_ar(&s->value, &value, value - 1)) return true; /* pairs with sem_post */
    return false;
}

static int semaphore_wait(struct semaphore *s, uint64_t deadline) {
    weft__cancel_point();
    while (!semaphore_take(s)) {
        int err =
            weft__lot_wait(&s->value, 0, deadline, WEFT_LOT_CANCEL | WEFT_LOT_SIGNAL, weft__lot_for(WEFT_ON_SEM, s));
        if (err == ECANCELED) weft__cancel_point();
        if (err == EINTR || err == ETIMEDOUT) return semaphore_fail(err);
    }
    return 0;
}

static int semaphore_wait_until(struct semaphore *s, clockid_t clock, const struct timespec *at) {
    if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC) return semaphore_fail(EINVAL);
    if (semaphore_take(s)) return 0;
    return weft__time_is_bad(at) ? semaphore_fail(EINVAL) : semaphore_wait(s, weft__time_deadline(at, clock));
}

/* Makes an attempt to take a unit of a semaphore that glibc serves. */
static int semaphore_try_shared(sem_t *sem) { return real(sem_trywait)(sem) ? errno : 0; }
static int wait_shared(sem_t *sem) {
    int err = SHARED_WAIT(WEFT_FOREVER, real(sem_wait)(sem) ? errno : 0, semaphore_try_shared(sem), EAGAIN);
    return err ? semaphore_fail(err) : 0;
}
static int wait_shared_until(sem_t *sem, clockid_t clock, const struct timespec *at) {
    if (weft__time_is_bad(at)) return real(sem_clockwait)(sem, clock, at);
    int err = SHARED_WAIT(weft__time_deadline(at, clock), real(sem_clockwait)(sem, clock, at) ? errno : 0,
                          semaphore_try_shared(sem), EAGAIN);
    return err ? semaphore_fail(err) : 0;
}

WEFT_INTERPOSED int sem_init(sem_t *sem, int shared, unsigned value) {
    if (shared) {
        memset(sem, 0, sizeof *sem);
        return real(sem_init)(sem, shared, value);
    }
    if (value > INT_MAX) return semaphore_fail(EINVAL);
    *semaphore_inside(sem) = (struct semaphore){.mark = MARK};
    store_rlx(&semaphore_inside(sem)->value, value);
    return 0;
}
WEFT_INTERPOSED int sem_destroy(sem_t *sem) {
    if (is_glibcs_semaphore(sem)) return real(sem_destroy)(sem);
    semaphore_inside(sem)->mark = 0;
    return 0;
}
WEFT_INTERPOSED int sem_wait(sem_t *sem) {
    return is_glibcs_semaphore(sem) ? wait_shared(sem) : semaphore_wait(semaphore_inside(sem), WEFT_FOREVER);
}
WEFT_INTERPOSED int sem_trywait(sem_t *sem) {
    if (is_glibcs_semaphore(sem)) return real(sem_trywait)(sem);
    return semaphore_take(semaphore_inside(sem)) ? 0 : semaphore_fail(EAGAIN);
}
WEFT_INTERPOSED int sem_timedwait(sem_t *sem, const struct timespec *at) {
    return is_glibcs_semaphore(sem) ? wait_shared_until(sem, CLOCK_REALTIME, at)
                                    : semaphore_wait_until(semaphore_inside(sem), CLOCK_REALTIME, at);
}
WEFT_INTERPOSED int sem_clockwait(sem_t *sem, clockid_t clock, const struct timespec *at) {
    return is_glibcs_semaphore(sem) ? wait_shared_until(sem, clock, at)
                                    : semaphore_wait_until(semaphore_inside(sem), clock, at);
}
WEFT_INTERPOSED int sem_post(sem_t *sem) {
    struct semaphore *s = semaphore_inside(sem);
    if (is_glibcs_semaphore(sem)) return real(sem_post)(sem);
    uint32_t value = load_rlx(&s->value);
    do
        if (value == INT_MAX) return semaphore_fail(EOVERFLOW);
    /* Pairs with semaphore_take. From here on the semaphore may no longer exist. */
    while (!cas_ar(&s->value, &value, value + 1));
    weft__lot_wake(&s->value, 1);
    return 0;
}
WEFT_INTERPOSED int sem_getvalue(sem_t *sem, int *value) {
    if (is_glibcs_semaphore(sem)) return real(sem_getvalue)(sem, value);
    *value = (int)load_rlx(&semaphore_inside(sem)->value);
    return 0;
}
