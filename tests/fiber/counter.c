/* SPDX-License-Identifier: MIT */
/* Counters: thresholds, several waiters, fibers and threads. */
#include "fiber.h"

static struct weft_counter c;
static int woken[16], total;

struct waiter {
    uint64_t at_most;
    int number;
};

static void *waits_for(void *arg) {
    struct waiter *w = arg;
    CHECK_EQ(weft_counter_wait(&c, w->at_most), 0);
    CHECK(weft_counter_value(&c) <= w->at_most); /* no fiber adds meanwhile */
    ADD(&total, 1);
    STORE(&woken[w->number], 1); /* a fiber that sees this also sees the count */
    return NULL;
}

static void reset(uint64_t n) {
    c = (struct weft_counter)WEFT_COUNTER_INIT;
    STORE(&total, 0);
    for (int i = 0; i < 16; i++) STORE(&woken[i], 0);
    CHECK_EQ(weft_counter_add(&c, n), 0);
}

/* Waiters for 0 to 9 come in another order. Each completion wakes exactly one waiter. */
static void thresholds(void *unused) {
    (void)unused;
    static struct waiter w[10];
    struct weft_fiber f[10];
    reset(10);
    for (int i = 0; i < 10; i++) {
        w[i] = (struct waiter){(uint64_t)(i * 7 % 10), i * 7 % 10};
        f[i] = spawn(waits_for, &w[i]);
    }
    settle();
    CHECK_EQ(LOAD(&total), 0);
    for (int left = 9; left >= 0; left--) {
        CHECK_EQ(weft_counter_complete(&c), 0);
        await_yielding(&woken[left], 1);
        settle();
        CHECK_EQ(LOAD(&total), 10 - left);
    }
    for (int i = 0; i < 10; i++) join(f[i]);
}
TEST(each_waits_for_its_own_value) { each_size(thresholds); }

/* One completion wakes all waiters for the same value. */
static void together(void *unused) {
    (void)unused;
    static struct waiter w[8];
    struct weft_fiber f[8];
    reset(2);
    for (int i = 0; i < 8; i++) {
        w[i] = (struct waiter){1, i};
        f[i] = spawn(waits_for, &w[i]);
    }
    settle();
    CHECK_EQ(weft_counter_complete(&c), 0);
    for (int i = 0; i < 8; i++) join(f[i]);
    CHECK_EQ(weft_counter_value(&c), 1);
}
TEST(several_for_one_value) { each_size(together); }

static void numbers(void *unused) {
    (void)unused;
    struct weft_counter n = WEFT_COUNTER_INIT;
    uint64_t most = UINT64_C(1) << 60;
    CHECK_EQ(weft_counter_value(&n), 0);
    CHECK_EQ(weft_counter_wait(&n, 0), 0);
    CHECK_EQ(weft_counter_complete(&n), -EINVAL); /* none is outstanding */
    CHECK_EQ(weft_counter_add(&n, 0), 0);
    CHECK_EQ(weft_counter_add(&n, 3), 0);
    CHECK_EQ(weft_counter_wait(&n, 3), 0);
    CHECK_EQ(weft_counter_wait(&n, UINT64_MAX), 0);
    CHECK_EQ(weft_counter_wait_until(&n, 2, 0), -ETIMEDOUT);
    CHECK_EQ(weft_counter_add(&n, most - 3), 0);
    CHECK_EQ(weft_counter_add(&n, 1), -EOVERFLOW);
    CHECK_EQ(weft_counter_add(&n, UINT64_MAX), -EOVERFLOW);
    CHECK_EQ(weft_counter_value(&n), most);
    CHECK_EQ(weft_counter_complete(&n), 0);
    CHECK_EQ(weft_counter_value(&n), most - 1);
}
TEST(values_and_their_bounds) { each_size(numbers); }
TEST(without_a_runtime) { numbers(NULL); }

/* The same limits while a fiber waits, which takes another path. */
static void *expects_cancel(void *unused) {
    (void)unused;
    CHECK_EQ(weft_counter_wait(&c, 0), -ECANCELED);
    return NULL;
}
TEST(bounds_while_a_fiber_waits) {
    test_start(1);
    reset(1);
    struct weft_fiber f = spawn(expects_cancel, NULL);
    test_nap_ms(5);
    uint64_t most = UINT64_C(1) << 60;
    CHECK_EQ(weft_counter_add(&c, most - 1), 0);
    CHECK_EQ(weft_counter_add(&c, 1), -EOVERFLOW);
    CHECK_EQ(weft_counter_value(&c), most);
    CHECK_EQ(weft_cancel(f), 0);
    join(f);
    test_stop();
}

/* Threads and fibers hand out work, and both wait for it. */
static void *completes(void *n) {
    for (intptr_t i = (intptr_t)n; i > 0; i--) {
        CHECK_EQ(weft_counter_complete(&c), 0);
        if (i % 16 == 0) weft_yield();
    }
    return NULL;
}
static void *waits_to_the_end(void *unused) {
    (void)unused;
    for (uint64_t n = 1000; n > 0; n /= 2) {
        CHECK_EQ(weft_counter_wait(&c, n), 0);
        CHECK(weft_counter_value(&c) <= n);
    }
    CHECK_EQ(weft_counter_wait(&c, 0), 0);
    CHECK_EQ(weft_counter_value(&c), 0);
    return NULL;
}
TEST_WITHIN(fibers_and_threads, 60) {
    test_start(3);
    for (size_t round = 0; round < test_size(50); round++) {
        struct weft_fiber f[6];
        pthread_t t[6];
        reset(6 * 500);
        for (int i = 0; i < 3; i++) {
            f[i] = spawn(waits_to_the_end, NULL);
            t[i] = thread_start(waits_to_the_end, NULL);
        }
        for (int i = 3; i < 6; i++) {
            f[i] = spawn(completes, (void *)500);
            t[i] = thread_start(completes, (void *)500);
        }
        for (int i = 0; i < 6; i++) {
            join(f[i]);
            thread_join(t[i]);
        }
    }
    test_stop();
}

/* The counter is freed as soon as the wait returns: the last completion must not touch it any more. */
static void *completes_one(void *counter) {
    CHECK_EQ(weft_counter_complete(counter), 0);
    return NULL;
}
static void short_lived(void *unused) {
    (void)unused;
    for (size_t i = 0; i < test_size(5000); i++) {
        struct weft_counter mine = WEFT_COUNTER_INIT;
        CHECK_EQ(weft_counter_add(&mine, 3), 0);
        for (int k = 0; k < 3; k++) spawn_detached(completes_one, &mine);
        CHECK_EQ(weft_counter_wait(&mine, 0), 0);
        mine.queue.word = ~UINT64_C(0); /* a late access would spin for ever or be seen */
    }
}
TEST_WITHIN(on_the_stack_of_the_waiter, 60) { each_size(short_lived); }
