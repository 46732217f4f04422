/* SPDX-License-Identifier: MIT */
/* Mutexes, reader-writer locks and semaphores as limits: locks that all actors share. The protected data are not
 * atomic. */
#include "random.h"

enum { LOCKS = 4, RWLOCKS = 2, SEMS = 2 };

/* --- mutexes: several are taken in the order of the array ------------------------------------- */

static struct lock {
    struct weft_mutex mutex;
    bool recursive;
    bool inside;              /* plain */
    uint64_t entered;         /* plain */
    _Atomic uint64_t counted; /* the same number, by its users */
} locks[LOCKS];

static void lock_take(struct party *p, struct lock *l) {
    OK(insist(p, wait_for_mutex, &l->mutex));
    SO(!l->inside);
    l->inside = true;
    l->entered++;
    if (l->recursive) {
        OK(weft_mutex_lock(&l->mutex));
        OK(weft_mutex_try(&l->mutex));
        OK(weft_mutex_unlock(&l->mutex));
        OK(weft_mutex_unlock(&l->mutex));
    } else if (one_in(p, 4)) {
        WANT(weft_mutex_lock(&l->mutex), -EDEADLK);
        WANT(weft_mutex_try(&l->mutex), -EBUSY);
    }
}

static void lock_give_back(struct lock *l) {
    SO(l->inside);
    l->inside = false;
    atomic_fetch_add_explicit(&l->counted, 1, memory_order_relaxed);
    OK(weft_mutex_unlock(&l->mutex));
}

static void run_mutex(struct party *p) {
    for (uint64_t turns = 1 + below(p, 10); turns; turns--) {
        unsigned set = 1 + (unsigned)below(p, (1 << LOCKS) - 1);
        if (one_in(p, 2)) set = 1u << below(p, LOCKS);
        for (unsigned i = 0; i < LOCKS; i++)
            if (set & 1u << i) lock_take(p, &locks[i]);
        pause_a_bit(p);
        for (unsigned i = 0; i < LOCKS; i++)
            if (set & 1u << i) lock_give_back(&locks[i]);
    }
}

/* --- reader-writer locks ---------------------------------------------------------------------- */

static struct rwlock {
    struct weft_rwlock lock;
    _Atomic unsigned readers;
    uint64_t a, b; /* plain, and equal whenever no actor writes */
    _Atomic uint64_t written;
} rwlocks[RWLOCKS];

static int wait_to_read(void *lock, uint64_t deadline) {
    return deadline == AT_ONCE        ? weft_rwlock_read_try(lock)
           : deadline == WEFT_FOREVER ? weft_rwlock_read(lock)
                                      : weft_rwlock_read_cancellable(lock, deadline);
}
static int wait_to_write(void *lock, uint64_t deadline) {
    return deadline == AT_ONCE        ? weft_rwlock_write_try(lock)
           : deadline == WEFT_FOREVER ? weft_rwlock_write(lock)
                                      : weft_rwlock_write_cancellable(lock, deadline);
}

static void run_rwlock(struct party *p) {
    for (uint64_t turns = 1 + below(p, 10); turns; turns--) {
        struct rwlock *l = &rwlocks[below(p, RWLOCKS)];
        if (one_in(p, 3)) {
            OK(insist(p, wait_to_write, &l->lock));
            WANT(atomic_load(&l->readers), 0);
            WANT(l->a++, l->b);
            pause_a_bit(p);
            l->b++;
            WANT(l->a, l->b);
            atomic_fetch_add(&l->written, 1);
            OK(weft_rwlock_unlock_write(&l->lock));
        } else {
            OK(insist(p, wait_to_read, &l->lock));
            atomic_fetch_add(&l->readers, 1);
            uint64_t seen = l->a;
            WANT(seen, l->b);
            pause_a_bit(p);
            WANT(l->b, seen);
            atomic_fetch_sub(&l->readers, 1);
            OK(weft_rwlock_unlock_read(&l->lock));
        }
    }
}

/* --- semaphores that bound -------------------------------------------------------------------- */

static struct bounded {
    struct weft_sem sem;
    _Atomic unsigned holders;
    unsigned units;
} bounded[SEMS];

static void run_bounded(struct party *p) {
    for (uint64_t turns = 1 + below(p, 10); turns; turns--) {
        struct bounded *s = &bounded[below(p, SEMS)];
        OK(insist(p, wait_for_sem, &s->sem));
        SO(atomic_fetch_add(&s->holders, 1) < s->units);
        pause_a_bit(p);
        atomic_fetch_sub(&s->holders, 1);
        OK(weft_sem_post(&s->sem));
    }
}

/* --- shared locks ----------------------------------------------------------------------------- */

static void begin(struct program *p) {
    for (unsigned i = 0; i < LOCKS; i++) {
        locks[i] = (struct lock){.recursive = choose(p, 3) == 0};
        OK(weft_mutex_init(&locks[i].mutex, locks[i].recursive ? WEFT_MUTEX_RECURSIVE : 0));
    }
    for (unsigned i = 0; i < RWLOCKS; i++) rwlocks[i] = (struct rwlock){.lock = WEFT_RWLOCK_INIT};
    for (unsigned i = 0; i < SEMS; i++) {
        bounded[i] = (struct bounded){.units = 1 + (unsigned)choose(p, 3)};
        OK(weft_sem_init(&bounded[i].sem, bounded[i].units));
    }
}

/* All is given back, and nothing more. */
static void end(struct program *p) {
    (void)p;
    for (unsigned i = 0; i < LOCKS; i++) {
        WANT(locks[i].entered, atomic_load(&locks[i].counted));
        OK(weft_mutex_try(&locks[i].mutex));
        OK(weft_mutex_unlock(&locks[i].mutex));
        WANT(weft_mutex_unlock(&locks[i].mutex), -EPERM);
    }
    for (unsigned i = 0; i < RWLOCKS; i++) {
        WANT(rwlocks[i].a, atomic_load(&rwlocks[i].written));
        OK(weft_rwlock_write_try(&rwlocks[i].lock));
        OK(weft_rwlock_unlock_write(&rwlocks[i].lock));
    }
    for (unsigned i = 0; i < SEMS; i++) {
        for (unsigned n = bounded[i].units; n; n--) OK(weft_sem_try(&bounded[i].sem));
        WANT(weft_sem_try(&bounded[i].sem), -EAGAIN);
    }
}

static const struct kind kinds[] = {
    {"mutex", 40, BY_THREADS, 1, 1, 0, NULL, run_mutex, NULL},
    {"rwlock", 30, BY_THREADS, 1, 1, 0, NULL, run_rwlock, NULL},
    {"bounded", 30, BY_THREADS, 1, 1, 0, NULL, run_bounded, NULL},
    {0},
};
const struct family family_locks = {kinds, begin, end};
