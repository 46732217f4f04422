/* SPDX-License-Identifier: MIT */
/* The driver: a wake-up that comes before the sleep is not lost, and two are one. */
#include "../test.h"

#include "base/sys.h"
#include "driver/driver.h"
#include "driver/uring.h"

#include <pthread.h>

static struct weft__uring no_ring;

TEST(a_wake_before_the_sleep_is_kept) {
    struct weft__driver d = {.state = WEFT_AWAKE};
    for (int i = 0; i < 100; i++) {
        weft__driver_announce(&d);
        weft__driver_wake(&d);
        weft__driver_wake(&d);
        CHECK(weft__driver_sleep(&d, &no_ring, WEFT_FOREVER));
    }
}

TEST(a_deadline_ends_the_sleep_and_not_early) {
    struct weft__driver d = {.state = WEFT_AWAKE};
    weft__driver_announce(&d);
    CHECK(!weft__driver_sleep(&d, &no_ring, 0));
    for (int i = 0; i < 5; i++) {
        uint64_t until = weft__clock() + 3 * WEFT_MILLISECOND;
        weft__driver_announce(&d);
        CHECK(!weft__driver_sleep(&d, &no_ring, until));
        CHECK(weft__clock() >= until);
    }
}

TEST(staying_needs_no_wake) {
    struct weft__driver d = {.state = WEFT_AWAKE};
    weft__driver_announce(&d);
    weft__driver_cancel_sleep(&d);
    weft__driver_wake(&d);
    weft__driver_announce(&d); /* the wake before was for a time that is over */
    CHECK(!weft__driver_sleep(&d, &no_ring, weft__clock() + WEFT_MILLISECOND));
}

/* The handshake: items are offered, then the sleeper is woken if it may sleep; all must arrive. */
struct exchange {
    struct weft__driver d;
    _Atomic uint64_t offered;
    uint64_t items;
};

static void *offer(void *arg) {
    struct exchange *x = arg;
    uint64_t random = 3;
    for (uint64_t i = 0; i < x->items; i++) {
        add_rlx(&x->offered, 1);
        fence_sc();
        weft__driver_wake(&x->d);
        for (uint64_t n = test_below(&random, 200); n; n--) weft__cpu_pause();
        if (!test_below(&random, 64)) weft__cpu_yield();
    }
    return NULL;
}

TEST_WITHIN(no_wake_is_lost, 60) {
    struct exchange x = {.items = test_size(200000)};
    pthread_t thread;
    uint64_t seen = 0;
    CHECK(!pthread_create(&thread, NULL, offer, &x));
    while (seen < x.items) {
        uint64_t now = load_acq(&x.offered);
        if (now != seen) {
            seen = now;
            continue;
        }
        weft__driver_announce(&x.d);
        fence_sc();
        if (load_acq(&x.offered) != seen)
            weft__driver_cancel_sleep(&x.d);
        else
            CHECK(weft__driver_sleep(&x.d, &no_ring, WEFT_FOREVER)); /* hangs if it is lost */
    }
    CHECK(!pthread_join(thread, NULL));
}
