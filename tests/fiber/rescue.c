/* SPDX-License-Identifier: MIT */
/*
 * A fiber that keeps its worker, because it sits in a blocking call or computes, keeps no other fiber waiting. Fibers
 * that are ready behind it, mailed to its worker or pinned there, and timers that are due there, all run. If that is
 * broken, each test here hangs.
 */
#define _GNU_SOURCE
#include "threads.h"

#include "sched/wake/idle.h"

#include <stdio.h>

/* --- hogs ---------------------------------------------------------------------------------------------------- */

static int hogging, release, ran, over;
static int gate[2]; /* a pipe */

static void open_gate(void) { CHECK(!pipe(gate)); }
static void let_through(int n) {
    STORE(&release, 1);
    for (int i = 0; i < n; i++) CHECK_EQ(write(gate[1], "x", 1), 1);
}

static void *blocks(void *unused) {
    char c;
    ADD(&hogging, 1);
    CHECK_EQ(read(gate[0], &c, 1), 1);
    ADD(&hogging, -1);
    return unused;
}
static void *computes(void *unused) {
    ADD(&hogging, 1);
    while (!LOAD(&release)) {
    }
    ADD(&hogging, -1);
    return unused;
}
typedef void *hog_fn(void *);

static void *runs(void *unused) {
    ADD(&ran, 1);
    return unused;
}
static void fires(void *unused) { runs(unused); }
static void *runs_more(void *unused) {
    for (int i = 0; i < 10; i++) weft_yield();
    CHECK_EQ(weft_sleep_for(WEFT_MILLISECOND), 0);
    return runs(unused);
}
static void *parks(void *unused) {
    CHECK_EQ(weft_park(), 0);
    return runs(unused);
}
static void *sleeps(void *unused) {
    CHECK_EQ(weft_sleep_for(20 * WEFT_MILLISECOND), 0);
    return runs(unused);
}

/* --- one worker, and everything that may wait for it ------------------------------------------ */

static struct weft_timer timers[2];

/* Fibers and timers that are ready and due before the hog begins, without another thread. */
static void *prepares_and_hogs(void *hog) {
    struct weft_attr pinned = {.pinned = 1}, high = {.priority = WEFT_HIGH}, low = {.priority = WEFT_LOW};
    spawn_detached(runs, NULL);
    spawn_detached(runs_more, NULL);
    CHECK_EQ(weft_spawn(NULL, &pinned, runs_more, NULL), 0);
    CHECK_EQ(weft_spawn(NULL, &high, runs_more, NULL), 0);
    CHECK_EQ(weft_spawn(NULL, &low, runs_more, NULL), 0);
    CHECK_EQ(weft_timer_arm(&timers[0], weft_now() + 10 * WEFT_MILLISECOND, fires, NULL), 0);
    return ((hog_fn *)hog)(NULL);
}

static void one_worker(hog_fn *hog) {
    struct weft_attr pinned = {.pinned = 1};
    struct weft_fiber parked[2], sleeper[2], f;
    open_gate();
    test_start(1);
    for (size_t round = test_size(5); round > 0; round--) {
        STORE(&ran, 0);
        STORE(&release, 0);
        for (int i = 0; i < 2; i++) {
            parked[i] = spawn_with(i ? &pinned : NULL, parks, NULL);
            sleeper[i] = spawn_with(i ? &pinned : NULL, sleeps, NULL);
        }
        f = spawn(prepares_and_hogs, (void *)hog);
        test_await(&hogging, 1);
        test_await(&ran, 6 + 2); /* the fibers that it prepared, and the sleepers */
        for (int i = 0; i < 2; i++) CHECK_EQ(weft_unpark(parked[i]), 0);
        CHECK_EQ(weft_spawn(NULL, NULL, runs_more, NULL), 0);
        CHECK_EQ(weft_spawn(NULL, &pinned, runs_more, NULL), 0);
        CHECK_EQ(weft_timer_arm(&timers[1], weft_now() + WEFT_MILLISECOND, fires, NULL), 0);
        test_await(&ran, 6 + 2 + 2 + 2 + 1);
        CHECK_EQ(LOAD(&hogging), 1);
        let_through(hog == blocks);
        join(f);
        for (int i = 0; i < 2; i++) {
            join(parked[i]);
            join(sleeper[i]);
        }
        join(spawn_with(&pinned, runs_more, NULL)); /* its worker goes on */
        CHECK_EQ(LOAD(&ran), 14);
        CHECK_EQ(LOAD(&hogging), 0);
    }
    test_stop();
}
TEST(behind_one_that_blocks) { one_worker(blocks); }
TEST(behind_one_that_computes) { one_worker(computes); }

