/* SPDX-License-Identifier: MIT */
/* How a process ends while a runtime runs: a fiber, main or another thread ends it. Each case runs in a child, which
 * must end. */
#define _GNU_SOURCE
#include "fiber.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct test_child child;

static void say(const char *what) { CHECK(write(STDERR_FILENO, what, strlen(what)) > 0); }

/* --- other fibers continue meanwhile------------------------------------------------------------------------------ */

static struct weft_sem sem;
static void *churns(void *unused) {
    for (;;) {
        CHECK_EQ(weft_sem_post(&sem), 0);
        free(malloc(100));
        weft_yield();
        CHECK_EQ(weft_sem_wait(&sem), 0);
        weft_sleep_for(1000);
    }
    return unused;
}
static void *parks(void *unused) {
    weft_park();
    return unused;
}
static void start_with_others(void) {
    alarm(TEST_TSAN || TEST_ASAN ? 60 : 15); /* a hang counts as a failure */
    test_start(4);
    for (int i = 0; i < 8; i++) spawn_detached(churns, NULL);
    for (int i = 0; i < 8; i++) spawn_detached(parks, NULL);
    test_nap_ms(2);
}

/* --- handlers --------------------------------------------------------------------------------- */

static void uses_the_library(void) {
    char *text = malloc(100);
    CHECK(text);
    snprintf(text, 100, "handler %d\n", 1);
    fputs(text, stderr);
    free(text);
}
static void calls_weft(void) {
    struct weft_mutex m = WEFT_MUTEX_INIT;
    CHECK(weft_workers() == 4);
    CHECK_EQ(weft_mutex_lock(&m), 0);
    CHECK_EQ(weft_mutex_unlock(&m), 0);
    CHECK_EQ(weft_sleep_for(WEFT_MILLISECOND), 0); /* parks, if a fiber calls exit */
    CHECK_EQ(weft_spawn(NULL, NULL, parks, NULL), 0);
    say("called\n");
}
static int stop_says;
static void stops(void) {
    int err = weft_stop();
    if (err != stop_says) say("another answer: ");
    say(err == -EDEADLK ? "deadlock\n" : err == -EBUSY ? "busy\n" : err ? "?\n" : "stopped\n");
}
static void add_handlers(void) { CHECK(!atexit(stops) && !atexit(calls_weft) && !atexit(uses_the_library)); }

/* --- exit from a fiber ------------------------------------------------------------------------ */

static void *exits(void *how) {
    void (*fn)(int) = *(void (**)(int))how;
    fn(7);
    return NULL;
}
static void exit_from_fiber(void *how) {
    start_with_others();
    stop_says = -EDEADLK;
    add_handlers();
    spawn_detached(exits, how);
    for (;;) test_nap_ms(1000);
}
static void (*const by_exit)(int) = exit, (*const by__exit)(int) = _exit, (*const by_quick_exit)(int) = quick_exit;

TEST(exit_from_a_fiber) {
    for (int i = 0; i < 5; i++) {
        test_child(&child, exit_from_fiber, (void *)(uintptr_t)&by_exit);
        CHECK(test_child_exited(&child, 7));
        CHECK_HAS(child.said, "handler 1\ncalled\ndeadlock\n");
    }
}
TEST(_exit_from_a_fiber) {
    test_child(&child, exit_from_fiber, (void *)(uintptr_t)&by__exit);
    CHECK(test_child_exited(&child, 7));
    CHECK_EQ(strlen(child.said), 0);
}
static void at_quick_exit_says(void) { say("quick\n"); }
static void quick_from_fiber(void *how) {
    CHECK(!at_quick_exit(at_quick_exit_says));
    exit_from_fiber(how);
}
TEST(quick_exit_from_a_fiber) {
    test_child(&child, quick_from_fiber, (void *)(uintptr_t)&by_quick_exit);
    CHECK(test_child_exited(&child, 7));
    CHECK_HAS(child.said, "quick\n");
    CHECK(!test_has(child.said, "handler"));
}

static void aborts(int unused) {
    (void)unused;
    signal(SIGABRT, SIG_DFL);
    abort();
}
static void (*const by_abort)(int) = aborts;
TEST(abort_from_a_fiber) {
    test_child(&child, exit_from_fiber, (void *)(uintptr_t)&by_abort);
    CHECK(test_child_aborted(&child));
}

