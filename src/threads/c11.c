/* SPDX-License-Identifier: MIT */
/* The threads of C11: glibc's types are those of POSIX under other names. */
#define _GNU_SOURCE
#include "threads/threads.h"

#include <errno.h>
#include <stdlib.h>
#include <threads.h>

OURS(clock_nanosleep);
OURS(pthread_cond_broadcast);
OURS(pthread_cond_destroy);
OURS(pthread_cond_init);
OURS(pthread_cond_signal);
OURS(pthread_cond_timedwait);
OURS(pthread_cond_wait);
OURS(pthread_create);
OURS(pthread_detach);
extern void __real_pthread_exit(void *) __attribute__((noreturn));
OURS(pthread_join);
OURS(pthread_mutex_destroy);
OURS(pthread_mutex_init);
OURS(pthread_mutex_lock);
OURS(pthread_mutex_timedlock);
OURS(pthread_mutex_trylock);
OURS(pthread_mutex_unlock);
OURS(pthread_once);
OURS(sched_yield);

static int c11_result_of(int err) {
    switch (err) {
    case 0: return thrd_success;
    case ENOMEM: return thrd_nomem;
    case ETIMEDOUT: return thrd_timedout;
    case EBUSY: return thrd_busy;
    default: return thrd_error;
    }
}

struct start {
    thrd_start_t fn;
    void *arg;
};

static void *c11_begin(void *arg) {
    struct start s = *(struct start *)arg;
    free(arg);
    return (void *)(intptr_t)s.fn(s.arg);
}

WEFT_INTERPOSED int thrd_create(thrd_t *thread, thrd_start_t fn, void *arg) {
    struct start *s = (struct start *)malloc(sizeof *s);
    if (!s) return thrd_nomem;
    *s = (struct start){fn, arg};
    int err = ours(pthread_create)(thread, NULL, c11_begin, s);
    if (err) free(s);
    return err == EAGAIN ? thrd_nomem : c11_result_of(err);
}
WEFT_INTERPOSED void thrd_exit(int result) { ours(pthread_exit)((void *)(intptr_t)result); }
WEFT_INTERPOSED int thrd_detach(thrd_t thread) { return c11_result_of(ours(pthread_detach)(thread)); }
WEFT_INTERPOSED int thrd_join(thrd_t thread, int *result) {
    void *value;
    int err = ours(pthread_join)(thread, &value);
    if (!err && result) *result = (int)(intptr_t)value;
    return c11_result_of(err);
}
WEFT_INTERPOSED void thrd_yield(void) { ours(sched_yield)(); }
WEFT_INTERPOSED int thrd_sleep(const struct timespec *time, struct timespec *left) {
    int err = ours(clock_nanosleep)(CLOCK_REALTIME, 0, time, left);
    return !err ? 0 : err == EINTR ? -1 : -2;
}

WEFT_INTERPOSED int mtx_init(mtx_t *mutex, int type) {
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, type & mtx_recursive ? PTHREAD_MUTEX_RECURSIVE : PTHREAD_MUTEX_NORMAL);
    return c11_result_of(ours(pthread_mutex_init)((pthread_mutex_t *)mutex, &attr));
}
WEFT_INTERPOSED void mtx_destroy(mtx_t *mutex) { ours(pthread_mutex_destroy)((pthread_mutex_t *)mutex); }
WEFT_INTERPOSED int mtx_lock(mtx_t *mutex) { return c11_result_of(ours(pthread_mutex_lock)((pthread_mutex_t *)mutex)); }
WEFT_INTERPOSED int mtx_trylock(mtx_t *mutex) {
    return c11_result_of(ours(pthread_mutex_trylock)((pthread_mutex_t *)mutex));
}
WEFT_INTERPOSED int mtx_unlock(mtx_t *mutex) {
    return c11_result_of(ours(pthread_mutex_unlock)((pthread_mutex_t *)mutex));
}
WEFT_INTERPOSED int mtx_timedlock(mtx_t *mutex, const struct timespec *at) {
    return c11_result_of(ours(pthread_mutex_timedlock)((pthread_mutex_t *)mutex, at));
}

WEFT_INTERPOSED int cnd_init(cnd_t *cond) {
    return c11_result_of(ours(pthread_cond_init)((pthread_cond_t *)cond, NULL));
}
WEFT_INTERPOSED void cnd_destroy(cnd_t *cond) { ours(pthread_cond_destroy)((pthread_cond_t *)cond); }
WEFT_INTERPOSED int cnd_signal(cnd_t *cond) { return c11_result_of(ours(pthread_cond_signal)((pthread_cond_t *)cond)); }
WEFT_INTERPOSED int cnd_broadcast(cnd_t *cond) {
    return c11_result_of(ours(pthread_cond_broadcast)((pthread_cond_t *)cond));
}
WEFT_INTERPOSED int cnd_wait(cnd_t *cond, mtx_t *mutex) {
    return c11_result_of(ours(pthread_cond_wait)((pthread_cond_t *)cond, (pthread_mutex_t *)mutex));
}
WEFT_INTERPOSED int cnd_timedwait(cnd_t *cond, mtx_t *mutex, const struct timespec *at) {
    return c11_result_of(ours(pthread_cond_timedwait)((pthread_cond_t *)cond, (pthread_mutex_t *)mutex, at));
}
WEFT_INTERPOSED void call_once(once_flag *flag, void (*fn)(void)) { ours(pthread_once)((pthread_once_t *)flag, fn); }
