/*
 * Reader-writer locks, in phases: neither readers nor writers can keep the others out.
 *
 *      word:  63 ...... 3 | 2       | 1       | 0
 *             readers     | WRITER  | WAITERS | LOCKED
 *
 *   - A reader comes in while no writer holds the lock or waits for it. So readers that keep coming do
 *     not keep a writer waiting.
 *   - A writer that leaves lets in all readers that wait at that moment, also those who came after
 *     the next writer. So writers that keep coming do not keep a reader waiting for more than one.
 *   - The last reader that leaves hands the lock to the writer that has waited longest.
 *   - A writer that gives up waiting, by deadline or cancellation, lets the readers in that waited only
 *     because of it.
 *
 * The lock is handed over: whoever is woken has it, was counted by the one that woke it, under the
 * lock of the word. WAITERS says that one of the chains holds somebody; while LOCKED is clear, the
 * word is changed by a compare-and-swap.
 *
 * Always: if readers wait, a writer holds the lock, or waits.
 */
#include "sync/queue.h"

#define WEFT_RW_WRITER UINT64_C(4)
#define WEFT_RW_READER UINT64_C(8) /* one of them */

static inline _Atomic uint64_t *word_of(struct weft_rwlock *l) { return (_Atomic uint64_t *)(void *)&l->word; }
/* Who writes (weft__life), or 0. */
static inline _Atomic uint64_t *owner_of(struct weft_rwlock *l) { return (_Atomic uint64_t *)(void *)&l->owner; }

static inline uint64_t lock(struct weft_rwlock *l) { return weft__word_lock(word_of(l), load_rlx(word_of(l))); }

static inline void unlock(struct weft_rwlock *l, uint64_t w) {
    bool waiters = !weft__chain_is_empty(&l->readers) || !weft__chain_is_empty(&l->writers);
    store_rel(word_of(l), (w & ~WEFT_QUEUE_BUSY) | (waiters ? WEFT_QUEUE_WAITERS : 0)); /* pairs with lock */
}

/* --- the next phase ----------------------------------------------------------------------------------- */

static uint64_t let_readers_in(struct weft_rwlock *l, uint64_t w, struct weft__list *won) {
    for (struct weft__fiber *f; (f = weft__chain_win(&l->readers)); w += WEFT_RW_READER)
        weft__list_put(won, &f->slot.link);
    return w;
}

static uint64_t let_writer_in(struct weft_rwlock *l, uint64_t w, struct weft__list *won) {
    struct weft__fiber *f = weft__chain_win(&l->writers);
    if (!f) return w;
    weft__list_put(won, &f->slot.link);
    return w | WEFT_RW_WRITER;
}

/* Locked, and nobody has it any more: gives it to those whose turn it is, and the lock of the word back. */
static WEFT_NOINLINE void pass_on(struct weft_rwlock *l, uint64_t w, bool readers_first) {
    struct weft__list won = {NULL, NULL};
    if (readers_first) w = let_readers_in(l, w, &won);
    if (w < WEFT_RW_READER) w = let_writer_in(l, w, &won);
    if (!(w & WEFT_RW_WRITER)) w = let_readers_in(l, w, &won);
    unlock(l, w);
    weft__make_all_ready(&won);
}

/* --- readers ------------------------------------------------------------------------------------------ */

/* True: it is in; false: a writer is in the way, or somebody has the word locked. */
static inline bool come_in(struct weft_rwlock *l) {
    uint64_t w = load_rlx(word_of(l));
    while (!(w & (WEFT_RW_WRITER | WEFT_QUEUE_BUSY)))
        if (likely(cas_ar(word_of(l), &w, w + WEFT_RW_READER))) return true; /* pairs with unlock_write */
    return false;
}

static WEFT_SWITCHES int wait_to_read(struct weft_rwlock *l, uint64_t deadline) {
    struct weft_waiter waiter;
    waiter.fiber = weft__me();
    if (!waiter.fiber) return -ENOMEM;
    if (load_rlx(owner_of(l)) == weft__life(waiter.fiber))
        return -EDEADLK; /* only the caller could have written that */
    uint64_t w = lock(l);
    if (!(w & WEFT_RW_WRITER) && weft__chain_is_empty(&l->writers)) {
        unlock(l, w + WEFT_RW_READER);
        return 0;
    }
    int err = weft__wait_begin(waiter.fiber, WEFT_WAIT_BY_CANCEL, &waiter.ticket);
    if (!err) weft__chain_append(&l->readers, &waiter);
    unlock(l, w);
    if (err) return err;
    err = weft__wait_block(waiter.fiber, waiter.ticket, deadline);
    if (unlikely(err)) {
        w = lock(l);
        weft__chain_take_out(&l->readers, &waiter);
        unlock(l, w);
    }
    return err;
}

WEFT_PUBLIC int weft_rwlock_read_until(struct weft_rwlock *rwlock, uint64_t deadline) {
    if (!rwlock) return -EINVAL;
    return likely(come_in(rwlock)) ? 0 : wait_to_read(rwlock, deadline);
}

WEFT_PUBLIC int weft_rwlock_read(struct weft_rwlock *rwlock) { return weft_rwlock_read_until(rwlock, WEFT_FOREVER); }

