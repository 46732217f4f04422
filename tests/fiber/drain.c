/* SPDX-License-Identifier: MIT */
/* Drains: until a cluster is quiet, and not before. */
#include "fiber.h"

static const struct weft_cluster own; /* {0}: the caller's, or the first */
static int ran, over;

static struct weft_cluster create(unsigned workers) {
    struct weft_cluster c;
    CHECK_EQ(weft_cluster_create(&c, &(struct weft_config){.workers = workers}), 0);
    return c;
}
static void *works(void *unused) {
    for (int i = 0; i < 5; i++) {
        weft_yield();
        if (i == 3) CHECK_EQ(weft_sleep_for(100 * WEFT_MICROSECOND), 0);
    }
    ADD(&ran, 1);
    return unused;
}
static void *spawns_more(void *unused) {
    for (int i = 0; i < 3; i++) spawn_detached(works, NULL);
    return works(unused);
}
static void *parks(void *unused) {
    weft_park();
    return unused;
}
static void fires(void *unused) {
    (void)unused;
    ADD(&ran, 1);
}

static struct weft_cluster drained; /* by the fibers below */
static void burst(void) {
    struct weft_attr attr = {.cluster = drained};
    for (int i = 0; i < 10; i++) CHECK_EQ(weft_spawn(NULL, &attr, spawns_more, NULL), 0);
}
static void drain_bursts(size_t rounds) {
    for (size_t i = 0; i < rounds; i++) {
        STORE(&ran, 0);
        burst();
        CHECK_EQ(weft_cluster_drain(drained), 0);
        CHECK_EQ(LOAD(&ran), 40);
    }
}
static void drain_bursts_in_fiber(void *unused) {
    (void)unused;
    drain_bursts(test_size(50));
}

/* --- from everywhere -------------------------------------------------------------------------- */

TEST(by_a_thread) {
    for (unsigned workers = 1; workers <= 4; workers *= 2) {
        test_start(workers);
        CHECK_EQ(weft_cluster_drain(own), 0);
        drain_bursts(test_size(100));
        test_stop();
    }
}
TEST(by_a_fiber_of_the_cluster) { each_size(drain_bursts_in_fiber); }

static void *drains_in_fiber(void *unused) {
    drain_bursts_in_fiber(NULL);
    return unused;
}
TEST(by_a_fiber_of_another) {
    for (unsigned workers = 1; workers <= 4; workers *= 2) {
        test_start(workers);
        drained = create(workers);
        join(spawn(drains_in_fiber, NULL));
        drain_bursts(test_size(50)); /* and by a thread */
        drained = own;
        test_stop();
    }
}
TEST(of_a_cluster_that_does_not_steal) {
    struct weft_config config = {.workers = 2, .no_stealing = 1};
    CHECK_EQ(weft_start(&config), 0);
    drain_bursts(test_size(50));
    join(spawn(drains_in_fiber, NULL));
    test_stop();
}
TEST(of_a_cluster_whose_size_changes) {
    test_start(4);
    for (unsigned i = 0; i < 12; i++) {
        CHECK_EQ(weft_cluster_resize(own, 1 + i % 4), 0);
        drain_bursts(test_size(10));
        join(spawn(drains_in_fiber, NULL));
    }
    test_stop();
}

/* The drain returns soon after the cluster is quiet. If only chance ended it, it would be late nearly every time. On a
 * busy machine some drains are late in any case. */
static void drain_quickly(void *unused) {
    (void)unused;
    for (size_t quick = 0, enough = 1 + test_size(300) / 10; quick < enough;) {
        uint64_t since = weft_now();
        spawn_detached(works, NULL);
        CHECK_EQ(weft_cluster_drain(own), 0);
        if (weft_now() - since < 20 * WEFT_MILLISECOND) quick++;
    }
}
TEST_WITHIN(at_once, 60) { each_size(drain_quickly); }

/* --- what counts ------------------------------------------------------------------------------ */

