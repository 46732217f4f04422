/* SPDX-License-Identifier: MIT */
/*
 * Memory of a burst of fibers goes back to the kernel, also while every worker wakes up again and again, or is always
 * busy. Handles of fibers of the burst keep their meaning. A test that waits for memory to go back hangs if it does
 * not.
 */
#define _GNU_SOURCE
#include "fiber.h"

#include "../state.h"

#include <pthread.h>
#include <string.h>

static struct weft_sem go;
static struct weft_counter left;
static size_t touched; /* how many fibers of the burst have touched their pages */
static int enough;     /* for the fibers that keep workers awake */

/* --- the burst --------------------------------------------------------------------------------------------- */

static void *touch_and_wait(void *unused) {
    char pages[6000];
    memset(pages, 1, sizeof pages);
    __asm__ volatile("" ::"r"(pages) : "memory");
    ADD(&touched, 1);
    CHECK_EQ(weft_sem_wait(&go), 0);
    return unused;
}
/* Called in a fiber: all fibers of the burst begin, and then all end. Returns how much memory that took. */
static size_t burst(size_t n, struct weft_fiber *handles) {
    struct weft_attr attr = {.counter = &left};
    size_t before = test_rss_kib();
    STORE(&touched, 0);
    CHECK_EQ(weft_counter_add(&left, n), 0);
    for (size_t i = 0; i < n; i++) {
        struct weft_fiber f = spawn_with(&attr, touch_and_wait, NULL);
        if (handles) handles[i] = f;
        CHECK_EQ(weft_detach(f), 0);
    }
    while (LOAD(&touched) < n) weft_yield();
    size_t most = test_rss_kib();
    for (size_t i = 0; i < n; i++) CHECK_EQ(weft_sem_post(&go), 0);
    CHECK_EQ(weft_counter_wait(&left, 0), 0);
    return most > before ? most - before : 0;
}

static void *wake_up(void *unused) {
    while (!LOAD(&enough)) CHECK_EQ(weft_sleep_for(10 * WEFT_MILLISECOND), 0);
    return unused;
}
static void *never_rest(void *unused) {
    while (!LOAD(&enough)) weft_yield();
    return unused;
}
static void on_each_worker(void *(*fn)(void *)) {
    STORE(&enough, 0);
    for (unsigned i = 1; i <= weft_workers(); i++) {
        struct weft_attr attr = {.pinned = i, .detached = 1};
        if (fn) CHECK_EQ(weft_spawn(NULL, &attr, fn, NULL), 0);
    }
}

static void until_at_most(size_t kib) {
    while (test_rss_kib() > kib) CHECK_EQ(weft_sleep_for(WEFT_MILLISECOND), 0);
}
static void measures_memory(void) {
    if (TEST_ASAN || TEST_TSAN || test_valgrind() || test_emulated()) test_skip("the tool keeps memory of its own");
}

/* --- stacks -------------------------------------------------------------------------------------------------- */

static void goes_back(void *beside) {
    void *(*fn)(void *) = (void *(*)(void *))(uintptr_t)beside;
    enum { N = 20000 };
    burst(100, NULL);
    size_t before = test_rss_kib(), took = burst(N, NULL);
    CHECK(took > N * 8 / 2); /* KiB */
    on_each_worker(fn);
    until_at_most(before + took / 10);
    STORE(&enough, 1);
    took = burst(N, NULL); /* and it can be allocated again */
    CHECK(took > N * 8 / 2);
    on_each_worker(fn);
    until_at_most(before + took / 10);
    STORE(&enough, 1);
}
static void with_beside(void *(*fn)(void *)) {
    measures_memory();
    for (unsigned workers = 1; workers <= 4; workers *= 2) test_in_fiber(workers, goes_back, (void *)(uintptr_t)fn);
}
TEST_WITHIN(it_goes_back_when_all_rest, 60) { with_beside(NULL); }
TEST_WITHIN(it_goes_back_while_workers_wake_up, 60) { with_beside(wake_up); }
TEST_WITHIN(it_goes_back_while_workers_never_rest, 60) { with_beside(never_rest); }

