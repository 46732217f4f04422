/* SPDX-License-Identifier: MIT */
/*
 * Wait queues: the core of counters, semaphores, mutexes and condition variables.
 *
 *      word:  63 .................. 2 | 1        | 0
 *             value                   | WAITERS  | LOCKED
 *
 * Value and lock share a word, so that one store unlocks, changes the value and clears WAITERS. That matters when the
 * object is destroyed: a thread that sees by the word that its wait is over may free the object at once, so no thread
 * touches it after that store.
 *
 *   - While LOCKED and WAITERS are clear, a compare-and-swap changes the value.
 *   - While WAITERS is set, only the holder of the lock changes the value.
 *   - A waiter is won (wait.h) under the lock, and made ready after the unlock.
 *   - A waiter that leaves by deadline or cancellation removes itself from the chain, under the lock. If it is no
 *     longer in the chain, another thread has removed it and failed to win it.
 *
 * The chain is in chain.h.
 */
#ifndef WEFT_SYNC_WAIT_QUEUE_H
#define WEFT_SYNC_WAIT_QUEUE_H

#include "base/assert.h"
#include "base/lock.h"
#include "sched/wait/wait_chain.h"

#define WEFT_QUEUE_LOCKED UINT64_C(1)
#define WEFT_QUEUE_WAITERS UINT64_C(2)
#define WEFT_QUEUE_BUSY UINT64_C(3)
#define WEFT_QUEUE_ONE UINT64_C(4) /* one unit of the value */
#define WEFT_QUEUE_MAX (UINT64_C(1) << 60)

static inline _Atomic uint64_t *weft__wait_queue_word(const struct weft_queue *q) {
    return (_Atomic uint64_t *)(uintptr_t)&q->word;
}

/* Takes the lock that is bit 0 of a word; w: the last value seen. Returns the word without that bit. */
static inline uint64_t weft__word_lock(_Atomic uint64_t *word, uint64_t w) {
    unsigned turn = 0;
    for (;;) {
        if (unlikely(w & WEFT_QUEUE_LOCKED)) {
            weft__backoff(&turn);
            w = load_rlx(word);
        } else if (likely(cas_ar(word, &w, w | WEFT_QUEUE_LOCKED))) /* pairs with the unlock of the word */
            return w;
    }
}

static inline bool weft__wait_queue_is_locked(const struct weft_queue *q) {
    return load_rlx(weft__wait_queue_word(q)) & WEFT_QUEUE_LOCKED;
}

static inline uint64_t weft__wait_queue_lock_from(struct weft_queue *q, uint64_t w) {
    return weft__word_lock(weft__wait_queue_word(q), w);
}

static inline uint64_t weft__wait_queue_lock(struct weft_queue *q) {
    return weft__wait_queue_lock_from(q, load_rlx(weft__wait_queue_word(q)));
}

/* Unlocks with this value; WAITERS tells whether the chain holds waiters. Pairs with weft__word_lock. */
static inline void weft__wait_queue_unlock(struct weft_queue *q, uint64_t value) {
    WEFT_ASSERT(weft__wait_queue_is_locked(q));
    value &= ~WEFT_QUEUE_BUSY;
    store_rel(weft__wait_queue_word(q), value | (weft__chain_is_empty(&q->first) ? 0 : WEFT_QUEUE_WAITERS));
}

static inline _Atomic(void *) *weft__wait_queue_first_fiber(struct weft_queue *q) {
    return (_Atomic(void *) *)&q->ahead;
}

/*
 * Winning a waiter touches two cache lines that another core may have written last: the waiter, and the record of its
 * fiber. Prefetching the record before taking the lock fetches both in the time of one. (churn, two workers: 30 -> 36
 * million a second.) If another waiter is the first by then, that does no harm.
 */
static inline void weft__wait_queue_prefetch(struct weft_queue *q) {
    __builtin_prefetch(load_rlx(weft__wait_queue_first_fiber(q)));
}

static inline void weft__wait_queue_append(struct weft_queue *q, struct weft_waiter *w, enum weft__wait_object on) {
    WEFT_ASSERT(weft__wait_queue_is_locked(q));
    if (likely(weft__chain_is_empty(&q->first))) store_rlx(weft__wait_queue_first_fiber(q), w->fiber);
    weft__chain_append(&q->first, w, on);
}

/* Inserts at the front. */
static inline void weft__wait_queue_prepend(struct weft_queue *q, struct weft_waiter *w, enum weft__wait_object on) {
    WEFT_ASSERT(weft__wait_queue_is_locked(q));
    store_rlx(weft__wait_queue_first_fiber(q), w->fiber);
    weft__chain_prepend(&q->first, w, on);
}

static inline void weft__wait_queue_remove(struct weft_queue *q, struct weft_waiter *w) {
    WEFT_ASSERT(weft__wait_queue_is_locked(q));
    weft__chain_remove(&q->first, w);
}

/* Prefetches the stack of a fiber that was won and will run here soon: its frames below and above the waiter. */
static inline WEFT_MAY_RACE void weft__wait_queue_prefetch_stack(const struct weft__fiber *f) {
    uintptr_t sp = (uintptr_t)f->context.sp;
    __builtin_prefetch((void *)sp);
    __builtin_prefetch((void *)(sp + 128));
}

/* Wins the first waiter that can still be won. Returns the fiber to make ready after the unlock, or NULL. Locked. */
static inline struct weft__fiber *weft__wait_queue_win(struct weft_queue *q) { return weft__chain_win(&q->first); }

/* The wait has ended for another reason: removes the waiter from the chain. False: another thread has removed it, and
 * failed to win it. */
bool weft__wait_queue_leave(struct weft_queue *q, struct weft_waiter *w);

/*
 * Appends the caller, unlocks, and waits. 0: the waiter was won. -ETIMEDOUT, -ECANCELED: it has left the chain. ways:
 * WEFT_WAIT_BY_CANCEL or 0.
 */
static inline __attribute__((always_inline)) int weft__wait_queue_wait(struct weft_queue *q, uint64_t value,
                                                                       struct weft_waiter *w, enum weft__wait_object on,
                                                                       uint64_t ways, uint64_t deadline) {
    struct weft__fiber *me = w->fiber;
    int err = weft__wait_begin(me, ways, &w->ticket);
    if (unlikely(err)) {
        weft__wait_queue_unlock(q, value);
        return weft__refused(me, err);
    }
    weft__wait_queue_append(q, w, on);
    weft__wait_queue_unlock(q, value);
    err = weft__wait_block_for(me, w->ticket, deadline, weft__for(on, q));
    if (unlikely(err)) weft__wait_queue_leave(q, w);
    return err;
}

#endif
