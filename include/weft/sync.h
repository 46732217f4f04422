/*
 * What fibers and threads wait for each other with. Part of weft.h, which includes it and says how to
 * read it. What each promises, and what a cancelled or late wait leaves behind: docs/SYNC.md.
 */
#ifndef WEFT_SYNC_H
#define WEFT_SYNC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------------------
 * What follows waits in order of arrival, works between fibers and threads alike, and may live
 * anywhere, on a stack too: when the wait that its last use ends has returned, it may be freed.
 * Initialise with the macro, or with zeros; there is nothing to destroy.
 * ------------------------------------------------------------------------------------------ */

struct weft_waiter;
struct weft_queue {
    uint64_t word; /* value, and whether somebody waits */
    struct weft_waiter *first;
    void *ahead; /* perhaps the first one's fiber: good for a prefetch */
};

/* Counters: work that is outstanding. */
struct weft_counter {
    struct weft_queue queue;
};
#define WEFT_COUNTER_INIT \
    { \
        { 0, NULL, NULL } \
    }

/* n more are outstanding. -EINVAL: NULL. -EOVERFLOW: more than 2^60.  [fiber thread] */
int weft_counter_add(struct weft_counter *counter, uint64_t n);

/* One less is outstanding. -EINVAL: NULL, or none was.  [fiber thread] */
int weft_counter_complete(struct weft_counter *counter);

/* Waits until at most n are outstanding. -EINVAL: NULL. -ETIMEDOUT. -ECANCELED.
 * [fiber thread; parks, cancel] */
int weft_counter_wait(struct weft_counter *counter, uint64_t n);
int weft_counter_wait_until(struct weft_counter *counter, uint64_t n, uint64_t deadline);

/* How many are outstanding now.  [fiber thread] */
uint64_t weft_counter_value(const struct weft_counter *counter);

/* Counting semaphores. */
struct weft_sem {
    struct weft_queue queue;
};
#define WEFT_SEM_INIT(value) \
    { \
        { (uint64_t)(value) << 2, NULL, NULL } \
    }

/* Sets the value of a semaphore that nobody uses. -EINVAL: NULL, or more than 2^60.  [fiber thread] */
int weft_sem_init(struct weft_sem *sem, uint64_t value);

/* Takes one, waiting until there is one. -EINVAL: NULL. -ETIMEDOUT. -ECANCELED.
 * [fiber thread; parks, cancel] */
int weft_sem_wait(struct weft_sem *sem);
int weft_sem_wait_until(struct weft_sem *sem, uint64_t deadline);

/* Takes one if there is one; -EAGAIN: there is none.  [fiber thread] */
int weft_sem_try(struct weft_sem *sem);

/* Gives one: to the first that waits, if any. -EOVERFLOW: more than 2^60.  [fiber thread] */
int weft_sem_post(struct weft_sem *sem);

/*
 * Mutexes; the owner is checked. Those who wait are served in the order in which they came, but one
 * that runs may take a mutex that is free past them: the first that waits is passed 64 times at most.
 * A fiber or thread that ends holding one leaves it held for ever, like a reader-writer lock: nobody else can unlock
 * it.
 */
struct weft_mutex {
    struct weft_queue queue;
    uint64_t owner;
    unsigned flags;
    unsigned depth; /* how often the owner has locked it, less one */
};
#define WEFT_MUTEX_RECURSIVE 1u /* the owner may lock it again, and unlocks it as often */
#define WEFT_MUTEX_INIT \
    { {0, NULL, NULL}, 0, 0, 0 }
#define WEFT_MUTEX_RECURSIVE_INIT \
    { {0, NULL, NULL}, 0, WEFT_MUTEX_RECURSIVE, 0 }

/* Initialises a mutex that nobody uses; flags: 0 or WEFT_MUTEX_RECURSIVE. -EINVAL: others, or NULL.
 * [fiber thread] */
int weft_mutex_init(struct weft_mutex *mutex, unsigned flags);

/* -EINVAL: NULL. -EDEADLK: the caller holds it, and it is not recursive. -EAGAIN: it is, and was
 * locked 2^32 times. -ETIMEDOUT. -ECANCELED.
 * [fiber thread; parks, cancel] */
int weft_mutex_lock(struct weft_mutex *mutex);
int weft_mutex_lock_until(struct weft_mutex *mutex, uint64_t deadline);

/* -EBUSY: somebody holds it, or is about to: it was passed too often. -EAGAIN as above.  [fiber thread] */
int weft_mutex_try(struct weft_mutex *mutex);

/* Wakes the first that waits, if any. -EPERM: the caller does not hold it.  [fiber thread] */
int weft_mutex_unlock(struct weft_mutex *mutex);

/* Condition variables. */
struct weft_cond {
    struct weft_queue queue;
};
#define WEFT_COND_INIT \
    { \
        { 0, NULL, NULL } \
    }

/*
 * Unlocks the mutex, waits for a signal, locks the mutex again; the mutex is held on return, also
 * after -ETIMEDOUT and -ECANCELED. A signal is taken by exactly one waiter that then returns 0.
 * The result must end the loop: in a fiber that was cancelled each further wait returns at once, with the mutex held.
 *
 *     while (!ready && !err) err = weft_cond_wait(&cond, &mutex);
 *
 * -EINVAL: NULL, or the mutex is recursive and the caller has locked it more than once. -EPERM: the
 * caller does not hold the mutex.  [fiber thread; parks, cancel]
 */