/* --- exit from elsewhere ---------------------------------------------------------------------- */

/* All fibers are running or parked. main's handler must not wait for them, so it does not stop the runtime here. */
static void main_returns(void *unused) {
    (void)unused;
    start_with_others();
    CHECK(!atexit(calls_weft) && !atexit(uses_the_library));
}
TEST(main_returns_while_it_runs) {
    for (int i = 0; i < 5; i++) {
        test_child(&child, main_returns, NULL);
        if (!test_child_exited(&child, 0)) test_fail(__FILE__, __LINE__, "%x: %s", (unsigned)child.status, child.said);
        CHECK_HAS(child.said, "handler 1\ncalled\n");
    }
}

static void main_stops_at_exit(void *unused) {
    (void)unused;
    alarm(15);
    test_start(4);
    stop_says = 0;
    add_handlers();
}
TEST(a_handler_that_stops_it) {
    test_child(&child, main_stops_at_exit, NULL);
    CHECK(test_child_exited(&child, 0));
    CHECK_HAS(child.said, "handler 1\ncalled\nweft: blocked"); /* the fiber that the handler spawned */
    CHECK_HAS(child.said, "busy\n");
}

/* Inside weft_run: the handler runs on a carrier, and main waits for a fiber that does not return. */
static int exits_in_run(void *unused) {
    (void)unused;
    stop_says = -EDEADLK;
    add_handlers();
    exit(5);
}
static void runs_and_exits(void *unused) {
    (void)unused;
    alarm(15);
    weft_run(exits_in_run, NULL, &(struct weft_config){.workers = 4});
}
TEST(exit_from_the_main_fiber) {
    test_child(&child, runs_and_exits, NULL);
    CHECK(test_child_exited(&child, 5));
    CHECK_HAS(child.said, "handler 1\ncalled\ndeadlock\n");
}

static void *thread_exits(void *unused) {
    (void)unused;
    exit(6);
}
static int waits_for_ever(void *unused) {
    (void)unused;
    thread_start(thread_exits, NULL);
    return weft_sleep_for(3600 * WEFT_SECOND);
}
static void runs_and_a_thread_exits(void *unused) {
    (void)unused;
    alarm(15);
    stop_says = -EBUSY; /* main is in weft_run */
    CHECK(!atexit(stops));
    weft_run(waits_for_ever, NULL, &(struct weft_config){.workers = 4});
}
TEST(exit_from_a_thread_during_a_run) {
    test_child(&child, runs_and_a_thread_exits, NULL);
    CHECK(test_child_exited(&child, 6));
    CHECK_HAS(child.said, "busy\n");
}

static void exits_in_timer(void *unused) {
    (void)unused;
    exit(8);
}
static void timer_exits(void *unused) {
    (void)unused;
    static struct weft_timer t;
    start_with_others();
    stop_says = -EDEADLK;
    CHECK(!atexit(stops) && !atexit(uses_the_library));
    CHECK_EQ(weft_timer_arm(&t, 0, exits_in_timer, NULL), 0);
    for (;;) test_nap_ms(1000);
}
TEST(exit_from_a_timer) {
    test_child(&child, timer_exits, NULL);
    CHECK(test_child_exited(&child, 8));
    CHECK_HAS(child.said, "handler 1\ndeadlock\n");
}

/* While a fiber waits for a descriptor, and another has subscribed to a signal. */
static void *awaits(void *s) {
    weft_signals_next(s, NULL);
    return NULL;
}
static void exits_subscribed(void *unused) {
    (void)unused;
    static struct weft_signals s;
    start_with_others();
    CHECK_EQ(weft_signals_begin(&s, WEFT_SIGNAL(SIGTERM)), 0);
    spawn_detached(awaits, &s);
    CHECK(!atexit(uses_the_library));
    spawn_detached(exits, (void *)(uintptr_t)&by_exit);
    for (;;) test_nap_ms(1000);
}
TEST(exit_while_signals_are_awaited) {
    if (test_valgrind()) test_skip("valgrind does not end a thread that takes no signals");
    test_child(&child, exits_subscribed, NULL);
    CHECK(test_child_exited(&child, 7));
    CHECK_HAS(child.said, "handler 1\n");
}
