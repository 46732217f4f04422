/* SPDX-License-Identifier: MIT */
/* Start, stop and run: a thousand times, with work left, with threads that hand work in. */
#include "threads.h"

#include <stdio.h>
#include <string.h>

static void *same(void *arg) { return arg; }
static void *adds(void *n) {
    ADD((int *)n, 1);
    return NULL;
}

TEST(what_there_is_without_a_runtime) {
    struct weft_fiber f;
    struct weft_stats stats;
    CHECK_EQ(weft_workers(), 0);
    CHECK_EQ(weft_stop(), -ESRCH);
    CHECK_EQ(weft_spawn(&f, NULL, same, NULL), -ESRCH);
    CHECK_EQ(weft_stats_read(&stats), -ESRCH);
    CHECK_EQ(weft_stats_print(), -ESRCH);
    CHECK(strlen(weft_version()) >= 5);
}

TEST(only_one_at_a_time) {
    test_start(3);
    CHECK_EQ(weft_workers(), 3);
    CHECK_EQ(weft_start(NULL), -EBUSY);
    CHECK_EQ(weft_workers(), 3);
    test_stop();
    CHECK_EQ(weft_workers(), 0);
    CHECK_EQ(weft_stop(), -ESRCH);
}

static int main_of_run(void *arg) {
    CHECK_EQ(weft_start(NULL), -EBUSY);
    CHECK_EQ(weft_stop(), -EDEADLK);
    CHECK_EQ(weft_run(main_of_run, NULL, NULL), -EBUSY);
    return *(int *)arg;
}
TEST(run_returns_what_main_returned) {
    for (int i = -3; i < 300; i += 101) CHECK_EQ(weft_run(main_of_run, &i, NULL), i);
    CHECK_EQ(weft_run(NULL, NULL, NULL), -EINVAL);
    CHECK_EQ(weft_run(main_of_run, NULL, &(struct weft_config){.workers = WEFT_WORKERS_MAX + 1}), -EINVAL);
}

static void exits_deep(void *result) { weft_fiber_exit(result); }
static int main_exits(void *result) {
    struct weft_scope s;
    CHECK_EQ(weft_scope_begin(&s, WEFT_FOREVER), 0); /* which is ended first */
    exits_deep(result);
    return 1;
}
static int main_is_cancelled(void *unused) {
    (void)unused;
    CHECK_EQ(weft_cancel(weft_self()), 0);
    CHECK_EQ(weft_sleep_for(WEFT_FOREVER), -ECANCELED);
    weft_fiber_exit_if_cancelled();
    return 1;
}
TEST(run_returns_what_main_exited_with) {
    CHECK_EQ(weft_run(main_exits, (void *)(intptr_t)-EIO, NULL), -EIO);
    CHECK_EQ(weft_run(main_exits, (void *)(intptr_t)42, NULL), 42);
    CHECK_EQ(weft_run(main_exits, NULL, NULL), 0);
    CHECK_EQ(weft_run(main_is_cancelled, NULL, NULL), -ECANCELED);
}

static int leaves_work(void *n) {
    for (int i = 0; i < 1000; i++) spawn_detached(adds, n);
    return 1;
}
TEST(run_waits_for_all_fibers) {
    int n = 0;
    CHECK_EQ(weft_run(leaves_work, &n, NULL), 1);
    CHECK_EQ(n, 1000);
}

/* --- a thousand times ------------------------------------------------------------------------------------- */

static void once_round(unsigned workers) {
    int n = 0;
    test_start(workers);
    for (int k = 0; k < 20; k++) CHECK_EQ(weft_spawn(NULL, NULL, adds, &n), 0);
    CHECK(join(spawn(same, &n)) == &n);
    test_stop();
    CHECK_EQ(n, 20);
}
/* AddressSanitizer gives each thread a signal stack. weft replaces it, and has to restore it. */
static int mappings(void) {
    FILE *f = fopen("/proc/self/maps", "r");
    int lines = 0;
    CHECK(f != NULL);
    for (int c; (c = getc(f)) != EOF;) lines += c == '\n';
    fclose(f);
    return lines;
}
TEST_WITHIN(a_thousand_times_without_a_leak, 120) {
    size_t threads = test_threads() + (TEST_TSAN ? 2 : 0);        /* which has its own signal stack */
    for (int i = 0; i < 50; i++) once_round(1 + (unsigned)i % 8); /* caches fill */
    size_t rss = test_rss_kib(), files = test_open_files();
    int maps = mappings();
    for (size_t i = 0; i < 100 + test_size(900); i++) once_round(1 + (unsigned)i % 8);
    CHECK_EQ(test_open_files(), files);
    if (!TEST_TSAN && !test_valgrind()) CHECK(mappings() < maps + 100);
    if (!test_emulated()) await_threads(threads);
    if (!TEST_ASAN && !TEST_TSAN && !test_valgrind() && !test_emulated()) CHECK(test_rss_kib() < rss + 2048);
}

