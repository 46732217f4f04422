/*
 * What fibers and threads wait in, one after the other: the core of counters, semaphores, mutexes
 * and condition variables.
 *
 *      word:  63 .................. 2 | 1        | 0
 *             value                   | WAITERS  | LOCKED
 *
 * Value and lock are one word, so that giving the lock back, changing the value and forgetting the
 * last waiter are one store. That matters when the object dies: whoever sees by the word that its
 * wait is over may free the object at once, so nobody may touch it after the store that shows it.
 *
 *   - While LOCKED or WAITERS is clear, the value is changed by one compare-and-swap.
 *   - While WAITERS is set, only by the holder of the lock.
 *   - A waiter is won (wait.h) under the lock, and made ready after it was given back.
 *   - A waiter that leaves by deadline or cancellation takes itself out of the chain, under the
 *     lock; if it is no longer in it, whoever took it out has failed to win and gone on.
 *
 * The chain itself is in chain.h.
 */
#ifndef WEFT_SYNC_QUEUE_H
#define WEFT_SYNC_QUEUE_H

#include "base/lock.h"
#include "sync/chain.h"

#define WEFT_QUEUE_LOCKED UINT64_C(1)
#define WEFT_QUEUE_WAITERS UINT64_C(2)
#define WEFT_QUEUE_BUSY UINT64_C(3)
#define WEFT_QUEUE_ONE UINT64_C(4) /* of value */
#define WEFT_QUEUE_MAX (UINT64_C(1) << 60)

static inline _Atomic uint64_t *weft__queue_word(const struct weft_queue *q) {
    return (_Atomic uint64_t *)(uintptr_t)&q->word;
}

/* Takes the lock that is bit 0 of a word, given what was last seen of it; returns the word without it. */
static inline uint64_t weft__word_lock(_Atomic uint64_t *word, uint64_t w) {
    unsigned turn = 0;
    for (;;) {
        if (unlikely(w & WEFT_QUEUE_LOCKED)) {
            weft__backoff(&turn);
            w = load_rlx(word);
        } else if (likely(cas_ar(word, &w, w | WEFT_QUEUE_LOCKED))) /* pairs with unlock */
            return w;
    }
}

static inline uint64_t weft__queue_lock_from(struct weft_queue *q, uint64_t w) {
    return weft__word_lock(weft__queue_word(q), w);
}

static inline uint64_t weft__queue_lock(struct weft_queue *q) {
    return weft__queue_lock_from(q, load_rlx(weft__queue_word(q)));
}

/* Gives the lock back with this value; WAITERS says whether the chain holds anybody. */
static inline void weft__queue_unlock(struct weft_queue *q, uint64_t value) {
    value &= ~WEFT_QUEUE_BUSY;
    store_rel(weft__queue_word(q), value | (weft__chain_is_empty(&q->first) ? 0 : WEFT_QUEUE_WAITERS));
}

static inline _Atomic(void *) *weft__queue_ahead(struct weft_queue *q) { return (_Atomic(void *) *)&q->ahead; }

/*
 * To win somebody takes two lines that another core may have written last: the waiter, and the record
 * that it names. Asked for together, before the lock is taken, they come in the time of one. (churn,
 * two workers: 30 -> 36 million a second.) Somebody else may be the first by then; that does no harm.
 */
static inline void weft__queue_foresee(struct weft_queue *q) { __builtin_prefetch(load_rlx(weft__queue_ahead(q))); }

static inline void weft__queue_append(struct weft_queue *q, struct weft_waiter *w) {
    if (likely(weft__chain_is_empty(&q->first))) store_rlx(weft__queue_ahead(q), w->fiber);
    weft__chain_append(&q->first, w);
}

/* Before all others. */
static inline void weft__queue_prepend(struct weft_queue *q, struct weft_waiter *w) {
    store_rlx(weft__queue_ahead(q), w->fiber);
    weft__chain_prepend(&q->first, w);
}

static inline void weft__queue_remove(struct weft_queue *q, struct weft_waiter *w) { weft__chain_remove(&q->first, w); }

/* Somebody was won who will run here in a moment: its frames, below and above the waiter. */
static inline WEFT_MAY_RACE void weft__queue_foresee_run(const struct weft__fiber *f) {
    uintptr_t sp = (uintptr_t)f->context.sp;
    __builtin_prefetch((void *)sp);
    __builtin_prefetch((void *)(sp + 128));
}

/* Wins the first waiter that can still be won; the fiber to make ready after unlock, or NULL. Locked. */
static inline struct weft__fiber *weft__queue_win(struct weft_queue *q) { return weft__chain_win(&q->first); }

/* The wait has ended for another reason: take the waiter out of the chain. False: somebody else has, and failed to
 * win it. */
bool weft__queue_leave(struct weft_queue *q, struct weft_waiter *w);

/*
 * Appends the caller, gives the lock back, and waits. 0: it was won. -ETIMEDOUT, -ECANCELED: it is
 * in no chain any more. ways: WEFT_WAIT_BY_CANCEL or 0.
 */
static inline __attribute__((always_inline)) int
weft__queue_wait(struct weft_queue *q, uint64_t value, struct weft_waiter *w, uint64_t ways, uint64_t deadline) {
    struct weft__fiber *me = w->fiber;
    int err = weft__wait_begin(me, ways, &w->ticket);
    if (unlikely(err)) {
        weft__queue_unlock(q, value);
        return err;
    }
    weft__queue_append(q, w);
    weft__queue_unlock(q, value);
    err = weft__wait_block(me, w->ticket, deadline);
    if (unlikely(err)) weft__queue_leave(q, w);
    return err;
}

#endif