static void *pinned_hog(void *hog) { return ((hog_fn *)hog)(NULL); }
static void behind_pinned(hog_fn *hog) {
    struct weft_attr pinned = {.pinned = 1};
    open_gate();
    test_start(1);
    struct weft_fiber f = spawn_with(&pinned, pinned_hog, (void *)hog);
    test_await(&hogging, 1);
    for (int i = 0; i < 20; i++) CHECK_EQ(weft_spawn(NULL, i % 2 ? &pinned : NULL, runs_more, NULL), 0);
    test_await(&ran, 20);
    let_through(hog == blocks);
    join(f);
    test_stop();
}
TEST(behind_a_pinned_one_that_blocks) { behind_pinned(blocks); }
TEST(behind_a_pinned_one_that_computes) { behind_pinned(computes); }

/* A pinned fiber that runs in place of its stuck worker, on another thread, still names that worker. */
static pthread_t hogs_thread;
static void *keeps_thread(void *hog) {
    hogs_thread = pthread_self();
    return ((hog_fn *)hog)(NULL);
}
static void *names_its_worker(void *unused) {
    for (int i = 0; i < 10; i++) {
        CHECK_EQ(weft_worker(), 0);
        CHECK(!pthread_equal(pthread_self(), hogs_thread)); /* that thread is with the hog */
        weft_yield();
    }
    return runs(unused);
}
static void named_behind(hog_fn *hog) {
    struct weft_attr pinned = {.pinned = 1};
    open_gate();
    test_start(1);
    struct weft_fiber f = spawn_with(&pinned, keeps_thread, (void *)hog);
    test_await(&hogging, 1);
    for (int i = 0; i < 5; i++) CHECK_EQ(weft_spawn(NULL, &pinned, names_its_worker, NULL), 0);
    test_await(&ran, 5);
    let_through(hog == blocks);
    join(f);
    test_stop();
}
TEST(a_pinned_one_names_its_worker) {
    named_behind(blocks);
    STORE(&ran, 0);
    STORE(&release, 0);
    named_behind(computes);
}

/* The same in a second cluster. */
TEST(in_another_cluster) {
    struct weft_cluster c;
    open_gate();
    test_start(1);
    CHECK_EQ(weft_cluster_create(&c, &(struct weft_config){.workers = 1}), 0);
    struct weft_attr there = {.cluster = c}, pinned = {.cluster = c, .pinned = 1};
    for (int round = 1; round <= 3; round++) {
        struct weft_fiber f = spawn_with(&there, blocks, NULL);
        test_await(&hogging, 1);
        for (int i = 0; i < 20; i++) CHECK_EQ(weft_spawn(NULL, i % 2 ? &pinned : &there, runs_more, NULL), 0);
        test_await(&ran, 20 * round);
        let_through(1);
        join(f);
    }
    CHECK_EQ(weft_cluster_drain(c), 0);
    CHECK_EQ(weft_cluster_destroy(c), 0);
    test_stop();
}

/* --- the other worker always has work --------------------------------------------------------- */

