/* SPDX-License-Identifier: MIT */
/* The number of workers changes while everything runs. */
#define _GNU_SOURCE
#include "threads.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

static const struct weft_cluster own; /* {0}: the caller's, or the first */
static int over, ran;

static void *nothing(void *arg) { return arg; }
static void *counts(void *unused) {
    ADD(&ran, 1);
    return unused;
}

/* --- numbers --------------------------------------------------------------------------------------------------- */

static void numbers(void) {
    for (unsigned n = 1; n <= 40; n = n * 3 + 1) {
        CHECK_EQ(weft_cluster_resize(own, n), 0);
        CHECK_EQ(weft_workers(), n);
        CHECK_EQ(weft_cluster_workers(own), n);
        join(spawn(nothing, NULL));
        CHECK_EQ(weft_cluster_resize(own, 2), 0);
        CHECK_EQ(weft_workers(), 2);
    }
    CHECK_EQ(weft_cluster_resize(own, WEFT_WORKERS_MAX + 1), -EINVAL);
    CHECK_EQ(weft_cluster_resize(own, ~0u), -EINVAL);
    CHECK_EQ(weft_workers(), 2);
}
static void numbers_in_fiber(void *unused) {
    (void)unused;
    numbers();
}
TEST(by_a_thread) {
    test_start(3);
    numbers();
    test_stop();
}
TEST(by_a_fiber) { each_size(numbers_in_fiber); }

static void resizes(void *n) {
    CHECK_EQ(weft_cluster_resize(own, (unsigned)(uintptr_t)n), 0);
    ADD(&ran, 1);
}
TEST(by_a_timer) {
    struct weft_timer t = WEFT_TIMER_INIT;
    test_start(4);
    for (uintptr_t i = 0; i < 20; i++) {
        CHECK_EQ(weft_timer_arm(&t, weft_now(), resizes, (void *)(1 + i % 6)), 0);
        test_await(&ran, (int)i + 1);
        CHECK_EQ(weft_workers(), 1 + i % 6);
        join(spawn(nothing, NULL));
    }
    test_stop();
}

TEST(each_cluster_has_its_own_number) {
    struct weft_cluster c;
    test_start(2);
    CHECK_EQ(weft_cluster_create(&c, &(struct weft_config){.workers = 3}), 0);
    CHECK_EQ(weft_cluster_resize(c, 5), 0);
    CHECK_EQ(weft_cluster_workers(c), 5);
    CHECK_EQ(weft_workers(), 2);
    CHECK_EQ(weft_cluster_resize(c, 1), 0);
    CHECK_EQ(weft_cluster_destroy(c), 0);
    CHECK_EQ(weft_cluster_resize(c, 1), -ESRCH);
    test_stop();
}

/* --- which workers run ------------------------------------------------------------------------ */

static struct threads seen;
static int looking, yielders; /* how many of these there are */
static int looked[2];         /* how many have seen that no worker looks, and that a worker looks */
static void *yields(void *unused) {
    for (int saw = 0; !LOAD(&over); ADD(&ran, 1)) {
        int look = LOAD(&looking);
        if (look) threads_add(&seen);
        if (look != saw) ADD(&looked[look], 1);
        saw = look;
        weft_yield();
    }
    return unused;
}

/* Counts the threads that run these fibers during a window of about ten milliseconds, in which all of them run. No
 * fiber is still inside when the window closes, even if the kernel interrupted its thread. */
static void turn_to(int look) {
    STORE(&looked[look], 0);
    STORE(&looking, look);
    if (look) test_nap_ms(30);
    test_await(&looked[look], yielders);
}
static unsigned look(void) {
    threads_clear(&seen);
    turn_to(1);
    turn_to(0);
    return threads_count(&seen);
}
static unsigned most;
static bool few_enough(void *unused) {
    (void)unused;
    for (int i = 0; i < 5; i++)
        if (look() > most) return false;
    return true;
}

