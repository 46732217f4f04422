/* SPDX-License-Identifier: MIT */
/* Futures: set once, seen by all waiters; several at once. */
#include "fiber.h"

#include <string.h>

static void values(void *unused) {
    (void)unused;
    struct weft_future f = WEFT_FUTURE_INIT, bad = WEFT_ZERO;
    void *value = NULL;
    CHECK_EQ(weft_future_try(&f, &value), -EAGAIN);
    CHECK_EQ(weft_future_wait_until(&f, &value, 0), -ETIMEDOUT);
    CHECK_EQ(weft_future_set(&f, &f), 0);
    CHECK_EQ(weft_future_set(&f, NULL), -EALREADY);
    CHECK_EQ(weft_future_fail(&f, -EIO), -EALREADY);
    CHECK_EQ(weft_future_try(&f, &value), 0);
    CHECK(value == &f);
    CHECK_EQ(weft_future_wait(&f, NULL), 0);
    CHECK_EQ(weft_future_fail(&bad, 0), -EINVAL);
    CHECK_EQ(weft_future_fail(&bad, 5), -EINVAL);
    CHECK_EQ(weft_future_fail(&bad, -EIO), 0);
    value = NULL;
    CHECK_EQ(weft_future_wait(&bad, &value), -EIO);
    CHECK_EQ(weft_future_try(&bad, &value), -EIO);
    CHECK(!value);
}
TEST(values) { each_size(values); }
TEST(values_without_a_runtime) { values(NULL); }

enum { WAITERS = 10 };
static struct weft_future promise;
static int waiting;

static void *waits_for_it(void *unused) {
    (void)unused;
    void *value;
    ADD(&waiting, 1);
    CHECK_EQ(weft_future_wait(&promise, &value), 0);
    return value;
}
static void *waits_in_vain(void *unused) {
    ADD(&waiting, 1);
    CHECK_EQ(weft_future_wait(&promise, NULL), -ECANCELED);
    return unused;
}
TEST(all_waiters_are_woken) {
    test_start(2);
    struct weft_fiber f[WAITERS], left;
    pthread_t t[WAITERS];
    for (int i = 0; i < WAITERS; i++) f[i] = spawn(waits_for_it, NULL);
    for (int i = 0; i < WAITERS; i++) t[i] = thread_start(waits_for_it, NULL);
    left = spawn(waits_in_vain, NULL);
    test_await(&waiting, 2 * WAITERS + 1);
    test_nap_ms(2);
    CHECK_EQ(weft_cancel(left), 0);
    join(left);
    CHECK_EQ(weft_future_set(&promise, &promise), 0);
    for (int i = 0; i < WAITERS; i++) CHECK(join(f[i]) == &promise);
    for (int i = 0; i < WAITERS; i++) CHECK(thread_join(t[i]) == &promise);
    test_stop();
}

static void *sets(void *future) {
    CHECK_EQ(weft_future_set(future, future), 0);
    return NULL;
}
static void *fails(void *future) {
    CHECK_EQ(weft_future_fail(future, -ENOENT), 0);
    return NULL;
}
TEST_WITHIN(freed_when_the_wait_has_returned, 60) {
    test_start(2);
    for (size_t i = test_size(3000); i > 0; i--) {
        struct weft_future f = WEFT_FUTURE_INIT;
        void *value;
        spawn_detached(sets, &f);
        CHECK_EQ(weft_future_wait(&f, &value), 0);
        CHECK(value == &f);
        memset(&f, 0xff, sizeof f);
    }
    test_stop();
}

static struct weft_future contended;
static int winners;
static void *tries_to_set(void *value) {
    if (!weft_future_set(&contended, value)) ADD(&winners, 1);
    return NULL;
}
static void set_once(void *unused) {
    (void)unused;
    for (size_t i = test_size(500); i > 0; i--) {
        struct weft_fiber f[4];
        contended = (struct weft_future)WEFT_FUTURE_INIT;
        STORE(&winners, 0);
        for (int k = 0; k < 4; k++) f[k] = spawn(tries_to_set, &f[k]);
        void *value;
        CHECK_EQ(weft_future_wait(&contended, &value), 0);
        CHECK((struct weft_fiber *)value >= f && (struct weft_fiber *)value < f + 4);
        for (int k = 0; k < 4; k++) join(f[k]);
        CHECK_EQ(winners, 1);
    }
}
TEST_WITHIN(set_once, 60) { each_size(set_once); }

/* --- several ---------------------------------------------------------------------------------------------- */

enum { MANY = 40 };
static void several(void *unused) {
    (void)unused;
    struct weft_future f[MANY], *all[MANY];
    for (int i = 0; i < MANY; i++) {
        f[i] = (struct weft_future)WEFT_FUTURE_INIT;
        all[i] = &f[i];
    }
    CHECK_EQ(weft_future_all(NULL, 0), 0);
    CHECK_EQ(weft_future_all_until(all, MANY, 0), -ETIMEDOUT);
    CHECK_EQ(weft_future_any_until(all, MANY, 0), -ETIMEDOUT);
    CHECK_EQ(weft_future_any_until(all, 3, weft_now() + 1000), -ETIMEDOUT);
    CHECK_EQ(weft_future_any_until(NULL, 0, 0), -ETIMEDOUT);
    spawn_detached(sets, &f[31]);
    CHECK_EQ(weft_future_any(all, MANY), 31); /* so many waiters that their records are on the heap */
    CHECK_EQ(weft_future_any(all, MANY), 31);
    spawn_detached(fails, &f[7]);
    CHECK_EQ(weft_future_any(all, 10), 7); /* here the records are on the stack */
    CHECK_EQ(weft_future_all(&all[31], 1), 0);
    CHECK_EQ(weft_future_all(&all[7], 1), -ENOENT);
    for (int i = 0; i < MANY; i++)
        if (i != 7 && i != 31) spawn_detached(sets, &f[i]);
    CHECK_EQ(weft_future_all(all, MANY), -ENOENT);
    CHECK_EQ(weft_future_all(all, 7), 0);
    all[3] = NULL;
    CHECK_EQ(weft_future_all(all, MANY), -EINVAL);
    CHECK(weft_future_any(all, MANY) != 3);
    CHECK_EQ(weft_future_any_until(&all[3], 1, weft_now() + 1000), -ETIMEDOUT);
}
TEST(several) { each_size(several); }

/* A timer's function completes it. */
static void on_time(void *future) { CHECK_EQ(weft_future_set(future, NULL), 0); }
static void by_a_timer(void *unused) {
    (void)unused;
    struct weft_future f = WEFT_FUTURE_INIT;
    struct weft_timer timer = WEFT_TIMER_INIT;
    CHECK_EQ(weft_timer_arm(&timer, weft_now() + WEFT_MILLISECOND, on_time, &f), 0);
    CHECK_EQ(weft_future_wait(&f, NULL), 0);
}
TEST(completed_by_a_timer) { each_size(by_a_timer); }
