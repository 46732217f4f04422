/* SPDX-License-Identifier: MIT */
/* Pinned fibers: always on their worker, woken from anywhere, in turns with other fibers. */
#include "fiber.h"

#include "sched/core/cluster.h"

static struct weft_sem sem;

static void *stays(void *arg) {
    int home = (int)(intptr_t)arg;
    CHECK_EQ(weft_worker(), home);
    for (int i = 0; i < 20; i++) {
        weft_yield();
        CHECK_EQ(weft_worker(), home);
        CHECK_EQ(weft_sleep_for(50 * WEFT_MICROSECOND), 0);
        CHECK_EQ(weft_worker(), home);
        CHECK_EQ(weft_sem_post(&sem), 0);
        CHECK_EQ(weft_sem_wait(&sem), 0); /* woken by any fiber */
        CHECK_EQ(weft_worker(), home);
        CHECK_EQ(weft_park_until(weft_now() + 20 * WEFT_MICROSECOND), -ETIMEDOUT);
        CHECK_EQ(weft_worker(), home);
    }
    return NULL;
}
static void *roams(void *arg) {
    for (int i = 0; i < 50; i++) {
        CHECK_EQ(weft_sem_wait(&sem), 0);
        weft_yield();
        CHECK_EQ(weft_sem_post(&sem), 0);
    }
    return arg;
}

static void stay(void *unused) {
    (void)unused;
    enum { N = 40 };
    struct weft_fiber f[2 * N];
    sem = (struct weft_sem)WEFT_SEM_INIT(2);
    for (unsigned i = 0; i < N; i++) {
        unsigned worker = i % weft_workers();
        f[2 * i] = spawn_with(&(struct weft_attr){.pinned = worker + 1}, stays, (void *)(intptr_t)worker);
        f[2 * i + 1] = spawn(roams, NULL);
    }
    for (unsigned i = 0; i < 2 * N; i++) join(f[i]);
}
TEST_WITHIN(pinned_fibers_stay, 60) { each_size(stay); }
TEST_WITHIN(pinned_fibers_spawned_by_a_thread_stay, 60) {
    test_start(4);
    for (int i = 0; i < 5; i++) stay(NULL);
    test_stop();
}

/* A thread wakes pinned fibers of workers that are all asleep. */
static int woken;
static void *is_woken(void *arg) {
    for (int i = 0; i < 20; i++) {
        CHECK_EQ(weft_park(), 0);
        CHECK_EQ(weft_worker(), (int)(intptr_t)arg);
        ADD(&woken, 1);
    }
    return NULL;
}
TEST(woken_by_a_thread_while_all_sleep) {
    struct weft_fiber f[3];
    test_start(3);
    for (intptr_t i = 0; i < 3; i++)
        f[i] = spawn_with(&(struct weft_attr){.pinned = (unsigned)i + 1}, is_woken, (void *)i);
    for (int i = 0; i < 20; i++) {
        if (i % 4 == 0) test_nap_ms(i % 8 ? 3 : 250); /* after the long pause they have also returned memory */
        for (int k = 0; k < 3; k++) CHECK_EQ(weft_unpark(f[k]), 0);
        test_await(&woken, 3 * (i + 1)); /* hangs if a wake-up is lost */
    }
    for (int k = 0; k < 3; k++) join(f[k]);
    test_stop();
}

/* Neither pinned nor ordinary fibers keep the others from running, however much they yield. */
static int pinned_turns, other_turns, all_there, enough;
static void *yields(void *turns) {
    await_yielding(&all_there, 1); /* none begins earlier */
    while (!LOAD(&enough)) {
        ADD((int *)turns, 1);
        weft_yield();
    }
    return NULL;
}
TEST(pinned_and_others_take_turns) {
    no_rescue();
    test_start(1);
    struct weft_attr pinned = {.pinned = 1};
    struct weft_fiber f[6];
    for (int i = 0; i < 6; i++) f[i] = i < 3 ? spawn_with(&pinned, yields, &pinned_turns) : spawn(yields, &other_turns);
    STORE(&all_there, 1);
    test_await(&pinned_turns, 3000);
    test_await(&other_turns, 3000);
    STORE(&enough, 1);
    for (int i = 0; i < 6; i++) join(f[i]);
    CHECK(pinned_turns > other_turns / 20 && other_turns > pinned_turns / 20);
    test_stop();
}

/* With stealing switched off, a fiber stays on the worker on which it became ready, and all fibers still end. */
static void *counts(void *n) {
    ADD((int *)n, 1);
    weft_yield();
    return NULL;
}
static int without_stealing(void *unused) {
    (void)unused;
    int n = 0;
    struct weft_fiber f[100];
    for (int i = 0; i < 100; i++) f[i] = spawn(counts, &n);
    for (int i = 0; i < 100; i++) join(f[i]);
    return n;
}
TEST(without_stealing) {
    struct weft_config config = {.workers = 3, .no_stealing = 1};
    CHECK_EQ(weft_run(without_stealing, NULL, &config), 100);
    CHECK_EQ(weft_start(&config), 0);
    CHECK_EQ(without_stealing(NULL), 100);
    stay(NULL);
    test_stop();
}

/* The spare that runs only quick fibers (elastic/rescue.c) also runs each fiber that is pinned to it: no other worker
 * may. Without rescues the monitor leaves the choice of this test alone. */
static void *returns(void *arg) { return arg; }
TEST(pinned_to_the_reserve) {
    int mark = 0;
    no_rescue();
    test_start(2);
    store_rlx(&weft__cluster.reserve, 2);
    CHECK(join(spawn_with(&(struct weft_attr){.pinned = 2}, returns, &mark)) == &mark);
    store_rlx(&weft__cluster.reserve, 0);
    test_stop();
}
