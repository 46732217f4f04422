/* SPDX-License-Identifier: MIT */
/* The driver's sleep and wake by futex and event fd. See driver.h. */
#include "driver/driver.h"

#include "base/sys.h"
#include "driver/uring.h"

#include <errno.h>

static void sleep_here(struct weft__driver *d, uint64_t deadline) {
    int err = 0;
    while (load_acq(&d->state) == WEFT_ASLEEP && err != -ETIMEDOUT)
        err = weft__futex_wait(&d->state, WEFT_ASLEEP, deadline);
}

bool weft__driver_sleep(struct weft__driver *d, struct weft__uring *ring, uint64_t deadline) {
    uint32_t expected = WEFT_SEARCHING, how = WEFT_ASLEEP;
    bool in_ring = weft__uring_is_in_use(ring);
    if (in_ring && weft__uring_event_fd(ring) >= 0) {
        how = WEFT_ASLEEP_ON_EVENT_FD;
        store_rlx(&d->event_fd,
                  weft__uring_event_fd(ring)); /* the swap below releases it to wakers that find ASLEEP_ON_EVENT_FD */
    }
    /* Acquire on failure: the worker sees the waker's writes before the wake-up. */
    if (!cas_ar(&d->state, &expected, how)) return true;
    if (in_ring)
        weft__uring_sleep(ring, &d->state, how, deadline);
    else
        sleep_here(d, deadline);
    return xchg_ar(&d->state, WEFT_AWAKE) ==
           WEFT_AWAKE; /* pairs with the waker; makes its count visible to weft__driver_await_wakers */
}

bool weft__driver_doze(struct weft__driver *d, int event_fd, bool (*doze)(uint64_t deadline), uint64_t deadline) {
    uint32_t expected = WEFT_SEARCHING;
    store_rlx(&d->event_fd, event_fd); /* the swap below releases it to wakers that find ASLEEP_ON_EVENT_FD */
    if (!cas_ar(&d->state, &expected, WEFT_ASLEEP_ON_EVENT_FD))
        return true; /* pairs with the waker, as in weft__driver_sleep */
    bool has_reason = doze(deadline);
    return xchg_ar(&d->state, WEFT_AWAKE) == WEFT_AWAKE ||
           has_reason; /* pairs with the waker, as in weft__driver_sleep */
}

static WEFT_COLD void notify_event_fd(struct weft__driver *d) {
    add_ar(&d->notifiers, 1); /* before the swap below, which releases it to the worker */
    uint32_t was = xchg_ar(&d->state, WEFT_AWAKE);
    if (was == WEFT_ASLEEP_ON_EVENT_FD) weft__eventfd_notify(load_rlx(&d->event_fd));
    if (was == WEFT_ASLEEP) weft__futex_wake(&d->state, 1);
    add_ar(&d->notifiers, -1u); /* pairs with weft__driver_await_wakers: the write to the event fd is over */
}

void weft__driver_wake(struct weft__driver *d) {
    uint32_t was = load_rlx(&d->state);
    do
        if (unlikely(was == WEFT_ASLEEP_ON_EVENT_FD)) {
            notify_event_fd(d);
            return;
        }
    while (!cas_ar(&d->state, &was, WEFT_AWAKE)); /* pairs with weft__driver_sleep */
    if (was == WEFT_ASLEEP) weft__futex_wake(&d->state, 1);
}

void weft__driver_await_wakers(struct weft__driver *d) {
    for (unsigned turn = 0; load_acq(&d->notifiers);) weft__backoff(&turn); /* pairs with notify_event_fd */
}
