/* The driver by futex: nothing but sleep and wake. See driver.h. */
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
    uint32_t expected = WEFT_SEARCHING;
    /* Acquire on failure: what the waker did before it woke us is seen. */
    if (!cas_ar(&d->state, &expected, WEFT_ASLEEP)) return true;
    if (weft__ring_in_use(ring))
        weft__ring_sleep(ring, &d->state, deadline);
    else
        sleep_here(d, deadline);
    return xchg_ar(&d->state, WEFT_AWAKE) == WEFT_AWAKE;
}

void weft__driver_wake(struct weft__driver *d) {
    if (xchg_ar(&d->state, WEFT_AWAKE) == WEFT_ASLEEP) weft__futex_wake(&d->state, 1);
}