TEST_WITHIN(many_workers, 60) {
    unsigned most = TEST_TSAN || test_valgrind() ? 32 : 256;
    for (unsigned workers = 1; workers <= most; workers *= 4) once_round(workers);
}

/* --- work left at the stop ---------------------------------------------------------------------------------- */

static struct weft_fiber blocked;
static void *parks(void *arg) {
    STORE((int *)arg, 1);
    CHECK_EQ(weft_park(), 0);
    STORE((int *)arg, 2);
    return NULL;
}
static void stop_with_blocked(void *unused) {
    (void)unused;
    int stage = 0;
    test_start(2);
    blocked = spawn_with(&(struct weft_attr){.name = "sleepy"}, parks, &stage);
    for (int i = 0; i < 3; i++) CHECK_EQ(weft_stop(), -EBUSY);
    CHECK_EQ(weft_workers(), 2); /* it still runs */
    CHECK(join(spawn(same, &stage)) == &stage);
    CHECK_EQ(LOAD(&stage), 1);
    CHECK_EQ(weft_unpark(blocked), 0);
    CHECK_EQ(weft_join(blocked, NULL), 0);
    CHECK_EQ(stage, 2);
    test_stop();
}
TEST(stop_names_blocked_fibers_and_continues) {
    static struct test_child child;
    test_child(&child, stop_with_blocked, NULL);
    if (!test_child_exited(&child, 0)) test_fail(__FILE__, __LINE__, "%s", child.said);
    CHECK_EQ(test_lines_with(child.said, "blocked"), 3);
    const char *line = test_line_with(child.said, "blocked");
    CHECK_HAS(line, "weft: ");
    CHECK_HAS(line, "sleepy");
    CHECK_HAS(line, "runtime.c:");
}

static void stop_with_many_blocked(void *unused) {
    (void)unused;
    static int stage[200];
    static struct weft_fiber f[200];
    test_start(2);
    for (int i = 0; i < 200; i++) f[i] = spawn(parks, &stage[i]);
    CHECK_EQ(weft_stop(), -EBUSY);
    for (int i = 0; i < 200; i++) CHECK_EQ(weft_unpark(f[i]), 0);
    for (int i = 0; i < 200; i++) CHECK_EQ(weft_detach(f[i]), 0);
    test_stop();
}
TEST(many_blocked_are_a_few_lines) {
    static struct test_child child;
    test_child(&child, stop_with_many_blocked, NULL);
    if (!test_child_exited(&child, 0)) test_fail(__FILE__, __LINE__, "%s", child.said);
    CHECK(test_lines_with(child.said, "\n") < 30);
    CHECK_HAS(child.said, "more");
}

/* The stop waits while a fiber sleeps, because that fiber will continue. */
static void *sleeps(void *arg) {
    CHECK_EQ(weft_sleep_for(20 * WEFT_MILLISECOND), 0);
    STORE((int *)arg, 1);
    return NULL;
}
TEST(stop_waits_for_sleepers) {
    int done = 0;
    test_start(2);
    spawn_detached(sleeps, &done);
    test_stop();
    CHECK_EQ(done, 1);
}

/* It also waits for a fiber that a timer will wake. It returns -EBUSY if the timer is cancelled instead. */
static void unpark_it(void *f) { weft_unpark(*(struct weft_fiber *)f); }
static struct weft_timer timer;
static void *cancels(void *unused) {
    (void)unused;
    test_nap_ms(30);
    CHECK_EQ(weft_timer_cancel(&timer), 0);
    return NULL;
}
TEST(stop_waits_for_timers) {
    int stage = 0;
    test_start(2);
    blocked = spawn(parks, &stage);
    CHECK_EQ(weft_timer_arm(&timer, weft_now() + 20 * WEFT_MILLISECOND, unpark_it, &blocked), 0);
    CHECK_EQ(weft_detach(blocked), 0);
    test_stop();
    CHECK_EQ(stage, 2);
}
TEST(stop_sees_that_the_last_timer_was_cancelled) {
    int stage = 0;
    test_start(2);
    blocked = spawn(parks, &stage);
    CHECK_EQ(weft_timer_arm(&timer, weft_now() + 3600 * WEFT_SECOND, unpark_it, &blocked), 0);
    pthread_t t = thread_start(cancels, NULL);
    CHECK_EQ(weft_stop(), -EBUSY);
    thread_join(t);
    CHECK_EQ(weft_unpark(blocked), 0);
    join(blocked);
    test_stop();
}