TEST(a_draining_fiber_does_not_count) {
    struct weft_fiber f[10];
    test_start(2);
    struct weft_cluster c = create(2);
    for (int i = 0; i < 10; i++) f[i] = spawn_with(&(struct weft_attr){.cluster = i % 2 ? c : own}, parks, NULL);
    CHECK_EQ(weft_cluster_drain(own), 0);
    CHECK_EQ(weft_cluster_drain(c), 0);
    for (int i = 0; i < 10; i++) CHECK_EQ(weft_unpark(f[i]), 0);
    CHECK_EQ(weft_cluster_drain(c), 0);
    for (int i = 0; i < 10; i++) join(f[i]);
    test_stop();
}

static void armed_timers(void *unused) {
    (void)unused;
    struct weft_timer t[3] = {WEFT_TIMER_INIT, WEFT_TIMER_INIT, WEFT_TIMER_INIT};
    for (int round = 0; round < 3; round++) {
        STORE(&ran, 0);
        for (unsigned i = 0; i < 3; i++)
            CHECK_EQ(weft_timer_arm(&t[i], weft_now() + i * 10 * WEFT_MILLISECOND, fires, NULL), 0);
        CHECK_EQ(weft_cluster_drain(own), 0);
        CHECK_EQ(LOAD(&ran), 3);
    }
}
TEST(until_its_timers_have_fired) { each_size(armed_timers); }
TEST(until_the_timers_of_threads_have_fired) {
    test_start(2);
    armed_timers(NULL);
    test_stop();
}

static struct weft_timer far;
static int timed_out;
static void *arms(void *unused) {
    CHECK_EQ(weft_timer_arm(&far, weft_now() + 3600 * WEFT_SECOND, fires, NULL), 0);
    return unused;
}
static void *cancels(void *unused) {
    while (!LOAD(&timed_out)) weft_yield();
    CHECK_EQ(weft_sleep_for(300 * WEFT_MILLISECOND), 0); /* the workers have nothing to wake up for any more */
    CHECK_EQ(weft_timer_cancel(&far), 0);
    while (!LOAD(&over)) weft_yield(); /* its own cluster does not become quiet */
    return unused;
}
/* A thread, or a fiber of a cluster that goes on working, cancels the last timer. */
static void drain_cancelled(bool by_fiber) {
    test_start(1);
    struct weft_cluster c = create(1);
    struct weft_fiber f = {0};
    pthread_t t = 0;
    if (by_fiber)
        f = spawn(cancels, NULL);
    else
        t = thread_start(cancels, NULL);
    join(spawn_with(&(struct weft_attr){.cluster = c}, arms, NULL));
    CHECK_EQ(weft_cluster_drain_until(c, weft_now() + WEFT_MILLISECOND), -ETIMEDOUT);
    STORE(&timed_out, 1);
    CHECK_EQ(weft_cluster_drain(c), 0);
    STORE(&over, 1);
    if (by_fiber)
        join(f);
    else
        thread_join(t);
    test_stop();
}
TEST(the_last_timer_is_cancelled_by_a_thread) { drain_cancelled(false); }
TEST(the_last_timer_is_cancelled_by_a_fiber) { drain_cancelled(true); }

/* --- deadlines, cancellation ------------------------------------------------------------------ */

static void *yields(void *unused) {
    while (!LOAD(&over)) weft_yield();
    return unused;
}
static void deadlines(void *unused) {
    (void)unused;
    STORE(&over, 0);
    struct weft_fiber f = spawn(yields, NULL);
    CHECK_EQ(weft_cluster_drain_until(own, 0), -ETIMEDOUT);
    CHECK_EQ(weft_cluster_drain_until(own, weft_now() + 5 * WEFT_MILLISECOND), -ETIMEDOUT);
    STORE(&over, 1);
    CHECK_EQ(weft_cluster_drain_until(own, weft_now() + 3600 * WEFT_SECOND), 0); /* its own deadline does not count */
    CHECK_EQ(weft_cluster_drain_until(own, weft_now() + 3600 * WEFT_SECOND), 0);
    join(f);
}
TEST(deadlines_in_a_fiber) { each_size(deadlines); }
TEST(deadlines_in_a_thread) {
    test_start(2);
    deadlines(NULL);
    test_stop();
}