static void *yields(void *unused) {
    while (!LOAD(&over)) weft_yield();
    return unused;
}
static void others_busy(hog_fn *hog) {
    struct weft_attr pinned = {.pinned = 1};
    struct weft_fiber f[20], hogs;
    open_gate();
    test_start(2);
    for (int i = 0; i < 20; i++) f[i] = spawn(yields, NULL);
    for (size_t round = test_size(50); round > 0; round--) {
        STORE(&ran, 0);
        STORE(&release, 0);
        hogs = spawn_with(&pinned, prepares_and_hogs, (void *)hog);
        test_await(&hogging, 1);
        CHECK_EQ(weft_spawn(NULL, &pinned, runs, NULL), 0);
        test_await(&ran, 7);
        let_through(hog == blocks);
        join(hogs);
    }
    STORE(&over, 1);
    for (int i = 0; i < 20; i++) join(f[i]);
    test_stop();
}
TEST_WITHIN(beside_a_busy_worker_behind_one_that_blocks, 30) { others_busy(blocks); }
TEST_WITHIN(beside_a_busy_worker_behind_one_that_computes, 30) { others_busy(computes); }

/* --- several hogs ----------------------------------------------------------------------------- */

/* Each hog is on the spare that ran in place of the previous worker. */
static void nested(unsigned workers, int hogs) {
    struct weft_fiber f[200];
    open_gate();
    test_start(workers);
    for (int round = 1; round <= 2; round++) {
        for (int i = 0; i < hogs; i++) f[i] = spawn(blocks, NULL);
        test_await(&hogging, hogs);
        CHECK_EQ(weft_spawn(NULL, NULL, runs_more, NULL), 0);
        CHECK_EQ(weft_spawn(NULL, &(struct weft_attr){.pinned = 1}, runs_more, NULL), 0);
        test_await(&ran, 2 * round);
        let_through(hogs);
        for (int i = 0; i < hogs; i++) join(f[i]);
    }
    test_stop();
}
TEST(a_spare_that_blocks_too) { nested(1, 2); }
TEST(ten_block_on_one_worker) { nested(1, 10); }
TEST(thirty_block_on_two_workers) { nested(2, 30); }

/* More hogs than spares: weft prints one line, and the surplus fibers wait, and are not lost. */
static void too_many(void *unused) {
    enum { HOGS = 280, SPARES = 256 };
    (void)unused;
    struct weft_fiber f[HOGS];
    open_gate();
    test_start(1);
    for (int i = 0; i < HOGS; i++) f[i] = spawn(blocks, NULL);
    test_await(&hogging, 1 + SPARES); /* the worker and its spares */
    for (int i = 0; i < 20; i++) CHECK_EQ(weft_spawn(NULL, NULL, runs, NULL), 0);
    while (weft_hogs((struct weft_cluster){0}, NULL, 0) < 1 + SPARES) test_nap_ms(1);
    test_nap_ms(100);
    CHECK_EQ(LOAD(&hogging), 1 + SPARES);
    CHECK_EQ(LOAD(&ran), 0);
    let_through(HOGS);
    for (int i = 0; i < HOGS; i++) join(f[i]);
    test_await(&ran, 20);
    test_stop();
}
TEST(more_than_there_may_be) {
    static struct test_child child;
    test_child(&child, too_many, NULL);
    if (!test_child_exited(&child, 0)) test_fail(__FILE__, __LINE__, "%s", child.said);
    CHECK_EQ(test_lines_with(child.said, "weft: "), 1);
    CHECK_HAS(child.said, "stuck");
}

/* --- afterwards ------------------------------------------------------------------------------- */

