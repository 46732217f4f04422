/* The driver by futex and bell. See driver.h. */
#include "driver/driver.h"

#include "base/sys.h"
#include "driver/ring.h"

#include <errno.h>

static void sleep_here(struct weft__driver *d, uint64_t deadline) {
    int err = 0;
    while (load_acq(&d->state) == WEFT_ASLEEP && err != -ETIMEDOUT)
        err = weft__futex_wait(&d->state, WEFT_ASLEEP, deadline);
}

bool weft__driver_sleep(struct weft__driver *d, struct weft__uring *ring, uint64_t deadline) {
    uint32_t expected = WEFT_SEARCHING, how = WEFT_ASLEEP;
    bool in_ring = weft__ring_in_use(ring);
    if (in_ring && weft__ring_bell(ring) >= 0) {
        how = WEFT_AT_BELL;
        store_rlx(&d->bell, weft__ring_bell(ring)); /* a waker that finds AT_BELL sees it: the swap releases it */
    }
    /* Acquire on failure: the worker sees what the waker did before it woke the worker. */
    if (!cas_ar(&d->state, &expected, how)) return true;
    if (in_ring)
        weft__ring_sleep(ring, &d->state, how, deadline);
    else
        sleep_here(d, deadline);
    return xchg_ar(&d->state, WEFT_AWAKE) == WEFT_AWAKE; /* pairs with the waker, and makes it counted for settle */
}

bool weft__driver_doze(struct weft__driver *d, int bell, bool (*doze)(uint64_t deadline), uint64_t deadline) {
    uint32_t expected = WEFT_SEARCHING;
    store_rlx(&d->bell, bell); /* a waker that finds AT_BELL sees it: the swap releases it */
    if (!cas_ar(&d->state, &expected, WEFT_AT_BELL)) return true; /* pairs with the waker, as in sleep */
    bool has_reason = doze(deadline);
    return xchg_ar(&d->state, WEFT_AWAKE) == WEFT_AWAKE || has_reason; /* pairs with the waker, as in sleep */
}

static WEFT_COLD void ring_bell(struct weft__driver *d) {
    add_ar(&d->ringing, 1); /* before the swap below, which releases it to the worker */
    uint32_t was = xchg_ar(&d->state, WEFT_AWAKE);
    if (was == WEFT_AT_BELL) weft__eventfd_ring(load_rlx(&d->bell));
    if (was == WEFT_ASLEEP) weft__futex_wake(&d->state, 1);
    add_ar(&d->ringing, -1u); /* pairs with settle: the bell was written to before */
}

void weft__driver_wake(struct weft__driver *d) {
    uint32_t was = load_rlx(&d->state);
    do
        if (unlikely(was == WEFT_AT_BELL)) {
            ring_bell(d);
            return;
        }
    while (!cas_ar(&d->state, &was, WEFT_AWAKE)); /* pairs with sleep */
    if (was == WEFT_ASLEEP) weft__futex_wake(&d->state, 1);
}

void weft__driver_settle(struct weft__driver *d) {
    for (unsigned turn = 0; load_acq(&d->ringing);) weft__backoff(&turn); /* pairs with ring_bell */
}
