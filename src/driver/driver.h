/* SPDX-License-Identifier: MIT */
/*
 * The driver: how a carrier sleeps and how other threads wake it. It calls the kernel, reports what became ready, and
 * never calls the scheduler. A worker with requests in its ring sleeps in the ring, which also ends the sleep when a
 * request completes (uring.h).
 *
 * The state saves both system calls if the wake-up comes early:
 *
 *   the worker                               a waker
 *   1. announce: state = SEARCHING           1. state -> AWAKE  (compare and swap)
 *   2. look for work once more               2. the state was ASLEEP: wake the futex
 *   3. sleep: state SEARCHING -> ASLEEP         ASLEEP_ON_EVENT_FD: write to the event fd
 *      or ASLEEP_ON_EVENT_FD                    SEARCHING or AWAKE: nothing more to do
 *      if the state is AWAKE already:
 *      do not sleep
 *
 * ASLEEP: the worker sleeps on the futex that is the state, directly or by a request of its ring. ASLEEP_ON_EVENT_FD:
 * the worker sleeps in a place that wakes for an event descriptor: in a ring of a kernel without futex requests, or in
 * the poller (sched/wake/io_backpressure.c).
 *
 * The event fd is closed with the worker's ring or the poller. The kernel may reuse the number of a closed descriptor
 * for another file, so a close waits for wakers that may still write:
 *
 *   a waker                                  the closer, after the worker's carrier has ended
 *   1. notifiers + 1                         1. wait until notifiers is 0
 *   2. state -> AWAKE; if it was             2. close the event fd
 *      ASLEEP_ON_EVENT_FD: write to it
 *   3. notifiers - 1
 *
 * A waker that finds ASLEEP_ON_EVENT_FD in step 2 changed the state before the worker changed it on waking up. So the
 * worker, and the closer after it, see the incremented count.
 */
#ifndef WEFT_DRIVER_DRIVER_H
#define WEFT_DRIVER_DRIVER_H

#include "base/atomic.h"
#include "base/base.h"

enum { WEFT_AWAKE, WEFT_SEARCHING, WEFT_ASLEEP, WEFT_ASLEEP_ON_EVENT_FD };

struct weft__uring;
struct weft__driver {
    _Atomic uint32_t state;
    _Atomic uint32_t notifiers; /* wakers that may be writing to the event fd */
    _Atomic int event_fd;       /* valid while the state is ASLEEP_ON_EVENT_FD */
};

static inline void weft__driver_announce(struct weft__driver *d) { store_rlx(&d->state, WEFT_SEARCHING); }

/* Sleeps until a wake-up, the deadline, or a completion of the ring. True: a waker woke the worker, or had done so
 * before it slept. */
bool weft__driver_sleep(struct weft__driver *d, struct weft__uring *ring, uint64_t deadline);

/* Sleeps in `doze`, which returns when a waker writes to the event fd, at the deadline, or for its own reason; in the
 * last case it returns true. */
bool weft__driver_doze(struct weft__driver *d, int event_fd, bool (*doze)(uint64_t deadline), uint64_t deadline);

static inline bool weft__driver_is_asleep(const struct weft__driver *d) { return load_rlx(&d->state) >= WEFT_ASLEEP; }

/* The worker found work between announce and sleep. */
static inline void weft__driver_cancel_sleep(struct weft__driver *d) { store_rlx(&d->state, WEFT_AWAKE); }

/* Ends the sleep of the worker, or prevents it. Any thread. */
void weft__driver_wake(struct weft__driver *d);

/* Call before the worker's ring is closed. Returns when no waker writes to the event fd any more. */
void weft__driver_await_wakers(struct weft__driver *d);

#endif