/* The memory in the cache of a worker goes back, too: large stacks that are touched to their end. */
static void *touch_much(void *unused) {
    char pages[900 * 1024];
    memset(pages, 1, sizeof pages);
    __asm__ volatile("" ::"r"(pages) : "memory");
    weft_yield();
    return unused;
}
static void caches(void *unused) {
    (void)unused;
    enum { N = 60 };
    struct weft_attr attr = {.stack_size = 1 << 20};
    struct weft_fiber f[N];
    size_t before = test_rss_kib();
    for (int i = 0; i < N; i++) f[i] = spawn_with(&attr, touch_much, NULL);
    for (int i = 0; i < N; i++) join(f[i]);
    on_each_worker(wake_up);
    until_at_most(before + 4 * 1024);
    STORE(&enough, 1);
}
TEST_WITHIN(it_goes_back_from_the_caches_of_workers, 60) {
    measures_memory();
    test_in_fiber(1, caches, NULL);
    test_in_fiber(2, caches, NULL);
}

/* --- records, and queues -------------------------------------------------------------------------------------- */

static void *nothing(void *unused) { return unused; }
/* All fibers are ready at once, and each passes its stack on to the next. So only records and the slots of the ready
 * queue grow. */
static void records(void *unused) {
    (void)unused;
    enum { N = 300000 };
    struct weft_attr attr = {.counter = &left, .detached = 1};
    size_t before = test_rss_kib();
    CHECK_EQ(weft_counter_add(&left, N), 0);
    for (int i = 0; i < N; i++) CHECK_EQ(weft_spawn(NULL, &attr, nothing, NULL), 0);
    size_t took = test_rss_kib() - before;
    CHECK_EQ(weft_counter_wait(&left, 0), 0);
    if (weft_workers() == 1) CHECK(took > N / 1024 * (128 + 8)); /* other fibers begin on them meanwhile */
    on_each_worker(wake_up);
    until_at_most(before + took / 10);
    STORE(&enough, 1);
}
TEST_WITHIN(records_and_queues_go_back, 60) {
    measures_memory();
    no_rescue();
    test_in_fiber(1, records, NULL);
    test_in_fiber(3, records, NULL);
}

/* --- what is left of them ---------------------------------------------------------------------------------------- */

static bool has_no_memory(uint32_t record) {
    struct weft__slab_page *p = &weft__fibers.page[record / WEFT_SLAB_CHUNK][record % WEFT_SLAB_CHUNK / 32];
    weft__lock(&weft__fibers.trimming); /* which is held while that changes */
    bool none = p->spot.at && !p->idle;
    weft__unlock(&weft__fibers.trimming);
    return none;
}
static void handles(void *unused) {
    (void)unused;
    enum { MOST = 20000 };
    static struct weft_fiber old[MOST], f[MOST];
    int n = (int)test_fibers(MOST);
    burst((size_t)n, old);
    for (int i = 0; i < n; i += 1000) /* most of them */
        for (int tries = 0; !has_no_memory(weft__life_index(old[i].id)) && tries < 5000; tries++)
            CHECK_EQ(weft_sleep_for(WEFT_MILLISECOND), 0);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < n; i++) {
            CHECK_EQ(weft_unpark(old[i]), -ESRCH);
            CHECK_EQ(weft_cancel(old[i]), -ESRCH);
            CHECK_EQ(weft_join(old[i], NULL), -ESRCH);
            CHECK_EQ(weft_detach(old[i]), -ESRCH);
            CHECK_EQ(weft_cluster_move(old[i], weft_cluster_self()), -ESRCH);
        }
        if (round) break;
        for (int i = 0; i < n; i++) f[i] = spawn(touch_and_wait, NULL); /* in the same records */
    }
    for (int i = 0; i < n; i++) CHECK_EQ(weft_sem_post(&go), 0);
    for (int i = 0; i < n; i++) join(f[i]);
}
TEST_WITHIN(handles_stay_stale, 60) { test_in_fiber(2, handles, NULL); }

