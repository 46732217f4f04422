/* SPDX-License-Identifier: MIT */
/*
 * The lock for weft's internal state: a spin lock for sections of a few dozen instructions that never block, call user
 * code or switch fibers. The kernel can preempt the holder, so a waiter soon yields its processor, and later naps.
 * Locking takes one locked instruction, unlocking none. A sleeping lock would need a second locked instruction in
 * unlock, to learn of waiters.
 */
#ifndef WEFT_BASE_LOCK_H
#define WEFT_BASE_LOCK_H

#include "base/sys.h"

struct weft__lock {
    _Atomic uint32_t held;
};

/* For a loop that waits until another thread has run a few instructions. *turn starts at 0. */
static inline void weft__backoff(unsigned *turn) {
    unsigned n = (*turn)++;
    if (n < 64)
        weft__cpu_pause();
    else if (n < 128)
        weft__cpu_yield();
    else
        weft__nap(50 * 1000);
}

/*
 * For a word that two cores may use all the time. If both kept trying, the cache line would move at every step. So the
 * loser of a race waits, longer each time, and the winner completes many steps meanwhile. (A channel, four senders and
 * four receivers on two workers: 12 -> 50 million items a second.)
 */
static inline void weft__backoff_contended(unsigned *turn) {
    unsigned n = (*turn)++;
    if (n < 7)
        for (unsigned i = 0; i < 16u << n; i++) weft__cpu_pause();
    else if (n < 64)
        weft__cpu_yield();
    else
        weft__nap(50 * 1000);
}

static inline bool weft__lock_try(struct weft__lock *l) {
    /* Acquire: pairs with weft__unlock of the previous holder. */
    return !load_rlx(&l->held) && !xchg_acq(&l->held, 1);
}

static inline void weft__lock(struct weft__lock *l) {
    unsigned turn = 0;
    while (unlikely(!weft__lock_try(l))) weft__backoff(&turn);
}

/* Is the lock held, by any thread? For assertions. */
static inline bool weft__lock_is_held(const struct weft__lock *l) { return load_rlx(&l->held); }

static inline void weft__unlock(struct weft__lock *l) { store_rel(&l->held, 0); }

#endif
