/* SPDX-License-Identifier: MIT */
/*
 * Mutexes: first come, first served, except that running fibers may overtake waiters a limited number of times.
 *
 *      word:  63 ...... 4 | 3    | 2    | 1       | 0
 *             passes      | HEIR | HELD | WAITERS | LOCKED
 *
 * If an unlock handed the mutex to the first waiter, the mutex would be idle until that waiter runs, and for fibers
 * that soon want it again each critical section would cost a switch. (64 contenders, two workers: 7.6 instead of 9.3
 * million sections a second; docs/decisions/mutex.md.) So an unlock frees the mutex and wakes the first waiter, the
 * heir. While there is an heir, no other waiter is woken, and a running fiber may take the mutex; that is counted as a
 * pass. After WEFT_MUTEX_PASSES passes, or when the heir runs and finds the mutex held by a fiber that does not run,
 * passing ends: only the heir may take the mutex, and all others queue up. When the heir takes the mutex, the count
 * restarts for the next heir.
 *
 * So the first waiter is passed at most WEFT_MUTEX_PASSES times, and the waiters in the chain get the mutex in their
 * order.
 *
 *   the unlocking fiber                           the heir
 *   1. under the lock: removes the first waiter,  1. wakes up: takes the mutex if it is free, or waits
 *      wins it, HELD -> HEIR                         a moment for an owner that runs
 *   2. makes it ready                             2. else goes back to the front of the chain, with
 *   (if HEIR is set: only HELD -> free)              all passes used up and HEIR cleared: the next
 *                                                    unlock wakes it again
 *
 * Invariant: if there are waiters and the mutex is free, there is an heir, which is awake and will take it. An heir has
 * no deadline and cannot be cancelled until it waits again. It waits again only while the mutex is held, under the
 * lock, so an unlock follows and finds the chain.
 *
 * Unlike in other wait queues, a compare-and-swap changes the word whenever LOCKED is clear.
 */
#include "sync/mutex.h"
#include "sched/record/record.h"

#ifndef WEFT_MUTEX_SPINS
#define WEFT_MUTEX_SPINS 16 /* looks before parking: about the time of a park and a wake-up by another worker */
#endif
/*
 * Pauses between two looks, some 200 ns. Each look takes the cache line from the owner. With a look after every pause,
 * a mutex with sections of 10 ns moved between caches at every section.
 */
#ifndef WEFT_MUTEX_PAUSES
#define WEFT_MUTEX_PAUSES 16
#endif

/* May the caller take the mutex now? heir: the caller is the heir. */
static inline bool is_free(uint64_t w, bool heir) {
    return !(w & (WEFT_MUTEX_HELD | WEFT_QUEUE_LOCKED)) && (heir || w < WEFT_MUTEX_FULL);
}
static inline uint64_t mutex_word_taken(uint64_t w, bool heir) {
    if (heir) return (w & WEFT_QUEUE_WAITERS) | WEFT_MUTEX_HELD;
    return w & (WEFT_MUTEX_HEIR | WEFT_QUEUE_WAITERS) ? (w | WEFT_MUTEX_HELD) + WEFT_MUTEX_PASS : WEFT_MUTEX_HELD;
}

/*
 * Does a running fiber hold the mutex, and may the caller have it after the unlock? A fiber that has ended does not
 * run. A thread is assumed to run.
 */
static inline bool is_worth_waiting(struct weft_mutex *m, uint64_t w, bool heir) {
    if (!heir && w >= WEFT_MUTEX_FULL) return false;
    uint64_t owner = load_rlx(weft__mutex_owner(m));
    if (!owner) return true;
    struct weft__fiber *f = weft__fiber_in(owner);
    return f && (load_rlx(&f->context.kind) != WEFT_KIND_FIBER || load_rlx(&f->context.on_stack) == WEFT_STOOD_ON);
}

/* Takes the mutex without parking, or returns false. */
static inline bool take_soon(struct weft_mutex *m, bool heir) {
    _Atomic uint64_t *word = weft__wait_queue_word(&m->queue);
    uint64_t w = load_rlx(word);
    for (unsigned turn = 0; turn < WEFT_MUTEX_SPINS;) {
        if (is_free(w, heir)) {
            if (cas_ar(word, &w, mutex_word_taken(w, heir))) return true; /* pairs with weft_mutex_unlock */
            continue;
        }
        if (!is_worth_waiting(m, w, heir)) return false;
        for (unsigned i = 0; i < WEFT_MUTEX_PAUSES; i++) weft__cpu_pause();
        turn++;
        w = load_rlx(word);
    }
    return false;
}

static WEFT_COLD void note_contended(struct weft_mutex *m, struct weft__fiber *me) {
    weft__record_slow(WEFT_HAPPENED_CONTENDED, weft__life(me), weft__what(weft__for(WEFT_ON_MUTEX, m)),
                      load_rlx(weft__mutex_owner(m)));
}

static WEFT_SWITCHES int wait_for_it(struct weft_mutex *m, struct weft__fiber *me, uint64_t ways, uint64_t deadline) {
    struct weft_queue *q = &m->queue;
    struct weft_waiter waiter;
    waiter.fiber = me;
    for (bool heir = false; !take_soon(m, heir); heir = true) {
        uint64_t w = weft__wait_queue_lock(q);
        if (is_free(w, heir)) {
            weft__wait_queue_unlock(q, mutex_word_taken(w, heir));
            break;
        }
        int err = weft__wait_begin(me, ways, &waiter.ticket);
        if (heir) w = (w & ~WEFT_MUTEX_HEIR) | WEFT_MUTEX_FULL;
        if (likely(!err)) (heir ? weft__wait_queue_prepend : weft__wait_queue_append)(q, &waiter, WEFT_ON_MUTEX);
        weft__wait_queue_unlock(q, w);
        if (unlikely(err)) return weft__refused(me, err);
        if (unlikely(weft__is_recording())) note_contended(m, me);
        err = weft__wait_block_for(me, waiter.ticket, deadline, weft__for(WEFT_ON_MUTEX, q));
        if (unlikely(err)) {
            weft__wait_queue_leave(q, &waiter);
            return err;
        }
    }
    store_rlx(weft__mutex_owner(m), weft__life(me));
    return 0;
}