static void shrinks(const struct weft_attr *attr) {
    enum { YIELDERS = 40 };
    struct weft_fiber f[YIELDERS];
    no_rescue(); /* a spare is one more */
    test_start(8);
    yielders = YIELDERS;
    for (int i = 0; i < YIELDERS; i++) f[i] = spawn_with(attr, yields, NULL);
    static const unsigned sizes[] = {8, 3, 1, 4, 1, 2, 1};
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        CHECK_EQ(weft_cluster_resize(own, most = sizes[i]), 0);
        test_until(few_enough, NULL); /* hangs if a fiber does not leave */
        int before = LOAD(&ran);
        test_await(&ran, before + 1000);
    }
    STORE(&over, 1);
    for (int i = 0; i < YIELDERS; i++) join(f[i]);
    test_stop();
}
TEST(the_others_stop_running_work) { shrinks(NULL); }
TEST(also_if_it_is_urgent) { shrinks(&(struct weft_attr){.priority = WEFT_HIGH}); }
TEST(also_if_it_is_not) { shrinks(&(struct weft_attr){.priority = WEFT_LOW}); }

/* Fibers that are pinned to a removed worker still run there. Other fibers do not. */
static struct threads pinned_seen;
static int pinned_ran;
static void *yields_pinned(void *unused) {
    int home = weft_worker();
    while (!LOAD(&over)) {
        CHECK_EQ(weft_worker(), home);
        if (LOAD(&looking)) threads_add(&pinned_seen);
        ADD(&pinned_ran, 1);
        weft_yield();
    }
    return unused;
}
TEST(only_what_is_pinned_runs_on_a_removed_worker) {
    struct weft_fiber f[22];
    no_rescue();
    test_start(2);
    yielders = 20;
    for (int i = 0; i < 20; i++) f[i] = spawn(yields, NULL);
    for (int i = 20; i < 22; i++) f[i] = spawn_with(&(struct weft_attr){.pinned = 2}, yields_pinned, NULL);
    CHECK_EQ(weft_cluster_resize(own, most = 1), 0);
    int before = LOAD(&pinned_ran);
    test_await(&pinned_ran, before + 1000); /* it has been home since, and knows */
    test_until(few_enough, NULL);
    for (int i = 0; i < 20; i++) CHECK(look() <= most); /* and no fiber returns to it */
    before = LOAD(&pinned_ran);
    test_await(&pinned_ran, before + 1000);
    STORE(&over, 1);
    for (int i = 0; i < 22; i++) join(f[i]);
    test_stop();
}

/* Pinned fibers are woken and spawned, and sleep, on a removed worker. */
static void *wakes_now_and_then(void *worker) {
    for (int i = 0; i < 40; i++) {
        CHECK_EQ(weft_worker(), (int)(intptr_t)worker);
        if (i % 2)
            CHECK_EQ(weft_sleep_for(200 * WEFT_MICROSECOND), 0);
        else
            CHECK_EQ(weft_park(), 0);
        ADD(&ran, 1);
    }
    return NULL;
}
TEST(pinned_to_a_removed_worker) {
    struct weft_fiber f[4];
    struct weft_attr last = {.pinned = 4};
    test_start(4);
    for (intptr_t i = 0; i < 4; i++)
        f[i] = spawn_with(&(struct weft_attr){.pinned = (unsigned)i + 1}, wakes_now_and_then, (void *)i);
    join(spawn_with(&last, nothing, NULL));
    CHECK_EQ(weft_cluster_resize(own, 1), 0);
    CHECK_EQ(weft_spawn(NULL, &last, nothing, NULL), -EINVAL);
    while (LOAD(&ran) < 160) {
        for (int i = 0; i < 4; i++) weft_unpark(f[i]);
        test_nap_ms(1);
    }
    for (int i = 0; i < 4; i++) join(f[i]);
    test_stop();
}

/* --- timers of removed workers ---------------------------------------------------------------------------------- */

static void fires(void *unused) {
    (void)unused;
    ADD(&ran, 1);
}
static void *sleeps(void *unused) {
    CHECK_EQ(weft_sleep_for(60 * WEFT_MILLISECOND), 0);
    return counts(unused);
}
static void *arms(void *timer) {
    CHECK_EQ(weft_timer_arm(timer, weft_now() + 60 * WEFT_MILLISECOND, fires, NULL), 0);
    return NULL;
}
TEST(timers_of_removed_workers_fire) {
    static struct weft_timer timer[16];
    struct weft_fiber f[16];
    test_start(8);
    for (unsigned i = 0; i < 16; i++) {
        struct weft_attr there = {.pinned = 1 + i % 8};
        join(spawn_with(&there, arms, &timer[i]));
        f[i] = spawn(sleeps, NULL);
    }
    test_nap_ms(5);
    CHECK_EQ(weft_cluster_resize(own, 1), 0);
    for (unsigned i = 0; i < 16; i++) join(f[i]);
    test_await(&ran, 32);
    for (unsigned i = 0; i < 16; i++) CHECK_EQ(weft_timer_cancel(&timer[i]), -EALREADY);
    /* And timers that threads arm, in whichever wheel. */
    for (unsigned i = 0; i < 16; i++)
        CHECK_EQ(weft_timer_arm(&timer[i], weft_now() + WEFT_MILLISECOND, fires, NULL), 0);
    test_await(&ran, 48);
    test_stop();
}

