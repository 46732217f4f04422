/*
 * The one lock of weft's inside: a spin lock for sections of a few dozen instructions that never
 * block, call out or switch fibers. A holder can be preempted by the kernel, so a waiter soon gives
 * its processor away, and then naps. One locked instruction to take it, none to give it back: a
 * sleeping lock needs one there too, because it must learn of waiters.
 */
#ifndef WEFT_BASE_LOCK_H
#define WEFT_BASE_LOCK_H

#include "base/sys.h"

struct weft__lock {
    _Atomic uint32_t held;
};

/* Called in a loop by whoever waits for another thread's few instructions; *turn starts at 0. */
static inline void weft__backoff(unsigned *turn) {
    unsigned n = (*turn)++;
    if (n < 64)
        weft__pause();
    else if (n < 128)
        weft__cpu_yield();
    else
        weft__nap(50 * 1000);
}

/*
 * The same for what two cores may use all the time: they would take its line from each other at every step, and each
 * step would take as long as that. So whoever comes second stays away, longer each time, and meanwhile the other gets
 * many steps done. (A channel, four to four on two workers: 12 -> 50 million items a second.)
 */
static inline void weft__stay_away(unsigned *turn) {
    unsigned n = (*turn)++;
    if (n < 7)
        for (unsigned i = 0; i < 16u << n; i++) weft__pause();
    else if (n < 64)
        weft__cpu_yield();
    else
        weft__nap(50 * 1000);
}

static inline bool weft__lock_try(struct weft__lock *l) {
    /* Acquire: pairs with the release of the holder before. */
    return !load_rlx(&l->held) && !xchg_acq(&l->held, 1);
}

static inline void weft__lock(struct weft__lock *l) {
    unsigned turn = 0;
    while (unlikely(!weft__lock_try(l))) weft__backoff(&turn);
}

static inline void weft__unlock(struct weft__lock *l) { store_rel(&l->held, 0); }

#endif