static struct threads seen;
static int looking;
static void *yields_and_is_seen(void *unused) {
    while (!LOAD(&over)) {
        if (LOAD(&looking)) threads_add(&seen);
        weft_yield();
    }
    return unused;
}
static bool only_workers_run(void *workers) {
    for (int i = 0; i < 3; i++) {
        threads_clear(&seen);
        STORE(&looking, 1);
        test_nap_ms(20);
        STORE(&looking, 0);
        test_nap_ms(2);
        if (threads_count(&seen) > (unsigned)(uintptr_t)workers) return false;
    }
    return true;
}
static void retire(unsigned workers) {
    enum { HOGS = 12, OTHERS = 30 };
    struct weft_fiber f[HOGS], other[OTHERS];
    open_gate();
    test_start(workers);
    for (int i = 0; i < OTHERS; i++)
        other[i] =
            spawn_with(&(struct weft_attr){.priority = i % 5 ? WEFT_NORMAL : WEFT_HIGH}, yields_and_is_seen, NULL);
    for (int i = 0; i < HOGS; i++) f[i] = spawn(blocks, NULL);
    test_await(&hogging, HOGS);
    let_through(HOGS);
    for (int i = 0; i < HOGS; i++) join(f[i]);
    test_until(only_workers_run, (void *)(uintptr_t)workers);
    CHECK_EQ(weft_workers(), workers);
    STORE(&over, 1);
    for (int i = 0; i < OTHERS; i++) join(other[i]);
    test_stop();
}
TEST(spares_retire_again_one) { retire(1); }
TEST(spares_retire_again_two) { retire(2); }

/* No fiber waits for the blocked worker, but the other worker has more than it can run. */
static bool two_run(void *unused) {
    (void)unused;
    return threads_count(&seen) >= 2; /* or more, where the machine makes others look blocked */
}
TEST(a_worker_that_is_missed) {
    struct weft_fiber f, other[10];
    struct weft_cluster own = {0};
    open_gate();
    test_start(2);
    CHECK_EQ(weft_cluster_resize(own, 0), 0); /* as many as there are processors */
    if (weft_workers() < 2) test_skip("there is one processor");
    CHECK_EQ(weft_cluster_resize(own, 2), 0);
    f = spawn(blocks, NULL);
    test_await(&hogging, 1);
    threads_clear(&seen);
    STORE(&looking, 1);
    for (int i = 0; i < 10; i++) other[i] = spawn(yields_and_is_seen, NULL);
    test_until(two_run, NULL);
    STORE(&over, 1);
    for (int i = 0; i < 10; i++) join(other[i]);
    let_through(1);
    join(f);
    test_stop();
}

/* Hogs and a resize: the program sets the number, and the spares come in addition. */
TEST(a_resize_while_one_hogs) {
    struct weft_fiber f;
    open_gate();
    test_start(1);
    f = spawn(blocks, NULL);
    test_await(&hogging, 1);
    for (unsigned n = 1; n <= 5; n++) {
        CHECK_EQ(weft_cluster_resize((struct weft_cluster){0}, 1 + n % 3), 0);
        CHECK_EQ(weft_workers(), 1 + n % 3);
        CHECK_EQ(weft_spawn(NULL, NULL, runs_more, NULL), 0);
        test_await(&ran, (int)n);
    }
    CHECK_EQ(weft_cluster_resize((struct weft_cluster){0}, 1), 0);
    let_through(1);
    join(f);
    struct weft_fiber other[10];
    for (int i = 0; i < 10; i++) other[i] = spawn(yields_and_is_seen, NULL);
    test_until(only_workers_run, (void *)1);
    STORE(&over, 1);
    for (int i = 0; i < 10; i++) join(other[i]);
    test_stop();
}

/* A stop waits for the hog, for all fibers behind it, and for fibers that the hog makes ready. */
static void *lets_through_late(void *unused) {
    test_await(&ran, 10);
    let_through(1);
    return unused;
}
TEST(a_stop_while_one_hogs) {
    open_gate();
    for (int round = 0; round < 5; round++) {
        STORE(&ran, 0);
        test_start(1);
        spawn_detached(blocks, NULL);
        test_await(&hogging, 1);
        for (int i = 0; i < 10; i++) spawn_detached(runs_more, NULL);
        pthread_t t = thread_start(lets_through_late, NULL);
        test_stop();
        thread_join(t);
        CHECK_EQ(LOAD(&ran), 10);
        CHECK_EQ(LOAD(&hogging), 0);
    }
    await_alone();
}

/* --- values of the kernel thread -------------------------------------------------------------- */

static __thread int mine; /* the thread's own number, after a fiber has stored it */

