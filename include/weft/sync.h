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

/* Sets the value of a semaphore that nobody uses.  [fiber thread] */
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
 */
struct weft_mutex {
    struct weft_queue queue;
    void *owner;
    unsigned flags;
    unsigned depth; /* how often the owner has locked it, less one */
};
#define WEFT_MUTEX_RECURSIVE 1u /* the owner may lock it again, and unlocks it as often */
#define WEFT_MUTEX_INIT \
    { {0, NULL, NULL}, NULL, 0, 0 }
#define WEFT_MUTEX_RECURSIVE_INIT \
    { {0, NULL, NULL}, NULL, WEFT_MUTEX_RECURSIVE, 0 }

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
 * -EINVAL: NULL, or the mutex is recursive and the caller has locked it more than once. -EPERM: the
 * caller does not hold the mutex.  [fiber thread; parks, cancel]
 */
int weft_cond_wait(struct weft_cond *cond, struct weft_mutex *mutex);
int weft_cond_wait_until(struct weft_cond *cond, struct weft_mutex *mutex, uint64_t deadline);

/* Wakes the first that waits, or all.  [fiber thread] */
int weft_cond_signal(struct weft_cond *cond);
int weft_cond_broadcast(struct weft_cond *cond);

#ifdef __cplusplus
}
#endif
#endif
