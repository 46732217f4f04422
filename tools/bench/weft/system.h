/* SPDX-License-Identifier: MIT */
/*
 * The system under the shared benchmarks: weft. Each system has a system.h with these names. This file explains them.
 *
 *   sys_fiber    a fiber or thread, made by sys_spawn and freed by sys_join
 *   sys_permit   one fiber, chosen after its spawn, waits at it until another fiber gives the permit; a permit given
 *                before the wait is not lost
 *   sys_sem      a counting semaphore; drain takes all units and returns their number
 *   sys_mutex    a mutex; sys_rwlock, where the system has it, a reader-writer lock
 *   sys_chan     a channel of numbers with a given capacity; recv returns false when it is closed and empty
 *   sys_run      starts the system with workers= workers, calls run as a fiber, stops it
 */
#ifndef BENCH_SYSTEM_H
#define BENCH_SYSTEM_H

#include "measure.h"
#include "weft.h"

#include <stdlib.h>

struct sys_fiber {
    struct weft_fiber handle;
};

static inline void sys_spawn(struct sys_fiber *fiber, void *(*fn)(void *), void *p) {
    must(weft_spawn(&fiber->handle, NULL, fn, p), "weft_spawn");
}

static inline void sys_join(struct sys_fiber *fiber) { must(weft_join(fiber->handle, NULL), "weft_join"); }

static inline void sys_yield(void) { weft_yield(); }

static inline void sys_sleep(uint64_t nanoseconds) { must(weft_sleep_for(nanoseconds), "weft_sleep_for"); }

struct sys_permit {
    struct weft_fiber owner;
};

static inline void sys_permit_init(struct sys_permit *permit) { permit->owner.id = 0; }
static inline void sys_permit_bind(struct sys_permit *permit, const struct sys_fiber *fiber) {
    permit->owner = fiber->handle;
}

static inline void sys_permit_wait(struct sys_permit *permit) {
    (void)permit;
    must(weft_park(), "weft_park");
}

/* The owner may have ended: the last permit of a ring goes to the fiber that left first. */
static inline void sys_permit_give(struct sys_permit *permit) { (void)weft_unpark(permit->owner); }

struct sys_sem {
    struct weft_sem sem;
};

static inline void sys_sem_init(struct sys_sem *sem, uint64_t value) {
    must(weft_sem_init(&sem->sem, value), "weft_sem_init");
}

static inline void sys_sem_wait(struct sys_sem *sem) { must(weft_sem_wait(&sem->sem), "weft_sem_wait"); }
static inline void sys_sem_post(struct sys_sem *sem) { must(weft_sem_post(&sem->sem), "weft_sem_post"); }

static inline uint64_t sys_sem_drain(struct sys_sem *sem) {
    uint64_t count = 0;
    while (!weft_sem_try(&sem->sem)) count++;
    return count;
}

struct sys_mutex {
    struct weft_mutex mutex;
};

static inline void sys_mutex_init(struct sys_mutex *mutex) { mutex->mutex = (struct weft_mutex)WEFT_MUTEX_INIT; }
static inline void sys_mutex_lock(struct sys_mutex *mutex) { must(weft_mutex_lock(&mutex->mutex), "weft_mutex_lock"); }
static inline void sys_mutex_unlock(struct sys_mutex *mutex) {
    must(weft_mutex_unlock(&mutex->mutex), "weft_mutex_unlock");
}
struct sys_chan {
    struct weft_chan chan;
    uint64_t *room;
};

static inline void sys_chan_init(struct sys_chan *chan, size_t capacity) {
    chan->room = capacity ? (uint64_t *)allocate(capacity, sizeof(uint64_t)) : NULL;
    chan->chan = (struct weft_chan)WEFT_CHAN_OVER(chan->room, sizeof(uint64_t), capacity);
}
static inline void sys_chan_end(struct sys_chan *chan) { free(chan->room); }
static inline void sys_chan_send(struct sys_chan *chan, uint64_t number) {
    must(weft_chan_send(&chan->chan, &number), "weft_chan_send");
}
static inline bool sys_chan_recv(struct sys_chan *chan, uint64_t *number) {
    return !weft_chan_recv(&chan->chan, number);
}
static inline void sys_chan_close(struct sys_chan *chan) { must(weft_chan_close(&chan->chan), "weft_chan_close"); }

struct sys_rwlock {
    struct weft_rwlock lock;
};

static inline void sys_rwlock_init(struct sys_rwlock *lock) { lock->lock = (struct weft_rwlock)WEFT_RWLOCK_INIT; }
static inline void sys_rwlock_read(struct sys_rwlock *lock) { must(weft_rwlock_read(&lock->lock), "read"); }
static inline void sys_rwlock_write(struct sys_rwlock *lock) { must(weft_rwlock_write(&lock->lock), "write"); }
static inline void sys_rwlock_unlock_read(struct sys_rwlock *lock) {
    must(weft_rwlock_unlock_read(&lock->lock), "unlock_read");
}
static inline void sys_rwlock_unlock_write(struct sys_rwlock *lock) {
    must(weft_rwlock_unlock_write(&lock->lock), "unlock_write");
}

void sys_run(const struct args *args, measure_fn *run, struct result *result);

/* Returns the configuration for the arguments. */
struct weft_config sys_config(const struct args *args);

#endif