static __attribute__((noinline)) int *where_mine(void) {
    int *p = &mine;
    __asm__ volatile("" : "+r"(p));
    return p;
}
static void *marks(void *unused) {
    for (int i = 0; i < 20; i++) {
        int me = thread_id(), was = *where_mine();
        CHECK(was == 0 || was == me);
        *where_mine() = me;
        weft_yield();
    }
    return runs(unused);
}
static void *blocks_and_looks(void *unused) {
    int me = thread_id();
    *where_mine() = me;
    blocks(NULL);
    CHECK_EQ(thread_id(), me); /* the spare was another one */
    CHECK_EQ(*where_mine(), me);
    return unused;
}
TEST(thread_locals_stay_with_the_thread) {
    struct weft_fiber f[5];
    open_gate();
    test_start(2);
    for (int round = 1; round <= 5; round++) {
        for (int i = 0; i < 5; i++) f[i] = spawn(blocks_and_looks, NULL);
        test_await(&hogging, 5);
        for (int i = 0; i < 20; i++) CHECK_EQ(weft_spawn(NULL, NULL, marks, NULL), 0);
        test_await(&ran, 20 * round);
        let_through(5);
        for (int i = 0; i < 5; i++) join(f[i]);
    }
    test_stop();
}

/* No other worker uses the caches of a stuck worker: fibers end and begin beside it as usual. */
static void *spawns_tree(void *depth) {
    intptr_t d = (intptr_t)depth;
    if (!d) return runs(NULL);
    struct weft_fiber l = spawn(spawns_tree, (void *)(d - 1)), r = spawn(spawns_tree, (void *)(d - 1));
    join(l);
    join(r);
    return NULL;
}
TEST(trees_grow_beside_it) {
    open_gate();
    test_start(1);
    struct weft_fiber f[3];
    for (int i = 0; i < 3; i++) f[i] = spawn(blocks, NULL);
    test_await(&hogging, 3);
    for (int i = 1; i <= 20; i++) {
        join(spawn(spawns_tree, (void *)6));
        CHECK_EQ(LOAD(&ran), 64 * i);
    }
    let_through(3);
    for (int i = 0; i < 3; i++) join(f[i]);
    test_stop();
}

/* --- which sleeper is woken -------------------------------------------------------------------------------------- */

static bool is_last_sleeper(void *worker) {
    struct weft__idle *idle = &weft__cluster.idle;
    weft__lock(&idle->lock);
    bool is = idle->top == worker && !idle->watchman && weft__idle_resting(load_rlx(&idle->state)) == 3;
    weft__unlock(&idle->lock);
    return is;
}
static int helped;
static void *until_helped(void *unused) {
    while (!LOAD(&helped)) {
        uint64_t end = weft_now() + 100 * WEFT_MICROSECOND;
        while (weft_now() < end) {
        }
        if (weft_worker() == 1) STORE(&helped, 1);
        weft_yield();
    }
    return unused;
}
static void *spawns_many(void *unused) {
    for (int i = 0; i < 20; i++) spawn_detached(until_helped, NULL);
    return unused;
}
/*
 * A spare fell asleep last, and no sleeper is the watchman. The spare may not take fibers from a worker that has no
 * spare. So a worker with much to do wakes the sleeper below, and that worker helps. Without rescues the numbers that
 * the monitor writes are those that the test chooses.
 */
TEST(a_sleeping_spare_hides_no_other_sleeper) {
    no_rescue();
    test_start(3);
    struct weft__worker *spare = weft__cluster.workers[2];
    store_rlx(&weft__cluster.configured, 2);
    while (!is_last_sleeper(spare)) {
        join(spawn_with(&(struct weft_attr){.pinned = 3}, runs, NULL));
        test_nap_ms(5);
    }
    join(spawn_with(&(struct weft_attr){.pinned = 1}, spawns_many, NULL));
    test_await(&helped, 1);
    CHECK_EQ(weft_cluster_drain((struct weft_cluster){0}), 0);
    store_rlx(&weft__cluster.configured, 3);
    test_stop();
}
