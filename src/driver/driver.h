/*
 * The driver: how a carrier sleeps and is woken. It talks to the kernel, says what became ready,
 * and never calls the scheduler. A worker whose ring has requests sleeps in the ring instead, which wakes
 * for these as well (ring.h); the wakers do not notice.
 *
 * The three-state flag saves both system calls when the wake-up comes early:
 *
 *   the worker                               a waker
 *   1. announce: state = SEARCHING           1. state -> AWAKE  (exchange)
 *   2. look for work once more               2. it was ASLEEP: wake the kernel's sleeper
 *   3. sleep: state SEARCHING -> ASLEEP;        it was SEARCHING: nothing more to do
 *      it was AWAKE already: do not sleep
 */
#ifndef WEFT_DRIVER_DRIVER_H
#define WEFT_DRIVER_DRIVER_H

#include "base/atomic.h"
#include "base/base.h"

enum { WEFT_AWAKE, WEFT_SEARCHING, WEFT_ASLEEP };

struct weft__uring;
struct weft__driver {
    _Atomic uint32_t state;
};

static inline void weft__driver_announce(struct weft__driver *d) { store_rlx(&d->state, WEFT_SEARCHING); }

/* Sleeps until woken, the deadline, or a completion of the ring; true when it was woken, or did not need to sleep. */
bool weft__driver_sleep(struct weft__driver *d, struct weft__uring *ring, uint64_t deadline);

/* The worker changed its mind between announce and sleep. */
static inline void weft__driver_stay(struct weft__driver *d) { store_rlx(&d->state, WEFT_AWAKE); }

/* Ends the sleep of the worker, or keeps it from beginning. Anybody. */
void weft__driver_wake(struct weft__driver *d);

#endif
