/* SPDX-License-Identifier: MIT */
/* Replaces src/base/lock.h: a thread that finds a lock taken continues when the lock is free. */
#ifndef WEFT_BASE_LOCK_H
#define WEFT_BASE_LOCK_H

#include "base/sys.h"

struct weft__lock {
    _Atomic uint32_t held;
};

/* Spinning changes nothing: the explorer has seen that state before, and does not continue from it. */
static inline void weft__backoff(unsigned *turn) { (void)turn; }
static inline void weft__backoff_contended(unsigned *turn) { (void)turn; }

static inline bool weft__lock_try(struct weft__lock *l) { return !load_rlx(&l->held) && !xchg_acq(&l->held, 1); }
static inline void weft__lock(struct weft__lock *l) {
    WEAK_STEP(STEP_LOCK, &l->held, sizeof l->held, ORDER_ACQUIRE, 1, 0, "takes the lock");
}
static inline bool weft__lock_is_held(const struct weft__lock *l) { return load_rlx(&l->held); }
static inline void weft__unlock(struct weft__lock *l) { store_rel(&l->held, 0); }

#endif