/* --- forked calls ---------------------------------------------------------------------------------------------- */

static void counts_down(void *latch) { CHECK_EQ(weft_latch_count_down(latch, 1), 0); }

/*
 * A fiber forks a call, and waits for it on a worker that is about to retire. The worker leaves without the call, and
 * so do the workers that were searching when the fiber parked. One of the two that stay must be woken to run it.
 */
static void forks_and_shrinks(void *unused) {
    (void)unused;
    for (int i = 0; i < 300; i++) {
        struct weft_latch latch = WEFT_LATCH_INIT(1);
        struct weft_task task;
        CHECK_EQ(weft_cluster_resize(own, 32), 0);
        for (int turn = 0; turn < i % 40; turn++) weft_yield();
        if (i % 2) CHECK_EQ(weft_sleep_for(50 * WEFT_MICROSECOND), 0);
        CHECK_EQ(weft_task_fork(&task, counts_down, &latch), 0);
        CHECK_EQ(weft_cluster_resize(own, 2), 0);
        CHECK_EQ(weft_latch_wait(&latch), 0);
        CHECK_EQ(weft_task_join(&task), 0);
    }
}
TEST(calls_forked_on_a_removed_worker_run) { test_in_fiber(32, forks_and_shrinks, NULL); }

/* --- one and back ---------------------------------------------------------------------------------------------------
 *
 * The only running worker takes from its queue without a swap. Meanwhile other workers join and retire, sleep, and wake
 * for their timers. Each turn of each fiber is counted, so the test notices a fiber that ran twice at once, or never
 * again.
 */
enum { TURNERS = 200 };
static int inside[TURNERS], turns[TURNERS];
static void *takes_turns(void *number) {
    intptr_t n = (intptr_t)number;
    while (!LOAD(&over)) {
        CHECK_EQ(ADD(&inside[n], 1), 0);
        STORE(&turns[n], turns[n] + 1);
        CHECK_EQ(ADD(&inside[n], -1), 1);
        if (turns[n] % 64 == n % 64)
            CHECK_EQ(weft_sleep_for(30 * WEFT_MICROSECOND), 0);
        else
            weft_yield();
    }
    return NULL;
}
static void *ticks(void *unused) { /* leaves a deadline in the wheel of the worker that it is on */
    while (!LOAD(&over)) CHECK_EQ(weft_sleep_for(100 * WEFT_MICROSECOND), 0);
    return unused;
}
TEST_WITHIN(from_one_and_back, 60) {
    struct weft_fiber f[TURNERS], ticker[8];
    int before[TURNERS];
    uint64_t random = 1;
    test_start(4);
    for (intptr_t i = 0; i < TURNERS; i++) f[i] = spawn(takes_turns, (void *)i);
    for (unsigned i = 0; i < 8; i++) ticker[i] = spawn_with(&(struct weft_attr){.pinned = 1 + i % 4}, ticks, NULL);
    for (size_t round = test_size(500); round > 0; round--) {
        CHECK_EQ(weft_cluster_resize(own, 1), 0);
        test_nap_ms((unsigned)test_below(&random, 4));
        CHECK_EQ(weft_cluster_resize(own, 2 + (unsigned)test_below(&random, 3)), 0);
        if (round % 4 == 0) test_nap_ms(1);
        if (round % 50) continue;
        for (int i = 0; i < TURNERS; i++) before[i] = LOAD(&turns[i]);
        for (int i = 0; i < TURNERS; i++) test_await(&turns[i], before[i] + 1); /* no fiber was lost */
    }
    STORE(&over, 1);
    for (int i = 0; i < TURNERS; i++) join(f[i]);
    for (int i = 0; i < 8; i++) join(ticker[i]);
    test_stop();
}

/* --- a stop, other callers -------------------------------------------------------------------- */

