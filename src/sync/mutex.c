/*
 * Mutexes: first come, first served, except that whoever runs may pass those who wait, so many times.
 *
 *      word:  63 ...... 4 | 3    | 2    | 1       | 0
 *             passes      | HEIR | HELD | WAITERS | LOCKED
 *
 * To hand the mutex to the first that waits leaves it idle until that one has come to run; to fibers
 * that want it again in a moment, each section then costs a switch. (64 contenders, two workers: 7.6
 * instead of 9.3 million sections a second; docs/decisions/mutex.md.) So an unlock makes the mutex
 * free, and wakes the first that waits: the heir. While there is one, nobody else is woken, and whoever
 * runs and wants the mutex may take it, which is counted: a pass. When there were WEFT_MUTEX_PASSES, or
 * when the heir has come to run and found the mutex held by somebody who does not run, it is passed no
 * more: the mutex is free for the heir alone, all others queue up behind. With the heir's taking the
 * count begins anew, for the next one.
 *
 * So each that waits is passed WEFT_MUTEX_PASSES times at most when it is the first, and those in the
 * chain go in the order in which they came.
 *
 *   whoever unlocks                               the heir
 *   1. under the lock: takes the first out of     1. wakes: takes the mutex if it is free, or waits
 *      the chain, wins it, HELD -> HEIR              a moment for an owner that runs
 *   2. makes it ready                             2. else goes back into the chain, as the first, with
 *   (HEIR is set: only HELD -> free)                 all passes used up, HEIR cleared: the next unlock
 *                                                    wakes it again
 *
 * Always: if somebody waits and the mutex is free, there is an heir, who is awake and will take it. An
 * heir cannot be cancelled and has no deadline until it waits again, and that it does only while the mutex is
 * held, under the lock, so an unlock follows that finds the chain.
 *
 * Unlike in other queues, the word is changed by a compare-and-swap whenever LOCKED is clear.
 */
#include "sync/mutex.h"

#ifndef WEFT_MUTEX_SPINS
#define WEFT_MUTEX_SPINS 64 /* pauses: about as long as to park and to be found by another worker */
#endif

/* May it be taken now, by the heir or by anybody else? */
static inline bool is_free(uint64_t w, bool heir) {
    return !(w & (WEFT_MUTEX_HELD | WEFT_QUEUE_LOCKED)) && (heir || w < WEFT_MUTEX_FULL);
}
static inline uint64_t taken(uint64_t w, bool heir) {
    if (heir) return (w & WEFT_QUEUE_WAITERS) | WEFT_MUTEX_HELD;
    return w & (WEFT_MUTEX_HEIR | WEFT_QUEUE_WAITERS) ? (w | WEFT_MUTEX_HELD) + WEFT_MUTEX_PASS : WEFT_MUTEX_HELD;
}

/*
 * Is it held by somebody who runs at this moment, and will it be ours when he gives it back? A fiber that has ended
 * will not. A thread may run, or not.
 */
static inline bool is_worth_waiting(struct weft_mutex *m, uint64_t w, bool heir) {
    if (!heir && w >= WEFT_MUTEX_FULL) return false;
    uint64_t owner = load_rlx(weft__mutex_owner(m));
    if (!owner) return true;
    struct weft__fiber *f = weft__fiber_in(owner);
    return f && (load_rlx(&f->context.kind) != WEFT_KIND_FIBER || load_rlx(&f->context.on_stack) == WEFT_STOOD_ON);
}

/* Takes it without parking; what was seen of the word last, if that fails. */
static inline bool take_soon(struct weft_mutex *m, bool heir) {
    _Atomic uint64_t *word = weft__queue_word(&m->queue);
    uint64_t w = load_rlx(word);
    for (unsigned turn = 0; turn < WEFT_MUTEX_SPINS;) {
        if (is_free(w, heir)) {
            if (cas_ar(word, &w, taken(w, heir))) return true; /* pairs with unlock */
            continue;
        }
        if (!is_worth_waiting(m, w, heir)) return false;
        weft__pause();
        turn++;
        w = load_rlx(word);
    }
    return false;
}

static WEFT_SWITCHES int wait_for_it(struct weft_mutex *m, struct weft__fiber *me, uint64_t ways, uint64_t deadline) {
    struct weft_queue *q = &m->queue;
    struct weft_waiter waiter;
    waiter.fiber = me;
    for (bool heir = false; !take_soon(m, heir); heir = true) {
        uint64_t w = weft__queue_lock(q);
        if (is_free(w, heir)) {
            weft__queue_unlock(q, taken(w, heir));
            break;
        }
        int err = weft__wait_begin(me, ways, &waiter.ticket);
        if (heir) w = (w & ~WEFT_MUTEX_HEIR) | WEFT_MUTEX_FULL;
        if (likely(!err)) (heir ? weft__queue_prepend : weft__queue_append)(q, &waiter);
        weft__queue_unlock(q, w);
        if (unlikely(err)) return err;
        err = weft__wait_block(me, waiter.ticket, deadline);
        if (unlikely(err)) {
            weft__queue_leave(q, &waiter);
            return err;
        }
    }
    store_rlx(weft__mutex_owner(m), weft__life(me));
    return 0;
}

