/*
 * The driver: how a carrier sleeps and is woken. It talks to the kernel, says what became ready,
 * and never calls the scheduler. A worker whose ring has requests sleeps in the ring instead, which wakes
 * for these as well (ring.h).
 *
 * The flag saves both system calls when the wake-up comes early:
 *
 *   the worker                               a waker
 *   1. announce: state = SEARCHING           1. state -> AWAKE  (compare and swap)
 *   2. look for work once more               2. it was ASLEEP: wake the futex; AT_BELL: write to the bell;
 *   3. sleep: state SEARCHING -> ASLEEP         SEARCHING or AWAKE: nothing more to do
 *      or AT_BELL; the state was AWAKE
 *      already: do not sleep
 *
 * ASLEEP: the worker sleeps on the futex that is the state, itself or by a request of its ring. AT_BELL: the worker
 * sleeps where it wakes for an event descriptor, the bell: in a ring of a kernel that has no such request, or in the
 * poller (sched/dry.c).
 *
 * The bell is closed when the worker's ring or the poller is closed. The number of a closed descriptor may become
 * another file's, so a close waits for the wakers that may still write:
 *
 *   a waker                                  the closer, after the worker's carrier has ended
 *   1. ringing + 1                           1. waits until ringing is 0
 *   2. state -> AWAKE; it was AT_BELL:       2. closes the bell
 *      write to the bell
 *   3. ringing - 1
 *
 * A waker that finds AT_BELL in its step 2 changed the state before the worker did, when it woke up. So the worker, and
 * the closer after it, see the waker counted.
 */
#ifndef WEFT_DRIVER_DRIVER_H
#define WEFT_DRIVER_DRIVER_H

#include "base/atomic.h"
#include "base/base.h"

enum { WEFT_AWAKE, WEFT_SEARCHING, WEFT_ASLEEP, WEFT_AT_BELL };

struct weft__uring;
struct weft__driver {
    _Atomic uint32_t state;
    _Atomic uint32_t ringing; /* wakers that may be writing to the bell */
    _Atomic int bell;         /* valid while the state is AT_BELL */
};

static inline void weft__driver_announce(struct weft__driver *d) { store_rlx(&d->state, WEFT_SEARCHING); }

/* Sleeps until woken, the deadline, or a completion of the ring; true when it was woken, or did not need to sleep. */
bool weft__driver_sleep(struct weft__driver *d, struct weft__uring *ring, uint64_t deadline);

/* Sleeps in `doze`, which returns when the bell was written to, at the deadline, or for a reason of its own, and then
 * says true. */
bool weft__driver_doze(struct weft__driver *d, int bell, bool (*doze)(uint64_t deadline), uint64_t deadline);

static inline bool weft__driver_is_asleep(const struct weft__driver *d) { return load_rlx(&d->state) >= WEFT_ASLEEP; }

/* The worker changed its mind between announce and sleep. */
static inline void weft__driver_stay(struct weft__driver *d) { store_rlx(&d->state, WEFT_AWAKE); }

/* Ends the sleep of the worker, or keeps it from beginning. Any thread. */
void weft__driver_wake(struct weft__driver *d);

/* Before the worker's ring is closed: returns when no waker writes to the bell any more. */
void weft__driver_settle(struct weft__driver *d);

#endif
