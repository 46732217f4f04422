/* SPDX-License-Identifier: MIT */
/* Latches: closed until the count is zero, then open for ever. */
#include "fiber.h"

static struct weft_latch latch;
static int done; /* plain */

static void values(void *unused) {
    (void)unused;
    struct weft_latch l = WEFT_LATCH_INIT(3), zeros = {0};
    CHECK_EQ(weft_latch_try(&zeros), 0);
    CHECK_EQ(weft_latch_wait(&zeros), 0);
    CHECK_EQ(weft_latch_count_down(&zeros, 1), -EINVAL);
    CHECK_EQ(weft_latch_count_down(&zeros, 0), 0);
    CHECK_EQ(weft_latch_try(&l), -EAGAIN);
    CHECK_EQ(weft_latch_wait_until(&l, 0), -ETIMEDOUT);
    CHECK_EQ(weft_latch_count_down(&l, 4), -EINVAL);
    CHECK_EQ(weft_latch_count_down(&l, 2), 0);
    CHECK_EQ(weft_latch_try(&l), -EAGAIN);
    CHECK_EQ(weft_latch_count_down(&l, 1), 0);
    CHECK_EQ(weft_latch_try(&l), 0);
    CHECK_EQ(weft_latch_wait_until(&l, 0), 0);
    CHECK_EQ(weft_latch_init(&l, 1), 0);
    CHECK_EQ(weft_latch_try(&l), -EAGAIN);
}
TEST(values) { each_size(values); }
TEST(values_of_a_thread) { values(NULL); }

static void *counts_down(void *arg) {
    if (arg) done++; /* one fiber writes, all fibers see it */
    CHECK_EQ(weft_latch_count_down(&latch, 1), 0);
    return NULL;
}
static void *waits(void *unused) {
    CHECK_EQ(weft_latch_wait(&latch), 0);
    CHECK_EQ(done, 1);
    return unused;
}
TEST_WITHIN(fibers_and_threads, 60) {
    test_start(2);
    for (size_t round = 0; round < test_size(100); round++) {
        struct weft_fiber f[8];
        pthread_t t[4];
        done = 0;
        CHECK_EQ(weft_latch_init(&latch, 6), 0);
        for (intptr_t i = 0; i < 8; i++) f[i] = spawn(i % 2 ? counts_down : waits, (void *)(intptr_t)(i == 3));
        for (intptr_t i = 0; i < 4; i++) t[i] = thread_start(i % 2 ? counts_down : waits, NULL);
        for (int i = 0; i < 8; i++) join(f[i]);
        for (int i = 0; i < 4; i++) thread_join(t[i]);
    }
    test_stop();
}

static void *is_cancelled(void *unused) {
    CHECK_EQ(weft_latch_wait(&latch), -ECANCELED);
    return unused;
}
static void cancellation(void *unused) {
    (void)unused;
    CHECK_EQ(weft_latch_init(&latch, 1), 0);
    struct weft_fiber f = spawn(is_cancelled, NULL);
    settle();
    CHECK_EQ(weft_cancel(f), 0);
    join(f);
    CHECK_EQ(weft_latch_try(&latch), -EAGAIN);
    CHECK_EQ(weft_latch_count_down(&latch, 1), 0);
    CHECK_EQ(weft_latch_wait(&latch), 0);
}
TEST(a_cancelled_wait_changes_nothing) { each_size(cancellation); }