/* The caller has it already. */
static WEFT_COLD int take_again(struct weft_mutex *m, int refusal) {
    if (!(m->flags & WEFT_MUTEX_RECURSIVE)) return refusal;
    if (m->depth == UINT32_MAX) return -EAGAIN;
    m->depth++;
    return 0;
}

static inline bool take(struct weft_mutex *m, struct weft__fiber *me) {
    uint64_t free = 0;
    if (unlikely(!cas_ar(weft__queue_word(&m->queue), &free, WEFT_MUTEX_HELD))) return false; /* pairs with unlock */
    store_rlx(weft__mutex_owner(m), weft__life(me));
    return true;
}

static inline int lock(struct weft_mutex *m, uint64_t ways, uint64_t deadline) {
    struct weft__fiber *me = weft__me();
    if (unlikely(!me)) return -ENOMEM;
    if (likely(take(m, me))) return 0;
    if (load_rlx(weft__mutex_owner(m)) == weft__life(me))
        return take_again(m, -EDEADLK); /* only the caller could have written that */
    return wait_for_it(m, me, ways, deadline);
}

WEFT_PUBLIC int weft_mutex_init(struct weft_mutex *mutex, unsigned flags) {
    if (!mutex || flags & ~WEFT_MUTEX_RECURSIVE) return -EINVAL;
    *mutex = (struct weft_mutex)WEFT_MUTEX_INIT;
    mutex->flags = flags;
    return 0;
}

WEFT_PUBLIC int weft_mutex_lock_until(struct weft_mutex *mutex, uint64_t deadline) {
    return mutex ? lock(mutex, WEFT_WAIT_BY_CANCEL, deadline) : -EINVAL;
}

WEFT_PUBLIC int weft_mutex_lock(struct weft_mutex *mutex) {
    return likely(mutex != NULL) ? lock(mutex, WEFT_WAIT_BY_CANCEL, WEFT_FOREVER) : -EINVAL;
}

int weft__mutex_relock(struct weft_mutex *mutex) { return lock(mutex, 0, WEFT_FOREVER); }

WEFT_PUBLIC int weft_mutex_try(struct weft_mutex *mutex) {
    if (!mutex) return -EINVAL;
    struct weft__fiber *me = weft__me();
    if (!me) return -ENOMEM;
    if (take(mutex, me)) return 0;
    if (load_rlx(weft__mutex_owner(mutex)) == weft__life(me)) return take_again(mutex, -EBUSY);
    _Atomic uint64_t *word = weft__queue_word(&mutex->queue);
    uint64_t w = load_rlx(word);
    for (unsigned turn = 0; !(w & WEFT_MUTEX_HELD) && w < WEFT_MUTEX_FULL;) {
        if (w & WEFT_QUEUE_LOCKED) {
            weft__backoff(&turn);
            w = load_rlx(word);
        } else if (cas_ar(word, &w, taken(w, false))) { /* pairs with unlock */
            store_rlx(weft__mutex_owner(mutex), weft__life(me));
            return 0;
        }
    }
    return -EBUSY;
}

/* Somebody waits, or has: wakes the first, unless there is an heir already. */
static WEFT_NOINLINE int unlock_slow(struct weft_mutex *m) {
    struct weft_queue *q = &m->queue;
    _Atomic uint64_t *word = weft__queue_word(q);
    uint64_t w = load_rlx(word);
    for (unsigned turn = 0; w & WEFT_MUTEX_HEIR || !(w & WEFT_QUEUE_WAITERS);) {
        if (w & WEFT_QUEUE_LOCKED) {
            weft__backoff(&turn);
            w = load_rlx(word);
        } else if (cas_ar(word, &w, w & WEFT_MUTEX_HEIR ? w & ~WEFT_MUTEX_HELD : 0)) /* pairs with taking it */
            return 0;
    }
    weft__queue_foresee(q);
    w = weft__queue_lock_from(q, w);
    struct weft__fiber *heir = weft__queue_win(q);
    weft__queue_unlock(q, heir ? (w & ~WEFT_MUTEX_HELD) | WEFT_MUTEX_HEIR : 0);
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
    return likely(cas_ar(weft__queue_word(&mutex->queue), &held, 0)) ? 0
                                                                     : unlock_slow(mutex); /* pairs with taking it */
}