/* The caller holds the mutex already: locks a recursive mutex again. */
static WEFT_COLD int take_again(struct weft_mutex *m, int refusal) {
    if (!(m->flags & WEFT_MUTEX_RECURSIVE)) return refusal;
    if (m->depth == UINT32_MAX) return -EAGAIN;
    m->depth++;
    return 0;
}

static inline bool mutex_take(struct weft_mutex *m, struct weft__fiber *me) {
    uint64_t free = 0;
    if (unlikely(!cas_ar(weft__wait_queue_word(&m->queue), &free, WEFT_MUTEX_HELD)))
        return false; /* pairs with weft_mutex_unlock */
    store_rlx(weft__mutex_owner(m), weft__life(me));
    return true;
}

static inline int mutex_lock(struct weft_mutex *m, uint64_t ways, uint64_t deadline) {
    struct weft__fiber *me = weft__me();
    if (unlikely(!me)) return -ENOMEM;
    if (likely(mutex_take(m, me))) return 0;
    if (load_rlx(weft__mutex_owner(m)) == weft__life(me))
        return take_again(m, -EDEADLK); /* only the caller can have written this owner */
    return wait_for_it(m, me, ways, deadline);
}

WEFT_PUBLIC int weft_mutex_init(struct weft_mutex *mutex, unsigned flags) {
    if (!mutex || flags & ~WEFT_MUTEX_RECURSIVE) return -EINVAL;
    *mutex = (struct weft_mutex)WEFT_MUTEX_INIT;
    mutex->flags = flags;
    return 0;
}

WEFT_PUBLIC int weft_mutex_lock_until(struct weft_mutex *mutex, uint64_t deadline) {
    return mutex ? mutex_lock(mutex, 0, deadline) : -EINVAL;
}

WEFT_PUBLIC int weft_mutex_lock(struct weft_mutex *mutex) {
    return likely(mutex != NULL) ? mutex_lock(mutex, 0, WEFT_FOREVER) : -EINVAL;
}

WEFT_PUBLIC int weft_mutex_lock_cancellable(struct weft_mutex *mutex, uint64_t deadline) {
    return mutex ? mutex_lock(mutex, WEFT_WAIT_BY_CANCEL, deadline) : -EINVAL;
}

WEFT_PUBLIC int weft_mutex_try(struct weft_mutex *mutex) {
    if (!mutex) return -EINVAL;
    struct weft__fiber *me = weft__me();
    if (!me) return -ENOMEM;
    if (mutex_take(mutex, me)) return 0;
    if (load_rlx(weft__mutex_owner(mutex)) == weft__life(me)) return take_again(mutex, -EBUSY);
    _Atomic uint64_t *word = weft__wait_queue_word(&mutex->queue);
    uint64_t w = load_rlx(word);
    for (unsigned turn = 0; !(w & WEFT_MUTEX_HELD) && w < WEFT_MUTEX_FULL;) {
        if (w & WEFT_QUEUE_LOCKED) {
            weft__backoff(&turn);
            w = load_rlx(word);
        } else if (cas_ar(word, &w, mutex_word_taken(w, false))) { /* pairs with weft_mutex_unlock */
            store_rlx(weft__mutex_owner(mutex), weft__life(me));
            return 0;
        }
    }
    return -EBUSY;
}

/* Unlocks a mutex that has or had waiters: wakes the first waiter, unless there is an heir already. */
static WEFT_NOINLINE int unlock_slow(struct weft_mutex *m) {
    struct weft_queue *q = &m->queue;
    _Atomic uint64_t *word = weft__wait_queue_word(q);
    uint64_t w = load_rlx(word);
    for (unsigned turn = 0; w & WEFT_MUTEX_HEIR || !(w & WEFT_QUEUE_WAITERS);) {
        if (w & WEFT_QUEUE_LOCKED) {
            weft__backoff(&turn);
            w = load_rlx(word);
        } else if (cas_ar(word, &w, w & WEFT_MUTEX_HEIR ? w & ~WEFT_MUTEX_HELD : 0)) /* pairs with the next lock */
            return 0;
    }
    weft__wait_queue_prefetch(q);
    w = weft__wait_queue_lock_from(q, w);
    struct weft__fiber *heir = weft__wait_queue_win(q);
    weft__wait_queue_unlock(q, heir ? (w & ~WEFT_MUTEX_HELD) | WEFT_MUTEX_HEIR : 0);
    if (heir) weft__make_ready(heir);
    return 0;
}

WEFT_PUBLIC int weft_mutex_unlock(struct weft_mutex *mutex) {
    if (unlikely(!mutex)) return -EINVAL;
    struct weft__fiber *me = weft__me();
    if (unlikely(!me || load_rlx(weft__mutex_owner(mutex)) != weft__life(me))) return -EPERM;
    if (unlikely(mutex->depth)) {
        mutex->depth--;
        return 0;
    }
    store_rlx(weft__mutex_owner(mutex), 0);
    uint64_t held = WEFT_MUTEX_HELD;
    return likely(cas_ar(weft__wait_queue_word(&mutex->queue), &held, 0))
               ? 0
               : unlock_slow(mutex); /* pairs with the next lock */
}
