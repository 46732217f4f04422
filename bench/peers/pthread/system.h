/* SPDX-License-Identifier: MIT */
/*
 * The system under the shared benchmarks: kernel threads. tools/bench/weft/system.h explains the names.
 */
#ifndef BENCH_SYSTEM_H
#define BENCH_SYSTEM_H

#include "measure.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

struct sys_fiber {
    pthread_t thread;
};

/* Spawns a thread with a stack as large as that of a weft fiber. */
void sys_spawn(struct sys_fiber *fiber, void *(*fn)(void *), void *p);

static inline void sys_join(struct sys_fiber *fiber) { must(-pthread_join(fiber->thread, NULL), "pthread_join"); }

static inline void sys_yield(void) { sched_yield(); }

static inline void sys_sleep(uint64_t nanoseconds) { pause_ns(nanoseconds); }

/* 1: the permit is there. A plain futex, because nothing is cheaper. */
struct sys_permit {
    int there;
};

static inline void sys_permit_init(struct sys_permit *permit) { permit->there = 0; }
static inline void sys_permit_bind(struct sys_permit *permit, const struct sys_fiber *fiber) {
    (void)permit;
    (void)fiber;
}

static inline void sys_permit_wait(struct sys_permit *permit) {
    while (!__atomic_exchange_n(&permit->there, 0, __ATOMIC_ACQUIRE))
        syscall(SYS_futex, &permit->there, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}

static inline void sys_permit_give(struct sys_permit *permit) {
    if (!__atomic_exchange_n(&permit->there, 1, __ATOMIC_RELEASE))
        syscall(SYS_futex, &permit->there, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/*
 * A semaphore that gives to the first waiter, like those of weft, Go and Boost. With sem_t a thread could take back
 * what it has just posted, and churn would never block.
 */
struct sys_waiter {
    struct sys_permit permit;
    struct sys_waiter *next;
};

struct sys_sem {
    pthread_mutex_t lock;
    uint64_t value;
    struct sys_waiter *first, *last;
};

void sys_sem_init(struct sys_sem *sem, uint64_t value);
void sys_sem_wait(struct sys_sem *sem);
void sys_sem_post(struct sys_sem *sem);
uint64_t sys_sem_drain(struct sys_sem *sem);

struct sys_mutex {
    pthread_mutex_t mutex;
};

static inline void sys_mutex_init(struct sys_mutex *mutex) { pthread_mutex_init(&mutex->mutex, NULL); }
static inline void sys_mutex_lock(struct sys_mutex *mutex) { must(-pthread_mutex_lock(&mutex->mutex), "lock"); }
static inline void sys_mutex_unlock(struct sys_mutex *mutex) { must(-pthread_mutex_unlock(&mutex->mutex), "unlock"); }
/* A queue with a mutex and two conditions. Without a buffer, the sender waits until its item was taken. */
struct sys_chan {
    pthread_mutex_t lock;
    pthread_cond_t not_full, not_empty, taken;
    uint64_t *room;
    size_t size, first, count;
    uint64_t sends, receives; /* so far */
    bool meets, closed;
};

void sys_chan_init(struct sys_chan *chan, size_t capacity);
void sys_chan_end(struct sys_chan *chan);
void sys_chan_send(struct sys_chan *chan, uint64_t number);
bool sys_chan_recv(struct sys_chan *chan, uint64_t *number);
void sys_chan_close(struct sys_chan *chan);

struct sys_rwlock {
    pthread_rwlock_t lock;
};

static inline void sys_rwlock_init(struct sys_rwlock *lock) { pthread_rwlock_init(&lock->lock, NULL); }
static inline void sys_rwlock_read(struct sys_rwlock *lock) { must(-pthread_rwlock_rdlock(&lock->lock), "read"); }
static inline void sys_rwlock_write(struct sys_rwlock *lock) { must(-pthread_rwlock_wrlock(&lock->lock), "write"); }
static inline void sys_rwlock_unlock_read(struct sys_rwlock *lock) {
    must(-pthread_rwlock_unlock(&lock->lock), "unlock");
}
static inline void sys_rwlock_unlock_write(struct sys_rwlock *lock) {
    must(-pthread_rwlock_unlock(&lock->lock), "unlock");
}

/* Runs on as many CPUs as there are workers. */
void sys_run(const struct args *args, measure_fn *run, struct result *result);

#endif