static void *ends_when_cancelled(void *arg) {
    CHECK_EQ(weft_park(), -ECANCELED);
    STORE((int *)arg, 1);
    return NULL;
}
static int leaves_one_blocked(void *arg) {
    CHECK_EQ(weft_spawn(NULL, &(struct weft_attr){.name = "left"}, ends_when_cancelled, arg), 0);
    return 42;
}
static void run_with_blocked(void *unused) {
    (void)unused;
    int done = 0;
    CHECK_EQ(weft_run(leaves_one_blocked, &done, NULL), 42);
    CHECK_EQ(done, 1);
}
TEST(run_cancels_blocked_fibers) {
    static struct test_child child;
    test_child(&child, run_with_blocked, NULL);
    if (!test_child_exited(&child, 0)) test_fail(__FILE__, __LINE__, "%s", child.said);
    CHECK_HAS(child.said, "\"left\" waits for");
}

static struct weft_mutex taken;
static int relocking;
static void *takes(void *unused) {
    (void)unused;
    await_yielding(&relocking, 1);
    CHECK_EQ(weft_mutex_lock(&taken), 0); /* and ends with it */
    return NULL;
}
static void *relocks(void *unused) {
    (void)unused;
    struct weft_cond cond = WEFT_COND_INIT;
    CHECK_EQ(weft_mutex_lock(&taken), 0);
    STORE(&relocking, 1);
    weft_cond_wait(&cond, &taken); /* returns only with the mutex, which is never unlocked */
    return NULL;
}
static int leaves_a_stubborn_one(void *unused) {
    (void)unused;
    spawn_detached(relocks, NULL);
    spawn_detached(takes, NULL);
    return 1;
}
static void run_with_stubborn(void *unused) {
    (void)unused;
    CHECK_EQ(weft_run(leaves_a_stubborn_one, NULL, &(struct weft_config){.workers = 1}), -EBUSY);
    CHECK_EQ(weft_workers(), 0);
    once_round(2); /* and another runtime can begin */
}
TEST(run_abandons_endless_fibers) {
    static struct test_child child;
    test_child(&child, run_with_stubborn, NULL);
    if (!test_child_exited(&child, 0)) test_fail(__FILE__, __LINE__, "%s", child.said);
    CHECK_HAS(child.said, "blocked");
    /* It prints the reason once, and the outcome once. */
    CHECK_EQ(test_lines_with(child.said, "main has returned, and nothing can happen any more"), 1);
    CHECK_EQ(test_lines_with(child.said, "did not end when they were cancelled, and are abandoned"), 1);
    CHECK_EQ(test_lines_with(child.said, "nothing is left to wake it"), 0);
}

/* --- threads of the program ----------------------------------------------------------------------------------- */

/* Threads hand work in and wait for it, while the runtime is stopped and started again. */
static int handed_in, done, over;
static void *hands_in(void *unused) {
    (void)unused;
    while (!LOAD(&over)) {
        struct weft_fiber f;
        int err = weft_spawn(&f, NULL, adds, &done);
        CHECK(err == 0 || err == -ESRCH);
        if (err) {
            weft_yield();
            continue;
        }
        ADD(&handed_in, 1);
        CHECK_EQ(weft_join(f, NULL), 0);
    }
    return NULL;
}
TEST_WITHIN(stopped_and_started_under_load, 60) {
    pthread_t t[3];
    for (int i = 0; i < 3; i++) t[i] = thread_start(hands_in, NULL);
    for (size_t i = 0; i < test_size(500); i++) {
        test_start(1 + (unsigned)i % 4);
        if (i % 10 == 0) test_nap_ms(1);
        while (i == 0 && !LOAD(&handed_in)) test_nap_ms(1);
        test_stop();
    }
    STORE(&over, 1);
    for (int i = 0; i < 3; i++) thread_join(t[i]);
    CHECK_EQ(done, handed_in);
    CHECK(done > 0);
}