static void *resizes_until_told(void *seed) {
    uint64_t random = (uint64_t)(uintptr_t)seed;
    while (!LOAD(&over)) {
        int err = weft_cluster_resize(own, 1 + (unsigned)test_below(&random, 6));
        CHECK(err == 0 || err == -ESRCH);
        weft_yield();
    }
    return NULL;
}
TEST_WITHIN(during_starts_and_stops, 60) {
    pthread_t t[2];
    int spawned = 0;
    for (int i = 0; i < 2; i++) t[i] = thread_start(resizes_until_told, (void *)(uintptr_t)(i + 1));
    for (size_t i = test_size(500); i > 0; i--) {
        test_start(1 + (unsigned)i % 3);
        for (int k = 0; k < 20; k++) spawned += weft_spawn(NULL, NULL, counts, NULL) == 0;
        test_stop();
        CHECK_EQ(LOAD(&ran), spawned);
    }
    STORE(&over, 1);
    for (int i = 0; i < 2; i++) thread_join(t[i]);
    await_alone();
}

/* --- not enough threads ----------------------------------------------------------------------- */

static bool cannot_have_more_threads(void) {
    struct rlimit limit = {0, 0};
    return geteuid() != 0 && !setrlimit(RLIMIT_NPROC, &limit);
}
/* From now on only some more threads can be made. The runtime has two workers. */
static void limit_threads(void) {
    struct rlimit limit;
    for (unsigned i = 1; i <= 2; i++)
        join(spawn_with(&(struct weft_attr){.pinned = i}, nothing, NULL)); /* now both have its memory */
    if (geteuid() == 0) { /* a privileged user has no limit of number, so memory is limited */
        CHECK(!getrlimit(RLIMIT_AS, &limit));
        char line[256];
        size_t pages = 0;
        FILE *f = fopen("/proc/self/statm", "re");
        CHECK(f && fgets(line, sizeof line, f));
        fclose(f);
        pages = strtoul(line, NULL, 10);
        limit.rlim_cur = pages * 4096 + (64 << 20);
        if (TEST_TSAN || TEST_ASAN || test_valgrind() || setrlimit(RLIMIT_AS, &limit))
            test_skip("memory cannot be limited");
    } else if (!cannot_have_more_threads())
        test_skip("the number of threads cannot be limited");
}
TEST(as_many_as_can_be_had) {
    test_start(2);
    limit_threads();
    int err = weft_cluster_resize(own, 1000);
    if (!err) test_skip("a thousand threads could be had");
    CHECK(err == -EAGAIN || err == -ENOMEM);
    unsigned have = weft_workers();
    CHECK(have > 2 && have < 1000);
    join(spawn(nothing, NULL));
    CHECK_EQ(weft_cluster_resize(own, 2), 0);
    CHECK_EQ(weft_workers(), 2);
    struct weft_fiber f[20];
    for (int i = 0; i < 20; i++) f[i] = spawn(yields, NULL);
    yielders = 20;
    most = 2;
    test_until(few_enough, NULL); /* the wanted number is stored, though not all threads could be made */
    STORE(&over, 1);
    for (int i = 0; i < 20; i++) join(f[i]);
    test_stop();
}

static void *resizes_in_vain(void *limited) {
    test_await(limited, 1);
    while (!LOAD(&over)) {
        int err = weft_cluster_resize(own, 1000);
        CHECK(err == -EAGAIN || err == -ENOMEM);
    }
    return NULL;
}
static void rings(void *rung) { ADD((int *)rung, 1); }
/* A worker without a thread gets neither timers nor fibers. */
TEST(no_work_for_a_worker_that_cannot_be_had) {
    struct weft_timer timer = WEFT_TIMER_INIT;
    int rung = 0, limited = 0;
    test_start(2);
    pthread_t t = thread_start(resizes_in_vain, &limited);
    limit_threads();
    if (!weft_cluster_resize(own, 1000)) test_skip("a thousand threads could be had");
    STORE(&limited, 1);
    for (int i = 0; i < 2000; i++) {
        CHECK_EQ(weft_timer_arm(&timer, weft_now(), rings, &rung), 0);
        join(spawn_with(&(struct weft_attr){.node = 1}, nothing, NULL));
        test_await(&rung, i + 1);
    }
    STORE(&over, 1);
    thread_join(t);
    test_stop();
}

/* --- left to weft ----------------------------------------------------------------------------- */

