/* SPDX-License-Identifier: MIT */
/* Statistics: at rest they add up, and while the runtime works they only grow. */
#include "fiber.h"

#include <string.h>

static struct weft_sem sem;

static void *works(void *unused) {
    (void)unused;
    weft_yield();
    CHECK_EQ(weft_sem_wait(&sem), 0);
    CHECK_EQ(weft_sleep_for(WEFT_MILLISECOND), 0);
    return NULL;
}

static void each_number_grows(const struct weft_stats *before, const struct weft_stats *now) {
    const uint64_t *a = (const uint64_t *)before, *b = (const uint64_t *)now;
    for (unsigned i = 0; i < sizeof *now / sizeof *a; i++) CHECK(a[i] <= b[i]);
}

TEST(they_add_up) {
    enum { N = 500 };
    struct weft_fiber f[N];
    struct weft_stats before = {0}, now;
    test_start(3);
    for (int i = 0; i < N; i++) {
        f[i] = spawn(works, NULL);
        if (i % 50) continue;
        CHECK_EQ(weft_stats_read(&now), 0);
        each_number_grows(&before, &now);
        before = now;
    }
    for (int i = 0; i < N; i++) CHECK_EQ(weft_sem_post(&sem), 0);
    for (int i = 0; i < N; i++) join(f[i]);
    do {
        test_nap_ms(5); /* a join may return a moment before the end is counted */
        CHECK_EQ(weft_stats_read(&now), 0);
    } while (now.completed < N || !now.sleeps);
    CHECK_EQ(weft_stats_read(&now), 0); /* no counter changes while the workers are summed up */
    each_number_grows(&before, &now);
    CHECK_EQ(now.spawned, N);
    CHECK_EQ(now.completed, N);
    CHECK(now.switches >= 2 * N); /* each fiber started, and continued after its sleep */
    CHECK(now.parks >= N);
    CHECK_EQ(now.timers, N);
    CHECK(now.unparks >= N / 2);
    CHECK(now.steals_tried >= now.steals);
    CHECK(now.moved >= now.steals);
    CHECK(now.sleeps >= now.wakeups);
    CHECK(now.sleeps > 0 && now.busy_ns > 0);
    struct weft_stats one, sum = {0};
    for (unsigned w = 0; w < 3 || !weft_stats_worker(w, &one); w++) { /* also the spares of stuck workers */
        CHECK_EQ(weft_stats_worker(w, &one), 0);
        for (unsigned i = 0; i < sizeof sum / 8; i++) ((uint64_t *)&sum)[i] += ((uint64_t *)&one)[i];
    }
    CHECK_EQ(sum.completed, N);
    CHECK_EQ(sum.timers, N);
    CHECK_EQ(sum.spawned, 0); /* a thread handed in all fibers */
    CHECK_EQ(weft_stats_worker(WEFT_WORKERS_MAX, &one), -EINVAL);
    CHECK_EQ(weft_stats_worker(0, NULL), -EINVAL);
    CHECK_EQ(weft_stats_read(NULL), -EINVAL);
    test_stop();
    test_start(1); /* a new runtime begins with zeros */
    CHECK_EQ(weft_stats_read(&now), 0);
    CHECK_EQ(now.spawned + now.completed + now.timers, 0);
    test_stop();
}

static void *nothing(void *unused) { return unused; }
static void count_everywhere(void *unused) {
    enum { N = 100 };
    struct weft_stats before, now;
    struct weft_cluster c;
    (void)unused;
    CHECK_EQ(weft_stats_read(&before), 0);
    CHECK_EQ(weft_cluster_create(&c, &(struct weft_config){.workers = 2}), 0);
    for (int i = 0; i < N; i++) join(spawn_with(&(struct weft_attr){.cluster = c}, nothing, NULL));
    CHECK_EQ(weft_stats_read(&now), 0);
    CHECK_EQ(now.spawned - before.spawned, N);
    CHECK_EQ(weft_cluster_destroy(c), 0); /* afterwards all fibers are counted */
    CHECK_EQ(weft_stats_read(&now), 0);
    CHECK_EQ(now.spawned - before.spawned, N);
    CHECK_EQ(now.completed - before.completed, N);
}
TEST(of_all_clusters) { each_size(count_everywhere); }

static void print_child(void *unused) {
    (void)unused;
    struct weft_config config = {.workers = 2, .stats = 1};
    CHECK_EQ(weft_start(&config), 0);
    for (int i = 0; i < 37; i++) CHECK_EQ(weft_spawn(NULL, NULL, (void *(*)(void *))works, NULL), 0);
    for (int i = 0; i < 37; i++) CHECK_EQ(weft_sem_post(&sem), 0);
    test_stop();
}
TEST(printed_at_the_stop) {
    static struct test_child child;
    test_child(&child, print_child, NULL);
    CHECK(test_child_exited(&child, 0));
    CHECK_HAS(test_line_with(child.said, " all"), "37");
    CHECK_EQ(test_lines_with(child.said, "weft: "), test_lines_with(child.said, "\n"));
}

static int listed;
static void *computes(void *unused) {
    while (!LOAD(&listed)) {
    }
    return unused;
}
static void hog_child(void *unused) {
    struct weft_config config = {.workers = 1, .stats = 1};
    struct weft_hog hog;
    (void)unused;
    CHECK_EQ(weft_start(&config), 0);
    struct weft_fiber f = spawn_with(&(struct weft_attr){.name = "the hog"}, computes, NULL);
    while (weft_hogs((struct weft_cluster){0}, &hog, 1) != 1) test_nap_ms(1);
    STORE(&listed, 1);
    join(f);
    test_stop();
}
TEST(the_hog_that_kept_a_worker_is_printed) {
    static struct test_child child;
    test_child(&child, hog_child, NULL);
    CHECK(test_child_exited(&child, 0));
    CHECK_HAS(test_line_with(child.said, "was once kept for"), "\"the hog\" spawned at");
}

/* Idle workers use no processor: they sleep, and nothing wakes them. At first they finish their work and return memory.
 * If something keeps waking them, the test hangs. */
static bool no_worker_wakes(void *unused) {
    struct weft_stats before, now;
    (void)unused;
    CHECK_EQ(weft_stats_read(&before), 0);
    test_nap_ms(300);
    CHECK_EQ(weft_stats_read(&now), 0);
    return now.completed == 1 && now.sleeps == before.sleeps && now.busy_ns == before.busy_ns;
}
TEST(idle_is_idle) {
    test_start(4);
    spawn_detached(works, NULL);
    CHECK_EQ(weft_sem_post(&sem), 0);
    test_until(no_worker_wakes, NULL);
    test_stop();
}