static void *drains(void *result) {
    int r = weft_cluster_drain(own);
    STORE((int *)result, r ? r : 1);
    return NULL;
}
TEST(cancelled) {
    int result[20] = {0};
    struct weft_fiber f[20];
    test_start(2);
    struct weft_fiber busy = spawn(yields, NULL);
    for (int i = 0; i < 20; i++) f[i] = spawn(drains, &result[i]);
    test_nap_ms(5);
    for (int i = 0; i < 20; i += 2) CHECK_EQ(weft_cancel(f[i]), 0);
    for (int i = 0; i < 20; i += 2) {
        join(f[i]);
        CHECK_EQ(result[i], -ECANCELED);
    }
    for (int i = 1; i < 20; i += 2) CHECK_EQ(LOAD(&result[i]), 0);
    STORE(&over, 1);
    for (int i = 1; i < 20; i += 2) {
        join(f[i]);
        CHECK_EQ(result[i], 1);
    }
    join(busy);
    test_stop();
}

/* --- many ------------------------------------------------------------------------------------- */

static void *drains_many(void *random_of) {
    uint64_t random = (uintptr_t)random_of;
    for (size_t i = test_size(100); i > 0; i--) {
        int err = test_below(&random, 3) ? weft_cluster_drain(drained)
                                         : weft_cluster_drain_until(drained, weft_now() + test_below(&random, 200000));
        CHECK(err == 0 || err == -ETIMEDOUT);
        if (test_below(&random, 2)) {
            struct weft_attr attr = {.cluster = drained};
            CHECK_EQ(weft_spawn(NULL, &attr, works, NULL), 0);
        }
    }
    return NULL;
}
static void many(struct weft_cluster of) {
    struct weft_fiber f[30];
    pthread_t t[3];
    drained = of;
    for (uintptr_t i = 0; i < 30; i++) f[i] = spawn(drains_many, (void *)(i + 1));
    for (uintptr_t i = 0; i < 3; i++) t[i] = thread_start(drains_many, (void *)(i + 100));
    for (int i = 0; i < 30; i++) join(f[i]);
    for (int i = 0; i < 3; i++) thread_join(t[i]);
}
TEST_WITHIN(many_drain_their_own, 60) {
    test_start(2);
    many(own);
    test_stop();
}
TEST_WITHIN(many_drain_another, 60) {
    test_start(2);
    many(create(2));
    drained = own;
    test_stop();
}

/* The other cluster is always busy. Its fibers begin and end, and both clusters use their records. */
static void *keeps_spawning(void *unused) {
    while (!LOAD(&over)) {
        struct weft_attr there = {.cluster = drained};
        struct weft_fiber f = spawn_with(&there, works, NULL);
        for (int i = 0; i < 20; i++) spawn_detached(works, NULL);
        join(f);
        CHECK_EQ(weft_spawn(NULL, &there, works, NULL), 0);
    }
    return unused;
}
static void *keeps_spawning_here(void *unused) {
    while (!LOAD(&over)) {
        join(spawn(works, NULL));
        spawn_detached(works, NULL);
    }
    return unused;
}
TEST_WITHIN(beside_a_cluster_that_is_never_quiet, 60) {
    struct weft_fiber f[6];
    test_start(2);
    drained = create(1);
    for (int i = 0; i < 6; i++) f[i] = spawn(i ? keeps_spawning_here : keeps_spawning, NULL);
    for (size_t i = test_size(2000); i > 0; i--) CHECK_EQ(weft_cluster_drain(drained), 0);
    STORE(&over, 1);
    for (int i = 0; i < 6; i++) join(f[i]);
    drained = own;
    test_stop();
}

static void *drains_once(void *unused) {
    CHECK_EQ(weft_cluster_drain(own), 0);
    return unused;
}
/* A fiber in a drain does not count as blocked for ever. */
TEST_WITHIN(while_the_runtime_stops, 60) {
    for (size_t i = test_size(2000); i > 0; i--) {
        test_start(1 + (unsigned)i % 3);
        spawn_detached(drains_once, NULL);
        if (i % 2) spawn_detached(works, NULL);
        test_stop();
    }
}