/* Records go back also if their fibers have forked calls, which marks the record. */
static void call(void *unused) { (void)unused; }
static void *fork_and_wait(void *unused) {
    struct weft_task task;
    weft_task_fork(&task, call, NULL);
    weft_task_join(&task);
    CHECK_EQ(weft_sem_wait(&go), 0);
    return unused;
}
static void records_with_marks(void *unused) {
    (void)unused;
    enum { N = 2000 };
    static struct weft_fiber f[N];
    for (int i = 0; i < N; i++) f[i] = spawn(fork_and_wait, NULL);
    for (int i = 0; i < N; i++) CHECK_EQ(weft_sem_post(&go), 0);
    for (int i = 0; i < N; i++) join(f[i]);
    int gone = 0;
    while (gone < N / 2) { /* the others share pages with records that are in use or cached */
        CHECK_EQ(weft_sleep_for(10 * WEFT_MILLISECOND), 0);
        gone = 0;
        for (int i = 0; i < N; i++) gone += has_no_memory(weft__life_index(f[i].id));
    }
}
TEST_WITHIN(records_of_fibers_that_forked_go_back, 60) { test_in_fiber(2, records_with_marks, NULL); }

/* Threads use stale handles all the time, while records are used and freed. No fiber is affected. */
static _Atomic uint64_t known[1024];
static void *use_stale(void *number) {
    uint64_t random = (uintptr_t)number + 1;
    while (!LOAD(&enough)) {
        struct weft_fiber f = {load_rlx(&known[test_below(&random, 1024)])};
        int err = test_below(&random, 2) ? weft_cancel(f) : weft_unpark(f);
        CHECK(err == 0 || err == -ESRCH);
    }
    return NULL;
}
static void *trim_always(void *unused) {
    while (!LOAD(&enough)) {
        weft__slab_end_period(&weft__fibers);
        weft__slab_trim(&weft__fibers);
        weft__stacks_end_period();
        weft__stacks_trim();
    }
    return unused;
}
static void *check_scope(void *unused) { /* which takes the fiber's own lock, and may be cancelled by a stale handle */
    struct weft_scope scope;
    int err = weft_scope_begin(&scope, WEFT_FOREVER);
    CHECK(err == 0 || err == -ECANCELED);
    weft_yield();
    if (!err) err = weft_scope_end(&scope);
    CHECK(err == 0 || err == -ECANCELED);
    return unused;
}
static void *churn(void *unused) {
    uint64_t random = 1;
    static struct weft_fiber f[5000];
    for (size_t round = test_size(200); round > 0; round--) {
        size_t n = test_below(&random, 3) ? 100 : test_fibers(5000);
        for (size_t i = 0; i < n; i++) {
            f[i] = spawn(check_scope, NULL);
            if (i % 8 == 0) store_rlx(&known[test_below(&random, 1024)], f[i].id);
        }
        for (size_t i = 0; i < n; i++) join(f[i]);
        CHECK_EQ(weft_sleep_for(100 * WEFT_MICROSECOND), 0);
    }
    STORE(&enough, 1);
    return unused;
}
TEST_WITHIN(stale_handles_while_records_go, 60) {
    pthread_t user[2], trimmer;
    test_start(2);
    for (uintptr_t i = 0; i < 2; i++) CHECK(!pthread_create(&user[i], NULL, use_stale, (void *)i));
    CHECK(!pthread_create(&trimmer, NULL, trim_always, NULL));
    join(spawn(churn, NULL));
    for (unsigned i = 0; i < 2; i++) CHECK(!pthread_join(user[i], NULL));
    CHECK(!pthread_join(trimmer, NULL));
    test_stop();
}
