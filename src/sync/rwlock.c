/* SPDX-License-Identifier: MIT */
/*
 * Reader-writer locks in phases: neither readers nor writers can starve the other side.
 *
 *      word:  63 ...... 3 | 2       | 1       | 0
 *             readers     | WRITER  | WAITERS | LOCKED
 *
 *   - A reader enters while no writer holds the lock or waits for it. So new readers cannot starve a writer.
 *   - A writer that leaves lets in all readers that wait at that moment, also readers that came after the next
 *     writer. So a reader waits for at most one more writer.
 *   - The last reader that leaves hands the lock to the writer that has waited longest.
 *   - A writer that gives up, by deadline or cancellation, lets in the readers that waited only because of it.
 *
 * The lock is handed over: a woken fiber holds it already. The waking thread has counted it under the lock of the word.
 * WAITERS says that a chain is not empty. While LOCKED is clear, a compare-and-swap changes the word.
 *
 * Invariant: if readers wait, a writer holds the lock or waits.
 */
#include "sched/wait/wait_queue.h"

#define WEFT_RW_WRITER UINT64_C(4)
#define WEFT_RW_READER UINT64_C(8) /* one reader */

static inline _Atomic uint64_t *word_of(struct weft_rwlock *l) { return (_Atomic uint64_t *)(void *)&l->word; }
/* The fiber or thread that writes (weft__life), or 0. */
static inline _Atomic uint64_t *rwlock_owner_of(struct weft_rwlock *l) { return (_Atomic uint64_t *)(void *)&l->owner; }

static inline uint64_t rwlock_lock(struct weft_rwlock *l) { return weft__word_lock(word_of(l), load_rlx(word_of(l))); }

static inline void rwlock_unlock(struct weft_rwlock *l, uint64_t w) {
    bool waiters = !weft__chain_is_empty(&l->readers) || !weft__chain_is_empty(&l->writers);
    store_rel(word_of(l), (w & ~WEFT_QUEUE_BUSY) | (waiters ? WEFT_QUEUE_WAITERS : 0)); /* pairs with rwlock_lock */
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

/* Locked, and free: gives the lock to the next fibers, and unlocks the word. */
static WEFT_NOINLINE void rwlock_pass_on(struct weft_rwlock *l, uint64_t w, bool readers_first) {
    struct weft__list won = {NULL, NULL};
    if (readers_first) w = let_readers_in(l, w, &won);
    if (w < WEFT_RW_READER) w = let_writer_in(l, w, &won);
    if (!(w & WEFT_RW_WRITER)) w = let_readers_in(l, w, &won);
    rwlock_unlock(l, w);
    weft__make_all_ready(&won);
}

/* --- readers ------------------------------------------------------------------------------------------ */

/* Locks for reading without waiting. False: a writer holds the lock, or callers wait, or the word is
 * locked. */
static inline bool come_in(struct weft_rwlock *l) {
    uint64_t w = load_rlx(word_of(l));
    while (!(w & (WEFT_RW_WRITER | WEFT_QUEUE_BUSY)))
        if (likely(cas_ar(word_of(l), &w, w + WEFT_RW_READER))) return true; /* pairs with weft_rwlock_unlock_write */
    return false;
}

static WEFT_SWITCHES int wait_to_read(struct weft_rwlock *l, uint64_t ways, uint64_t deadline) {
    struct weft_waiter waiter;
    waiter.fiber = weft__me();
    if (!waiter.fiber) return -ENOMEM;
    if (load_rlx(rwlock_owner_of(l)) == weft__life(waiter.fiber))
        return -EDEADLK; /* only the caller can have written this owner */
    uint64_t w = rwlock_lock(l);
    if (!(w & WEFT_RW_WRITER) && weft__chain_is_empty(&l->writers)) {
        rwlock_unlock(l, w + WEFT_RW_READER);
        return 0;
    }
    int err = weft__wait_begin(waiter.fiber, ways, &waiter.ticket);
    if (!err) weft__chain_append(&l->readers, &waiter, WEFT_ON_READ);
    rwlock_unlock(l, w);
    if (err) return weft__refused(waiter.fiber, err);
    err = weft__wait_block_for(waiter.fiber, waiter.ticket, deadline, weft__for(WEFT_ON_READ, l));
    if (unlikely(err)) {
        w = rwlock_lock(l);
        weft__chain_take_out(&l->readers, &waiter);
        rwlock_unlock(l, w);
    }
    return err;
}

static inline int lock_to_read(struct weft_rwlock *rwlock, uint64_t ways, uint64_t deadline) {
    if (!rwlock) return -EINVAL;
    return likely(come_in(rwlock)) ? 0 : wait_to_read(rwlock, ways, deadline);
}

WEFT_PUBLIC int weft_rwlock_read_until(struct weft_rwlock *rwlock, uint64_t deadline) {
    return lock_to_read(rwlock, 0, deadline);
}

WEFT_PUBLIC int weft_rwlock_read(struct weft_rwlock *rwlock) { return lock_to_read(rwlock, 0, WEFT_FOREVER); }

WEFT_PUBLIC int weft_rwlock_read_cancellable(struct weft_rwlock *rwlock, uint64_t deadline) {
    return lock_to_read(rwlock, WEFT_WAIT_BY_CANCEL, deadline);
}

WEFT_PUBLIC int weft_rwlock_read_try(struct weft_rwlock *rwlock) {
    if (!rwlock) return -EINVAL;
    if (come_in(rwlock)) return 0;
    uint64_t w = rwlock_lock(rwlock);
    bool in = !(w & WEFT_RW_WRITER) && weft__chain_is_empty(&rwlock->writers);
    rwlock_unlock(rwlock, in ? w + WEFT_RW_READER : w);
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
            if (cas_ar(word, &w, w | WEFT_QUEUE_LOCKED)) break;  /* pairs with rwlock_unlock */
        } else if (likely(cas_ar(word, &w, w - WEFT_RW_READER))) /* pairs with a writer's lock */
            return 0;
    }
    rwlock_pass_on(rwlock, w - WEFT_RW_READER, false);
    return 0;
}

