/* In the stead of src/base/lock.h: who finds the lock held goes on when it is free. */
#ifndef WEFT_BASE_LOCK_H
#define WEFT_BASE_LOCK_H

#include "base/sys.h"

struct weft__lock {
    _Atomic uint32_t held;
};

/* Until the word is zero. */
void interleave_until_zero(_Atomic uint32_t *word);

/* Spinning changes nothing, so the explorer has been here before, and leaves it at that. */
static inline void weft__backoff(unsigned *turn) { (void)turn; }

static inline void weft__lock(struct weft__lock *l) {
    interleave_until_zero(&l->held);
    atomic_store(&l->held, 1);
}
static inline void weft__unlock(struct weft__lock *l) {
    interleave_point();
    atomic_store(&l->held, 0);
}

#endif
