/* SPDX-License-Identifier: MIT */
/* Once: one fiber runs the function, all see its effects; a failed attempt is repeated. */
#include "chain.h"

static struct weft_once once;
static int calls, value; /* value is plain: ThreadSanitizer watches, too */

static int does_it(void *unused) {
    (void)unused;
    CHECK_EQ(ADD(&calls, 1), 0);
    weft_sleep_for(WEFT_MILLISECOND);
    value = 42;
    return 0;
}
static void *wants_it(void *unused) {
    CHECK_EQ(weft_once_run(&once, does_it, NULL), 0);
    CHECK_EQ(value, 42);
    return unused;
}
TEST(done_once_by_fibers_and_threads) {
    test_start(2);
    for (size_t round = 0; round < test_size(50); round++) {
        struct weft_fiber f[8];
        pthread_t t[3];
        once = (struct weft_once)WEFT_ONCE_INIT;
        STORE(&calls, 0);
        value = 0;
        for (int i = 0; i < 8; i++) f[i] = spawn(wants_it, NULL);
        for (int i = 0; i < 3; i++) t[i] = thread_start(wants_it, NULL);
        for (int i = 0; i < 8; i++) join(f[i]);
        for (int i = 0; i < 3; i++) thread_join(t[i]);
        CHECK_EQ(calls, 1);
    }
    test_stop();
}

static int fails(void *result) {
    ADD(&calls, 1);
    weft_sleep_for(100 * WEFT_MICROSECOND);
    return *(int *)result;
}
static int again(void *unused) {
    (void)unused;
    return weft_once_run(&once, again, NULL);
}
static void errors(void *unused) {
    (void)unused;
    int error = -EIO, fine = 0;
    once = (struct weft_once)WEFT_ONCE_INIT;
    STORE(&calls, 0);
    CHECK_EQ(weft_once_run(&once, fails, &error), -EIO);
    CHECK_EQ(weft_once_run(&once, again, NULL), -EDEADLK); /* of the inner call, and so the outer call fails, too */
    CHECK_EQ(weft_once_run_until(&once, fails, &error, 0), -EIO);
    CHECK_EQ(weft_once_run(&once, fails, &fine), 0);
    CHECK_EQ(weft_once_run(&once, fails, &error), 0);
    CHECK_EQ(calls, 3);
}
TEST(what_fails_is_tried_again) { each_size(errors); }
TEST(what_fails_is_tried_again_by_a_thread) { errors(NULL); }

/* Many fibers try, each a few times. Every attempt but the last fails, and each failure is reported to one caller. */
static int succeeds_late(void *unused) {
    (void)unused;
    weft_yield();
    return ADD(&calls, 1) == 9 ? 0 : -EAGAIN;
}
static int failures;
static void *tries(void *unused) {
    while (weft_once_run(&once, succeeds_late, NULL)) ADD(&failures, 1);
    return unused;
}
static void attempts(void *unused) {
    (void)unused;
    struct weft_fiber f[8];
    once = (struct weft_once)WEFT_ONCE_INIT;
    STORE(&calls, 0);
    STORE(&failures, 0);
    for (int i = 0; i < 8; i++) f[i] = spawn(tries, NULL);
    for (int i = 0; i < 8; i++) join(f[i]);
    CHECK_EQ(calls, 10);
    CHECK_EQ(failures, 9);
}
TEST(each_failure_is_one_callers) { each_size(attempts); }

/* --- waiting for it -------------------------------------------------------------------------------------- */

static int hold = 1;
static int holds(void *unused) {
    (void)unused;
    while (LOAD(&hold)) weft_sleep_for(WEFT_MILLISECOND);
    return weft_cancelled() ? -ECANCELED : 0;
}
static void *runs_it(void *wanted) {
    CHECK_EQ(weft_once_run(&once, holds, NULL), *(int *)wanted);
    return NULL;
}
TEST(cancellation_and_deadlines) {
    test_start(2);
    int cancelled = -ECANCELED, fine = 0;
    struct weft_fiber runner = spawn(runs_it, &cancelled);
    while (!LOAD(&once.queue.word)) test_nap_ms(1);
    CHECK_EQ(weft_once_run_until(&once, holds, NULL, weft_now() + WEFT_MILLISECOND), -ETIMEDOUT);
    struct weft_fiber waiter = spawn(runs_it, &cancelled), next;
    await_chain(&once.queue, 1);
    CHECK_EQ(weft_cancel(waiter), 0); /* it waits: it has done nothing */
    join(waiter);
    next = spawn(runs_it, &fine);
    await_chain(&once.queue, 1);
    CHECK_EQ(weft_cancel(runner), 0); /* the function runs: it goes on, and is made to fail */
    STORE(&hold, 0);
    join(runner);
    join(next); /* this call ran the function */
    CHECK_EQ(weft_once_run(&once, holds, NULL), 0);
    test_stop();
}