static unsigned automatic(void) {
    unsetenv("WEFT_WORKERS");
    CHECK_EQ(weft_start(NULL), 0);
    unsigned n = weft_workers();
    test_stop();
    return n;
}
TEST(zero_is_as_many_as_the_machine_has) {
    unsigned n = automatic();
    CHECK(n >= 1);
    test_start(7);
    CHECK_EQ(weft_cluster_resize(own, 0), 0);
    CHECK_EQ(weft_workers(), n);
    test_stop();
}

/* A number that the program chose stays, even after weft has read the quota again. */
static void stays(unsigned n) {
    struct weft_fiber f = spawn(yields, NULL);
    for (int i = 0; i < 25; i++) {
        CHECK_EQ(weft_workers(), n);
        test_nap_ms(100);
    }
    STORE(&over, 1);
    join(f);
}
TEST(a_chosen_number_stays) {
    test_start(5);
    stays(5);
    test_stop();
}
TEST(a_number_from_the_environment_stays) {
    setenv("WEFT_WORKERS", "5", 1);
    CHECK_EQ(weft_start(NULL), 0);
    stays(5);
    test_stop();
}

/* --- the quota -------------------------------------------------------------------------------- */

/* A control group for this process, of version 1 or 2. */
static char mount[64], group[128];
static const char *quota_file, *no_quota, *less_than_one;

static bool write_to(const char *dir, const char *file, const char *text) {
    char path[300];
    snprintf(path, sizeof path, "%s/%s", dir, file);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return false;
    bool ok = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    close(fd);
    return ok;
}
static bool set_quota(const char *text) { return write_to(group, quota_file, text); }

static void choose_version(void) {
    bool second = !access("/sys/fs/cgroup/cgroup.controllers", R_OK);
    snprintf(mount, sizeof mount, "%s", second ? "/sys/fs/cgroup" : "/sys/fs/cgroup/cpu");
    quota_file = second ? "cpu.max" : "cpu.cfs_quota_us";
    no_quota = second ? "max 100000" : "-1";
    less_than_one = second ? "90000 100000" : "90000";
}

/* Runs fn in a child that is in the group, so the group can be removed, however fn ends. */
static void enter_and_call(void *fn) {
    CHECK(write_to(group, "cgroup.procs", "0"));
    alarm(100);
    ((void (*)(void))fn)();
}
static void with_quota(void (*fn)(void)) {
    static struct test_child child;
    if (automatic() < 2) test_skip("there is one processor");
    choose_version();
    snprintf(group, sizeof group, "%s/weft-test-%d", mount, (int)getpid());
    if (mkdir(group, 0755)) test_skip("no control group can be made");
    bool ok = set_quota(no_quota);
    if (ok) test_child(&child, enter_and_call, (void *)fn);
    for (int i = 0; i < 100 && rmdir(group); i++) test_nap_ms(10);
    if (!ok) test_skip("no control group with a quota of CPU time");
    if (!test_child_exited(&child, 0))
        test_fail(__FILE__, __LINE__, "status %x: %s", (unsigned)child.status, child.said);
}

static unsigned wanted_workers;
static bool so_many(void *cluster) {
    return weft_cluster_workers(*(struct weft_cluster *)cluster) == (int)wanted_workers;
}
static void follow(struct weft_cluster c) {
    struct weft_attr attr = {.cluster = c};
    struct weft_fiber f = spawn_with(&attr, yields, NULL);
    unsigned all = (unsigned)weft_cluster_workers(c);
    for (int i = 0; i < 2; i++) {
        CHECK(set_quota(less_than_one));
        wanted_workers = 1;
        test_until(so_many, &c);
        CHECK(set_quota(no_quota));
        wanted_workers = all;
        test_until(so_many, &c);
    }
    STORE(&over, 1);
    join(f);
}
static void first_follows(void) {
    CHECK_EQ(weft_start(NULL), 0);
    follow((struct weft_cluster){1});
    test_stop();
}
static void second_follows(void) {
    struct weft_cluster c;
    test_start(1);
    CHECK_EQ(weft_cluster_create(&c, &(struct weft_config){.workers = 1}), 0);
    CHECK_EQ(weft_cluster_resize(c, 0), 0);
    follow(c);
    test_stop();
}
TEST_WITHIN(the_quota_is_followed, 120) { with_quota(first_follows); }
TEST_WITHIN(a_second_cluster_follows_the_quota, 120) { with_quota(second_follows); }