/* --- writers ------------------------------------------------------------------------------------------ */

static inline bool rwlock_take(struct weft_rwlock *l, struct weft__fiber *me) {
    uint64_t free = 0;
    if (!cas_ar(word_of(l), &free, WEFT_RW_WRITER)) return false; /* pairs with the unlock of the previous holder */
    store_rlx(rwlock_owner_of(l), weft__life(me));
    return true;
}

/* A writer gives up. If it was the last waiting writer and no writer holds the lock, the readers behind it may
 * enter. */
static WEFT_COLD void rwlock_leave(struct weft_rwlock *l, struct weft_waiter *waiter) {
    struct weft__list won = {NULL, NULL};
    uint64_t w = rwlock_lock(l);
    weft__chain_take_out(&l->writers, waiter);
    if (!(w & WEFT_RW_WRITER) && weft__chain_is_empty(&l->writers)) w = let_readers_in(l, w, &won);
    rwlock_unlock(l, w);
    weft__make_all_ready(&won);
}

static WEFT_SWITCHES int wait_to_write(struct weft_rwlock *l, struct weft__fiber *me, uint64_t ways,
                                       uint64_t deadline) {
    struct weft_waiter waiter;
    waiter.fiber = me;
    uint64_t w = rwlock_lock(l);
    if (w < WEFT_RW_WRITER) { /* the lock is free, so there are no waiters either */
        rwlock_unlock(l, WEFT_RW_WRITER);
        store_rlx(rwlock_owner_of(l), weft__life(me));
        return 0;
    }
    int err = weft__wait_begin(me, ways, &waiter.ticket);
    if (!err) weft__chain_append(&l->writers, &waiter, WEFT_ON_WRITE);
    rwlock_unlock(l, w);
    if (err) return weft__refused(me, err);
    err = weft__wait_block_for(me, waiter.ticket, deadline, weft__for(WEFT_ON_WRITE, l));
    if (unlikely(err))
        rwlock_leave(l, &waiter);
    else
        store_rlx(rwlock_owner_of(l), weft__life(me));
    return err;
}

static inline int lock_to_write(struct weft_rwlock *rwlock, uint64_t ways, uint64_t deadline) {
    if (!rwlock) return -EINVAL;
    struct weft__fiber *me = weft__me();
    if (unlikely(!me)) return -ENOMEM;
    if (likely(rwlock_take(rwlock, me))) return 0;
    if (load_rlx(rwlock_owner_of(rwlock)) == weft__life(me)) return -EDEADLK;
    return wait_to_write(rwlock, me, ways, deadline);
}

WEFT_PUBLIC int weft_rwlock_write_until(struct weft_rwlock *rwlock, uint64_t deadline) {
    return lock_to_write(rwlock, 0, deadline);
}

WEFT_PUBLIC int weft_rwlock_write(struct weft_rwlock *rwlock) { return lock_to_write(rwlock, 0, WEFT_FOREVER); }

WEFT_PUBLIC int weft_rwlock_write_cancellable(struct weft_rwlock *rwlock, uint64_t deadline) {
    return lock_to_write(rwlock, WEFT_WAIT_BY_CANCEL, deadline);
}

WEFT_PUBLIC int weft_rwlock_write_try(struct weft_rwlock *rwlock) {
    if (!rwlock) return -EINVAL;
    struct weft__fiber *me = weft__me();
    if (!me) return -ENOMEM;
    if (rwlock_take(rwlock, me)) return 0;
    uint64_t w = rwlock_lock(rwlock);
    bool free = w < WEFT_RW_WRITER;
    rwlock_unlock(rwlock, free ? WEFT_RW_WRITER : w);
    if (free) store_rlx(rwlock_owner_of(rwlock), weft__life(me));
    return free ? 0 : -EBUSY;
}

WEFT_PUBLIC int weft_rwlock_unlock_write(struct weft_rwlock *rwlock) {
    if (!rwlock) return -EINVAL;
    struct weft__fiber *me = weft__me();
    if (unlikely(!me || load_rlx(rwlock_owner_of(rwlock)) != weft__life(me))) return -EPERM;
    store_rlx(rwlock_owner_of(rwlock), 0);
    uint64_t held = WEFT_RW_WRITER;
    if (likely(cas_ar(word_of(rwlock), &held, 0))) return 0; /* pairs with come_in and take */
    rwlock_pass_on(rwlock, rwlock_lock(rwlock) & ~WEFT_RW_WRITER, true);
    return 0;
}
