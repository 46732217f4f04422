/* SPDX-License-Identifier: MIT */
/*
 * Locks, counters and other objects for waiting. weft.h includes this header and says how to read it.
 *
 * Every object here works between fibers of all clusters and threads, and serves waiters in order of arrival. It may
 * live anywhere, also on a stack. Initialise it with its macro or with zeros; there is nothing to destroy. Its memory
 * may be freed when the last call that uses it has returned. docs/SYNC.md says what state a cancelled or late wait
 * leaves behind.
 */
#ifndef WEFT_SYNC_H
#define WEFT_SYNC_H

#include <stddef.h>
#include <stdint.h>

#include "attributes.h"

#ifdef __cplusplus
extern "C" {
#endif

struct weft_waiter;

/* The queue of waiters that is part of every object. Its members are internal. */
struct weft_queue {
    uint64_t word; /* value, and whether a waiter is queued */
    struct weft_waiter *first;
    void *ahead; /* a hint for prefetching: probably the fiber of the first waiter */
};

/* ---------------------------------------------------------------------------------------------
 * Counters
 *
 * A counter counts outstanding work. Add to it before spawning, complete it when a piece is done, wait for zero. A
 * fiber completes a counter by itself if it is spawned with attr.counter.
 * ------------------------------------------------------------------------------------------ */

/* A counter of outstanding work. */
struct weft_counter {
    struct weft_queue queue;
};

/* Initialises a struct weft_counter with 0. */
#define WEFT_COUNTER_INIT \
    { \
        { 0, NULL, NULL } \
    }

/*
 * Adds n to the outstanding work.
 *
 * Errors:
 *   -EINVAL      counter is NULL
 *   -EOVERFLOW   the sum exceeds 2^60
 * [fiber thread]
 */
int weft_counter_add(struct weft_counter *counter, uint64_t n);

/*
 * Subtracts one from the outstanding work, and wakes the waiters whose condition now holds.
 *
 * Errors: -EINVAL if counter is NULL or its value is already 0.
 * [fiber thread]
 */
int weft_counter_complete(struct weft_counter *counter);

/*
 * Waits until at most n pieces of work are outstanding. n = 0 waits for all. A larger n limits the work in flight.
 *
 * Errors: -EINVAL if counter is NULL.
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE int weft_counter_wait(struct weft_counter *counter, uint64_t n);
WEFT_MUST_USE int weft_counter_wait_until(struct weft_counter *counter, uint64_t n, uint64_t deadline);

/*
 * Returns the outstanding work at this moment.
 *
 * Errors: none.
 * [fiber thread]
 */
uint64_t weft_counter_value(const struct weft_counter *counter);

/* ---------------------------------------------------------------------------------------------
 * Semaphores
 *
 * A semaphore holds a number of units. It limits how many fibers do something at the same time.
 * ------------------------------------------------------------------------------------------ */

/* A counting semaphore. */
struct weft_sem {
    struct weft_queue queue;
};

/* Initialises a struct weft_sem with `value` units. */
#define WEFT_SEM_INIT(value) \
    { \
        { (uint64_t)(value) << 2, NULL, NULL } \
    }

/*
 * Sets the number of units of a semaphore that is not in use.
 *
 * Errors: -EINVAL if sem is NULL or value exceeds 2^60.
 * [fiber thread]
 */
int weft_sem_init(struct weft_sem *sem, uint64_t value);

/*
 * Takes a unit; waits until there is one.
 *
 * Errors: -EINVAL if sem is NULL.
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE int weft_sem_wait(struct weft_sem *sem);
WEFT_MUST_USE int weft_sem_wait_until(struct weft_sem *sem, uint64_t deadline);

/*
 * Takes a unit if there is one.
 *
 * Errors:
 *   -EAGAIN   there is no unit
 *   -EINVAL   sem is NULL
 * [fiber thread]
 */
WEFT_MUST_USE int weft_sem_try(struct weft_sem *sem);

/*
 * Adds a unit, or hands it to the first waiter.
 *
 * Errors:
 *   -EOVERFLOW   the semaphore has 2^60 units
 *   -EINVAL      sem is NULL
 * [fiber thread]
 */
int weft_sem_post(struct weft_sem *sem);

/* ---------------------------------------------------------------------------------------------
 * Mutexes
 *
 * A mutex has an owner, and weft checks it. Waiters are served in order of arrival. A running fiber may still take a
 * free mutex ahead of the first waiter, at most 64 times in a row; that keeps the mutex busy. A fiber or thread that
 * ends while it holds a mutex leaves it locked for ever: no other caller can unlock it.
 * ------------------------------------------------------------------------------------------ */

/* A mutual exclusion lock. */
struct weft_mutex {
    struct weft_queue queue;
    uint64_t owner;
    unsigned flags;
    unsigned depth; /* how often the owner has locked it, minus one */
};

/* A flag of weft_mutex_init: the owner may lock the mutex again, and must unlock it as often. */
#define WEFT_MUTEX_RECURSIVE 1u

/* Initialise a struct weft_mutex: a plain one, or a recursive one. */
#define WEFT_MUTEX_INIT \
    { {0, NULL, NULL}, 0, 0, 0 }
#define WEFT_MUTEX_RECURSIVE_INIT \
    { {0, NULL, NULL}, 0, WEFT_MUTEX_RECURSIVE, 0 }

/*
 * Initialises a mutex that is not in use.
 *
 *   flags   0 or WEFT_MUTEX_RECURSIVE
 *
 * Errors: -EINVAL if mutex is NULL or flags are unknown.
 * [fiber thread]
 */
int weft_mutex_init(struct weft_mutex *mutex, unsigned flags);

/*
 * Locks a mutex, however long that takes. Cancellation does not end this wait. So in a correct program the mutex is
 * held afterwards, and the result need not be checked.
 *
 * Errors:
 *   -EINVAL    mutex is NULL
 *   -EDEADLK   the caller already holds the mutex, and it is not recursive
 *   -EAGAIN    the recursive mutex is locked 2^32 times
 *   -ENOMEM    no memory for the record of a thread that uses weft for the first time
 * [fiber thread; parks]
 */
int weft_mutex_lock(struct weft_mutex *mutex);

/*
 * Locks a mutex unless the deadline passes first. Cancellation does not end this wait.
 *
 * Errors:
 *   -ETIMEDOUT   the deadline passed; the mutex is not held
 *   other        those of weft_mutex_lock
 * [fiber thread; parks]
 */
WEFT_MUST_USE int weft_mutex_lock_until(struct weft_mutex *mutex, uint64_t deadline);

/*
 * Locks a mutex as a cancellation point. After an error the mutex is not held.
 *
 *   deadline   WEFT_FOREVER for none
 *
 * Errors: those of weft_mutex_lock.
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE int weft_mutex_lock_cancellable(struct weft_mutex *mutex, uint64_t deadline);

/*
 * Locks a mutex if that needs no wait.
 *
 * Errors:
 *   -EBUSY    another caller holds the mutex, or it is reserved for a waiter that was passed too often
 *   -EINVAL   mutex is NULL
 *   -EAGAIN   the recursive mutex is locked 2^32 times
 * [fiber thread]
 */
WEFT_MUST_USE int weft_mutex_try(struct weft_mutex *mutex);

/*
 * Unlocks a mutex, and wakes the first waiter.
 *
 * Errors:
 *   -EPERM    the caller does not hold the mutex
 *   -EINVAL   mutex is NULL
 * [fiber thread]
 */
int weft_mutex_unlock(struct weft_mutex *mutex);

/* ---------------------------------------------------------------------------------------------
 * Condition variables
 *
 * A condition variable lets a caller that holds a mutex wait until another one has changed something.
 * ------------------------------------------------------------------------------------------ */

/* A condition variable. */
struct weft_cond {
    struct weft_queue queue;
};

/* Initialises a struct weft_cond. */
#define WEFT_COND_INIT \
    { \
        { 0, NULL, NULL } \
    }

/*
 * Unlocks the mutex, waits for a signal, and locks the mutex again. The mutex is held on return, also after -ECANCELED
 * and -ETIMEDOUT. Each signal wakes exactly one waiter, and that waiter returns 0.
 *
 *     while (!ready && !err) err = weft_cond_wait(&cond, &mutex);
 *
 * The loop must end on an error. In a cancelled fiber each further wait returns soon and only gives the mutex away for
 * a moment.
 *
 * Errors:
 *   -EINVAL   cond or mutex is NULL, or the caller has locked a recursive mutex more than once
 *   -EPERM    the caller does not hold the mutex
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE int weft_cond_wait(struct weft_cond *cond, struct weft_mutex *mutex);
WEFT_MUST_USE int weft_cond_wait_until(struct weft_cond *cond, struct weft_mutex *mutex, uint64_t deadline);

/*
 * Wake the waiter that has waited longest (signal), or all waiters (broadcast). No effect if nothing waits.
 *
 * Errors: -EINVAL if cond is NULL.
 * [fiber thread]
 */
int weft_cond_signal(struct weft_cond *cond);
int weft_cond_broadcast(struct weft_cond *cond);

/* ---------------------------------------------------------------------------------------------
 * Reader-writer locks
 *
 * Several callers may read at the same time; a writer is alone. Neither side starves the other: a reader waits while a
 * writer waits, and a writer that leaves admits all readers that wait at that moment. weft checks the identity of the
 * writer, and counts readers.
 * ------------------------------------------------------------------------------------------ */

/* A reader-writer lock. */
struct weft_rwlock {
    uint64_t word; /* number of readers, whether a writer is inside, whether a waiter is queued */
    struct weft_waiter *readers, *writers;
    uint64_t owner;
};

/* Initialises a struct weft_rwlock. */
#define WEFT_RWLOCK_INIT \
    { 0, NULL, NULL, 0 }

/*
 * Locks for reading, however long that takes. Cancellation does not end this wait. A reader must not lock again: it
 * would wait for ever behind a waiting writer.
 *
 * Errors:
 *   -EINVAL      rwlock is NULL
 *   -EDEADLK     the caller holds the lock for writing
 *   -ETIMEDOUT   (weft_rwlock_read_until) the deadline passed
 * [fiber thread; parks]
 */
int weft_rwlock_read(struct weft_rwlock *rwlock);
WEFT_MUST_USE int weft_rwlock_read_until(struct weft_rwlock *rwlock, uint64_t deadline);

/*
 * Locks for reading as a cancellation point.
 *
 *   deadline   WEFT_FOREVER for none
 *
 * Errors: those of weft_rwlock_read.
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE int weft_rwlock_read_cancellable(struct weft_rwlock *rwlock, uint64_t deadline);

/*
 * Locks for reading if that needs no wait.
 *
 * Errors:
 *   -EBUSY    a writer holds the lock or waits for it
 *   -EINVAL   rwlock is NULL
 * [fiber thread]
 */
WEFT_MUST_USE int weft_rwlock_read_try(struct weft_rwlock *rwlock);

/*
 * Locks for writing, however long that takes. Cancellation does not end this wait. A caller that holds the lock for
 * reading waits for ever.
 *
 * Errors:
 *   -EINVAL      rwlock is NULL
 *   -EDEADLK     the caller already holds the lock for writing
 *   -ETIMEDOUT   (weft_rwlock_write_until) the deadline passed
 * [fiber thread; parks]
 */
int weft_rwlock_write(struct weft_rwlock *rwlock);
WEFT_MUST_USE int weft_rwlock_write_until(struct weft_rwlock *rwlock, uint64_t deadline);

/*
 * Locks for writing as a cancellation point.
 *
 *   deadline   WEFT_FOREVER for none
 *
 * Errors: those of weft_rwlock_write.
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE int weft_rwlock_write_cancellable(struct weft_rwlock *rwlock, uint64_t deadline);

/*
 * Locks for writing if that needs no wait.
 *
 * Errors:
 *   -EBUSY    a reader or a writer holds the lock
 *   -EINVAL   rwlock is NULL
 * [fiber thread]
 */
WEFT_MUST_USE int weft_rwlock_write_try(struct weft_rwlock *rwlock);

/*
 * Unlock after reading, or after writing.
 *
 * Errors:
 *   -EPERM    no reader holds the lock, or the caller does not hold it for writing
 *   -EINVAL   rwlock is NULL
 * [fiber thread]
 */
int weft_rwlock_unlock_read(struct weft_rwlock *rwlock);
int weft_rwlock_unlock_write(struct weft_rwlock *rwlock);

/* ---------------------------------------------------------------------------------------------
 * Barriers
 *
 * A barrier makes a fixed number of callers wait for each other, again and again.
 * ------------------------------------------------------------------------------------------ */

/* A barrier. */
struct weft_barrier {
    struct weft_queue queue;
    uint64_t count;
};

/* Initialises a struct weft_barrier for `count` callers. */
#define WEFT_BARRIER_INIT(count) \
    { {0, NULL, NULL}, (uint64_t)(count) }

/* What weft_barrier_wait returns to the last caller to arrive. */
#define WEFT_BARRIER_SERIAL 1

/*
 * Initialises a barrier that is not in use.
 *
 * Errors: -EINVAL if barrier is NULL, or count is 0 or exceeds 2^60.
 * [fiber thread]
 */
int weft_barrier_init(struct weft_barrier *barrier, uint64_t count);

/*
 * Arrives, and waits until `count` callers have arrived. Returns WEFT_BARRIER_SERIAL to the last one and 0 to the
 * others. After -ECANCELED or -ETIMEDOUT the arrival is withdrawn: the others wait for one more. The memory must stay
 * until all callers have returned.
 *
 * Errors: -EINVAL if barrier is NULL or was not initialised.
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE int weft_barrier_wait(struct weft_barrier *barrier);
WEFT_MUST_USE int weft_barrier_wait_until(struct weft_barrier *barrier, uint64_t deadline);

/* ---------------------------------------------------------------------------------------------
 * Once
 *
 * Runs an initialisation exactly once, by the first caller that needs it.
 * ------------------------------------------------------------------------------------------ */

/* The state of an initialisation. */
struct weft_once {
    struct weft_queue queue;
    uint64_t runner;
};

/* Initialises a struct weft_once. */
#define WEFT_ONCE_INIT \
    { {0, NULL, NULL}, 0 }

/*
 * Calls fn(arg) unless an earlier call has succeeded. While another caller runs its function, waits for the outcome.
 * Once this returns 0, the initialisation is done and its writes are visible.
 *
 * If fn returns anything but 0, or throws a C++ exception, the initialisation is not done. Its caller gets that result,
 * and the next caller tries with its own function. A fiber that is cancelled while it runs fn continues with it. A
 * function that ends its fiber by weft_fiber_exit keeps the others waiting.
 *
 * Errors:
 *   -EINVAL    once or fn is NULL
 *   -EDEADLK   fn itself called this
 *   other      what fn returned
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE int weft_once_run(struct weft_once *once, int (*fn)(void *), void *arg);
WEFT_MUST_USE int weft_once_run_until(struct weft_once *once, int (*fn)(void *), void *arg, uint64_t deadline);

/* ---------------------------------------------------------------------------------------------
 * Latches
 *
 * A latch opens when it has been counted down to zero, and stays open.
 * ------------------------------------------------------------------------------------------ */

/* A latch. */
struct weft_latch {
    struct weft_counter counter;
};

/* Initialises a struct weft_latch that opens after `count` steps. */
#define WEFT_LATCH_INIT(count) \
    { \
        { \
            { (uint64_t)(count) << 2, NULL, NULL } \
        } \
    }

/*
 * Initialises a latch that is not in use.
 *
 * Errors: -EINVAL if latch is NULL or count exceeds 2^60.
 * [fiber thread]
 */
int weft_latch_init(struct weft_latch *latch, uint64_t count);

/*
 * Counts down by n, and wakes all waiters when the count reaches zero.
 *
 * Errors: -EINVAL if latch is NULL or its count is below n.
 * [fiber thread]
 */
int weft_latch_count_down(struct weft_latch *latch, uint64_t n);

/*
 * Waits until the latch is open.
 *
 * Errors: -EINVAL if latch is NULL.
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE int weft_latch_wait(struct weft_latch *latch);
WEFT_MUST_USE int weft_latch_wait_until(struct weft_latch *latch, uint64_t deadline);

/*
 * Tells whether the latch is open, without waiting.
 *
 * Errors:
 *   -EAGAIN   the latch is not open
 *   -EINVAL   latch is NULL
 * [fiber thread]
 */
WEFT_MUST_USE int weft_latch_try(struct weft_latch *latch);

#ifdef __cplusplus
}
#endif
#endif