int weft_cond_wait(struct weft_cond *cond, struct weft_mutex *mutex);
int weft_cond_wait_until(struct weft_cond *cond, struct weft_mutex *mutex, uint64_t deadline);

/* Wakes the first that waits, or all.  [fiber thread] */
int weft_cond_signal(struct weft_cond *cond);
int weft_cond_broadcast(struct weft_cond *cond);

/*
 * Reader-writer locks: several read at once, one writes alone. Neither side can keep the other out: a
 * reader waits when a writer waits, and a writer that leaves lets in all readers that wait then. Who
 * writes is checked, who reads is counted.
 */
struct weft_rwlock {
    uint64_t word; /* how many read, whether one writes, whether somebody waits */
    struct weft_waiter *readers, *writers;
    uint64_t owner;
};
#define WEFT_RWLOCK_INIT \
    { 0, NULL, NULL, 0 }

/* -EINVAL: NULL. -EDEADLK: the caller writes. -ETIMEDOUT. -ECANCELED. To read again while one reads may
 * wait for ever, behind a writer that waits.  [fiber thread; parks, cancel] */
int weft_rwlock_read(struct weft_rwlock *rwlock);
int weft_rwlock_read_until(struct weft_rwlock *rwlock, uint64_t deadline);

/* -EBUSY: somebody writes, or waits to.  [fiber thread] */
int weft_rwlock_read_try(struct weft_rwlock *rwlock);

/* -EINVAL: NULL. -EDEADLK: the caller writes. -ETIMEDOUT. -ECANCELED. For who reads it waits for ever.
 * [fiber thread; parks, cancel] */
int weft_rwlock_write(struct weft_rwlock *rwlock);
int weft_rwlock_write_until(struct weft_rwlock *rwlock, uint64_t deadline);

/* -EBUSY: somebody reads or writes.  [fiber thread] */
int weft_rwlock_write_try(struct weft_rwlock *rwlock);

/* -EINVAL: NULL. -EPERM: nobody reads, or the caller does not write.  [fiber thread] */
int weft_rwlock_unlock_read(struct weft_rwlock *rwlock);
int weft_rwlock_unlock_write(struct weft_rwlock *rwlock);

/* Barriers: so many wait for each other, again and again. */
struct weft_barrier {
    struct weft_queue queue;
    uint64_t count;
};
#define WEFT_BARRIER_INIT(count) \
    { {0, NULL, NULL}, (uint64_t)(count) }
#define WEFT_BARRIER_SERIAL 1

/* Initialises a barrier that nobody uses. -EINVAL: NULL, 0, or more than 2^60.  [fiber thread] */
int weft_barrier_init(struct weft_barrier *barrier, uint64_t count);

/*
 * Arrives, and waits until `count` have. WEFT_BARRIER_SERIAL for the last one to arrive, 0 for the
 * others. -ETIMEDOUT, -ECANCELED: the caller's arrival is taken back, as if it had not come; the
 * others go on waiting, for as many as are missing now. -EINVAL: NULL, or zeros. The memory must stay
 * until all have returned.  [fiber thread; parks, cancel]
 */
int weft_barrier_wait(struct weft_barrier *barrier);
int weft_barrier_wait_until(struct weft_barrier *barrier, uint64_t deadline);

/* Once: something that is done by whoever comes first. */
struct weft_once {
    struct weft_queue queue;
    uint64_t runner;
};
#define WEFT_ONCE_INIT \
    { {0, NULL, NULL}, 0 }

/*
 * Calls fn(arg), unless that was done; returns 0 when it has been done, and sees what it wrote. While
 * another does it, waits. If fn returns anything but 0, or is left by an exception, it has not been
 * done: its caller gets that result, and the next one tries, with its own fn. A fiber that is
 * cancelled while it runs fn goes on with it; one that waits gets -ECANCELED. An fn that never returns
 * (weft_exit) keeps the others waiting. -EINVAL: NULL. -EDEADLK: called by fn. -ETIMEDOUT: another
 * was still at it.  [fiber thread; parks, cancel]
 */
int weft_once(struct weft_once *once, int (*fn)(void *), void *arg);
int weft_once_until(struct weft_once *once, int (*fn)(void *), void *arg, uint64_t deadline);

/* Latches: open when so many have counted down, and open for ever. */
struct weft_latch {
    struct weft_counter counter;
};
#define WEFT_LATCH_INIT(count) \
    { \
        { \
            { (uint64_t)(count) << 2, NULL, NULL } \
        } \
    }

/* Initialises a latch that nobody uses. -EINVAL: NULL, or more than 2^60.  [fiber thread] */
int weft_latch_init(struct weft_latch *latch, uint64_t count);

/* n less are missing. -EINVAL: NULL, or not so many were.  [fiber thread] */
int weft_latch_count_down(struct weft_latch *latch, uint64_t n);

/* Waits until none is missing. -EINVAL: NULL. -ETIMEDOUT. -ECANCELED.  [fiber thread; parks, cancel] */
int weft_latch_wait(struct weft_latch *latch);
int weft_latch_wait_until(struct weft_latch *latch, uint64_t deadline);

/* -EAGAIN: some are missing.  [fiber thread] */
int weft_latch_try(struct weft_latch *latch);

#ifdef __cplusplus
}
#endif
#endif
