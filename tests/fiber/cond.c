/* SPDX-License-Identifier: MIT */
/* Condition variables: a signal wakes one waiter, a broadcast all. */
#include "fiber.h"

static struct weft_mutex m;
static struct weft_cond c;
static int waiting, woken, order[64];

static void reset(void) {
    m = (struct weft_mutex)WEFT_MUTEX_INIT;
    c = (struct weft_cond)WEFT_COND_INIT;
    STORE(&waiting, 0);
    STORE(&woken, 0);
}

static void *waits(void *arg) {
    CHECK_EQ(weft_mutex_lock(&m), 0);
    ADD(&waiting, 1);
    CHECK_EQ(weft_cond_wait(&c, &m), 0);
    order[woken] = (int)(intptr_t)arg;
    ADD(&woken, 1);
    CHECK_EQ(weft_mutex_unlock(&m), 0);
    return NULL;
}

/* Waits until all spawned fibers are in the wait: a fiber has counted itself, and its wait has unlocked the mutex. */
static void all_wait(int n) {
    for (;;) {
        CHECK_EQ(weft_mutex_lock(&m), 0);
        int now = LOAD(&waiting);
        CHECK_EQ(weft_mutex_unlock(&m), 0);
        if (now == n) return;
        weft_sleep_for(100 * WEFT_MICROSECOND);
    }
}

static void one_by_one(void *unused) {
    (void)unused;
    enum { N = 10 };
    struct weft_fiber f[N];
    reset();
    for (intptr_t i = 0; i < N; i++) {
        f[i] = spawn(waits, (void *)i);
        all_wait((int)i + 1);
    }
    for (int i = 0; i < N; i++) {
        CHECK_EQ(weft_cond_signal(&c), 0);
        join(f[i]); /* the first waiter, and no other */
        CHECK_EQ(LOAD(&woken), i + 1);
        CHECK_EQ(order[i], i);
    }
}
TEST(a_signal_wakes_the_first) { each_size(one_by_one); }

static void all_at_once(void *unused) {
    (void)unused;
    enum { N = 30 };
    struct weft_fiber f[N];
    reset();
    for (intptr_t i = 0; i < N; i++) f[i] = spawn(waits, (void *)i);
    all_wait(N);
    CHECK_EQ(weft_cond_broadcast(&c), 0);
    for (int i = 0; i < N; i++) join(f[i]);
    CHECK_EQ(woken, N);
}
TEST(a_broadcast_wakes_all) { each_size(all_at_once); }

TEST(fibers_and_threads_wait_together) {
    test_start(2);
    for (size_t round = 0; round < test_size(200); round++) {
        struct weft_fiber f[4];
        pthread_t t[4];
        reset();
        for (intptr_t i = 0; i < 4; i++) {
            f[i] = spawn(waits, (void *)i);
            t[i] = thread_start(waits, (void *)i);
        }
        all_wait(8);
        CHECK_EQ(weft_cond_signal(&c), 0);
        CHECK_EQ(weft_cond_broadcast(&c), 0);
        for (int i = 0; i < 4; i++) {
            join(f[i]);
            thread_join(t[i]);
        }
        CHECK_EQ(woken, 8);
    }
    test_stop();
}

static void not_kept(void *unused) {
    (void)unused;
    reset();
    CHECK_EQ(weft_cond_signal(&c), 0); /* no fiber waits: it has no effect */
    CHECK_EQ(weft_cond_broadcast(&c), 0);
    CHECK_EQ(weft_mutex_lock(&m), 0);
    CHECK_EQ(weft_cond_wait_until(&c, &m, weft_now() + 2 * WEFT_MILLISECOND), -ETIMEDOUT);
    CHECK_EQ(weft_mutex_lock(&m), -EDEADLK); /* held */
    CHECK_EQ(weft_mutex_unlock(&m), 0);
}
TEST(a_signal_without_a_waiter_is_lost) { each_size(not_kept); }

static void without_the_mutex(void *unused) {
    (void)unused;
    reset();
    CHECK_EQ(weft_cond_wait(&c, &m), -EPERM);
    CHECK_EQ(weft_cond_wait_until(&c, &m, 0), -EPERM);
    CHECK_EQ(weft_mutex_try(&m), 0);
    CHECK_EQ(weft_mutex_unlock(&m), 0);
}
TEST(the_mutex_must_be_held) { each_size(without_the_mutex); }
TEST(the_mutex_must_be_held_by_a_thread) { without_the_mutex(NULL); }

/* A queue with a limit. Many producers send items to many consumers, fibers and threads, some with deadlines. */
enum { ROOM = 4, MAKERS = 4, USERS = 4 };
static struct weft_cond not_full, not_empty;
static int queue[ROOM], length, made_all;
static long long sum_made, sum_used;

static int patient_or_not(struct weft_cond *cond, uint64_t *random) {
    if (test_below(random, 2)) return weft_cond_wait(cond, &m);
    int err = weft_cond_wait_until(cond, &m, weft_now() + test_below(random, 30000));
    return err == -ETIMEDOUT ? 0 : err;
}
static void *makes(void *arg) {
    uint64_t random = (uint64_t)(uintptr_t)arg;
    for (int i = (int)test_size(5000); i > 0; i--) {
        CHECK_EQ(weft_mutex_lock(&m), 0);
        while (length == ROOM) CHECK_EQ(patient_or_not(&not_full, &random), 0);
        queue[length++] = i;
        sum_made += i;
        CHECK_EQ(weft_cond_signal(&not_empty), 0);
        CHECK_EQ(weft_mutex_unlock(&m), 0);
    }
    CHECK_EQ(weft_mutex_lock(&m), 0);
    if (++made_all == MAKERS) CHECK_EQ(weft_cond_broadcast(&not_empty), 0);
    CHECK_EQ(weft_mutex_unlock(&m), 0);
    return NULL;
}
static void *uses(void *arg) {
    uint64_t random = (uint64_t)(uintptr_t)arg;
    CHECK_EQ(weft_mutex_lock(&m), 0);
    for (;;) {
        while (!length && made_all < MAKERS) CHECK_EQ(patient_or_not(&not_empty, &random), 0);
        if (!length) break;
        sum_used += queue[--length];
        CHECK_EQ(weft_cond_signal(&not_full), 0);
        if (test_below(&random, 4) == 0) {
            CHECK_EQ(weft_mutex_unlock(&m), 0);
            weft_yield();
            CHECK_EQ(weft_mutex_lock(&m), 0);
        }
    }
    CHECK_EQ(weft_mutex_unlock(&m), 0);
    return NULL;
}
TEST_WITHIN(a_bounded_queue, 60) {
    test_start(3);
    struct weft_fiber f[MAKERS + USERS];
    pthread_t t[MAKERS + USERS];
    for (uintptr_t i = 0; i < MAKERS; i++) {
        void *(*make)(void *) = makes, *(*use)(void *) = uses;
        if (i % 2) {
            t[i] = thread_start(make, (void *)(i + 1));
            t[MAKERS + i] = thread_start(use, (void *)(i + 9));
        } else {
            f[i] = spawn(make, (void *)(i + 1));
            f[MAKERS + i] = spawn(use, (void *)(i + 9));
        }
    }
    for (int i = 0; i < MAKERS + USERS; i++) {
        if (i % 2)
            thread_join(t[i]);
        else
            join(f[i]);
    }
    CHECK_EQ(sum_made, sum_used);
    CHECK_EQ(length, 0);
    test_stop();
}