WEFT_PUBLIC int weft_rwlock_read_try(struct weft_rwlock *rwlock) {
    if (!rwlock) return -EINVAL;
    if (come_in(rwlock)) return 0;
    uint64_t w = lock(rwlock);
    bool in = !(w & WEFT_RW_WRITER) && weft__chain_is_empty(&rwlock->writers);
    unlock(rwlock, in ? w + WEFT_RW_READER : w);
    return in ? 0 : -EBUSY;
}

WEFT_PUBLIC int weft_rwlock_unlock_read(struct weft_rwlock *rwlock) {
    if (!rwlock) return -EINVAL;
    _Atomic uint64_t *word = word_of(rwlock);
    uint64_t w = load_rlx(word);
    unsigned turn = 0;
    for (;;) {
        if (unlikely(w < WEFT_RW_READER)) return -EPERM;
        if (unlikely(w & WEFT_QUEUE_LOCKED)) {
            weft__backoff(&turn);
            w = load_rlx(word);
        } else if (unlikely(w & WEFT_QUEUE_WAITERS && w < 2 * WEFT_RW_READER)) {
            if (cas_ar(word, &w, w | WEFT_QUEUE_LOCKED)) break;  /* pairs with unlock */
        } else if (likely(cas_ar(word, &w, w - WEFT_RW_READER))) /* pairs with write */
            return 0;
    }
    pass_on(rwlock, w - WEFT_RW_READER, false);
    return 0;
}

/* --- writers ------------------------------------------------------------------------------------------ */

static inline bool take(struct weft_rwlock *l, struct weft__fiber *me) {
    uint64_t free = 0;
    if (!cas_ar(word_of(l), &free, WEFT_RW_WRITER)) return false; /* pairs with whoever gave it back */
    store_rlx(owner_of(l), weft__life(me));
    return true;
}

/* A writer gives up. The readers behind it wait for nothing more, if it was the last, and none is inside. */
static WEFT_COLD void leave(struct weft_rwlock *l, struct weft_waiter *waiter) {
    struct weft__list won = {NULL, NULL};
    uint64_t w = lock(l);
    weft__chain_take_out(&l->writers, waiter);
    if (!(w & WEFT_RW_WRITER) && weft__chain_is_empty(&l->writers)) w = let_readers_in(l, w, &won);
    unlock(l, w);
    weft__make_all_ready(&won);
}

static WEFT_SWITCHES int wait_to_write(struct weft_rwlock *l, struct weft__fiber *me, uint64_t deadline) {
    struct weft_waiter waiter;
    waiter.fiber = me;
    uint64_t w = lock(l);
    if (w < WEFT_RW_WRITER) { /* nobody is inside, so nobody waits either */
        unlock(l, WEFT_RW_WRITER);
        store_rlx(owner_of(l), weft__life(me));
        return 0;
    }
    int err = weft__wait_begin(me, WEFT_WAIT_BY_CANCEL, &waiter.ticket);
    if (!err) weft__chain_append(&l->writers, &waiter);
    unlock(l, w);
    if (err) return err;
    err = weft__wait_block(me, waiter.ticket, deadline);
    if (unlikely(err))
        leave(l, &waiter);
    else
        store_rlx(owner_of(l), weft__life(me));
    return err;
}

WEFT_PUBLIC int weft_rwlock_write_until(struct weft_rwlock *rwlock, uint64_t deadline) {
    if (!rwlock) return -EINVAL;
    struct weft__fiber *me = weft__me();
    if (unlikely(!me)) return -ENOMEM;
    if (likely(take(rwlock, me))) return 0;
    if (load_rlx(owner_of(rwlock)) == weft__life(me)) return -EDEADLK;
    return wait_to_write(rwlock, me, deadline);
}

WEFT_PUBLIC int weft_rwlock_write(struct weft_rwlock *rwlock) { return weft_rwlock_write_until(rwlock, WEFT_FOREVER); }

WEFT_PUBLIC int weft_rwlock_write_try(struct weft_rwlock *rwlock) {
    if (!rwlock) return -EINVAL;
    struct weft__fiber *me = weft__me();
    if (!me) return -ENOMEM;
    if (take(rwlock, me)) return 0;
    uint64_t w = lock(rwlock);
    bool free = w < WEFT_RW_WRITER;
    unlock(rwlock, free ? WEFT_RW_WRITER : w);
    if (free) store_rlx(owner_of(rwlock), weft__life(me));
    return free ? 0 : -EBUSY;
}

WEFT_PUBLIC int weft_rwlock_unlock_write(struct weft_rwlock *rwlock) {
    if (!rwlock) return -EINVAL;
    struct weft__fiber *me = weft__me();
    if (unlikely(!me || load_rlx(owner_of(rwlock)) != weft__life(me))) return -EPERM;
    store_rlx(owner_of(rwlock), 0);
    uint64_t held = WEFT_RW_WRITER;
    if (likely(cas_ar(word_of(rwlock), &held, 0))) return 0; /* pairs with come_in and take */
    pass_on(rwlock, lock(rwlock) & ~WEFT_RW_WRITER, true);
    return 0;
}
