/* SPDX-License-Identifier: MIT */
/*
 * Stacks without guards of their own: on kernels before Linux 6.13, or where a seccomp filter forbids guards. Fibers
 * run as usual, and an overflow still ends the program with one line that names the fiber.
 */
#define _GNU_SOURCE
#include "../forbid.h"
#include "fiber.h"

#include "../state.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static struct test_child child;

static void needs_filters(void) {
    if (test_valgrind() || test_emulated()) test_skip("no filter for system calls");
    if (TEST_ASAN) test_skip("what is below a stack's end is the tool's to judge");
}

/* --- overflows ------------------------------------------------------------------------------------------- */

__attribute__((noinline)) static int recurse(int n, int most) {
    volatile char frame[400];
    frame[n % 400] = (char)n;
    return n >= most ? frame[3] : recurse(n + 1, most) + frame[n % 400];
}
enum { DEEP = 40, TOO_DEEP = 60, FAR_TOO_DEEP = 500, WITHOUT_END = 1 << 30 }; /* frames; a stack holds some 40 */

static void *deep(void *unused) {
    recurse(0, DEEP / 2);
    weft_yield();
    return unused;
}
static void *overflow_and_end(void *depth) {
    recurse(0, *(int *)depth);
    return NULL;
}
static void *overflow_and_exit(void *depth) {
    recurse(0, *(int *)depth);
    weft_fiber_exit(NULL);
}
static void *overflow_and_wait(void *depth) {
    recurse(0, *(int *)depth);
    weft_park();
    return NULL;
}
static void *overflow_and_compute(void *depth) {
    recurse(0, *(int *)depth);
    for (volatile long i = 0;; i++) continue;
    return NULL;
}
static void *overflow_handler(void *depth) {
    struct weft_cleanup cleanup;
    recurse(0, *(int *)depth);
    weft_cleanup_push(&cleanup, (void (*)(void *))(uintptr_t)deep, NULL);
    weft_fiber_exit(NULL);
}

struct overflow {
    void *(*how)(void *);
    int depth, error;
    bool protected; /* makes gaps inaccessible; each costs mappings */
    size_t others;  /* the number of fibers that begin before */
};

static void *parked(void *unused) {
    weft_park();
    return unused;
}
static void overflow_child(void *arg) {
    struct overflow *o = arg;
    struct weft_attr attr = {.name = "guilty", .stack_size = 16384}, other = {.name = "other", .stack_size = 16384};
    CHECK_EQ(forbid_markers(o->error), 0);
    if (!o->protected) CHECK_EQ(forbid_protection(o->error), 0);
    test_start(2);
    for (size_t i = 0; i < o->others; i++) spawn_with(&other, i % 8 ? parked : deep, NULL);
    struct weft_fiber f = spawn_with(&attr, o->how, &o->depth);
    weft_join(f, NULL);
    for (;;) test_nap_ms(10);
}
static void check_overflow(struct overflow o) {
    needs_filters();
    test_child(&child, overflow_child, &o);
    if (!test_child_aborted(&child)) test_fail(__FILE__, __LINE__, "status %x: %s", child.status, child.said);
    CHECK_EQ(test_lines_with(child.said, "stack overflow"), 1);
    const char *line = test_line_with(child.said, "stack overflow");
    CHECK_HAS(line, "guilty");
    CHECK_HAS(line, "bare.c:");
    CHECK_EQ(test_lines_with(child.said, "not every stack has a guard"), 1);
}
static void check_all(void *(*how)(void *)) {
    static const int errors[] = {EINVAL, EPERM};
    for (unsigned i = 0; i < 2; i++) {
        check_overflow((struct overflow){how, TOO_DEEP, errors[i], false, 50});
        check_overflow((struct overflow){how, FAR_TOO_DEEP, errors[i], false, 50}); /* into the stack of another */
    }
}
TEST(a_fiber_that_ends) { check_all(overflow_and_end); }
TEST(a_fiber_that_exits) { check_all(overflow_and_exit); }
TEST(a_fiber_with_a_handler) { check_all(overflow_handler); }
TEST_WITHIN(a_fiber_that_waits, 60) { check_all(overflow_and_wait); }
TEST(a_fiber_that_computes) { check_all(overflow_and_compute); }
TEST(a_recursion_without_end) {
    check_overflow((struct overflow){overflow_and_end, WITHOUT_END, EINVAL, false, 50});
    check_overflow((struct overflow){overflow_and_end, WITHOUT_END, EPERM, false, 0});
}
/* After so many fibers that no further gap can be a guard. An overflow that runs over other stacks reaches a guard. */
TEST_WITHIN(a_recursion_without_end_among_many, 60) {
    if (test_fibers(40000) < 40000) test_skip("too few fibers");
    check_overflow((struct overflow){overflow_and_end, WITHOUT_END, EINVAL, true, 40000});
}
TEST_WITHIN(a_fiber_that_ends_among_many, 60) {
    if (test_fibers(40000) < 40000) test_skip("too few fibers");
    check_overflow((struct overflow){overflow_and_end, TOO_DEEP, EINVAL, true, 40000});
}

static int overflow_in_run(void *depth) { return recurse(0, *(int *)depth); }
static void run_child(void *depth) {
    struct weft_config config = {.workers = 1, .stack_size = 16384};
    CHECK_EQ(forbid_markers(EPERM), 0);
    CHECK_EQ(forbid_protection(EPERM), 0);
    weft_run(overflow_in_run, depth, &config);
}
TEST(of_the_main_fiber) {
    needs_filters();
    test_child(&child, run_child, &(int){TOO_DEEP});
    CHECK(test_child_aborted(&child));
    CHECK_HAS(test_line_with(child.said, "stack overflow"), "main");
}

/* --- everything else goes on --------------------------------------------------------------------------------- */

static struct weft_sem go;
static struct weft_counter left;
static int told;

static void *wait_for_it(void *unused) {
    recurse(0, DEEP / 4);
    CHECK_EQ(weft_sem_wait(&go), 0);
    return unused;
}
static int child_of_scope(void *unused) {
    (void)unused;
    if (weft_park() == -ECANCELED) ADD(&told, 1);
    return 0;
}
static void fork_one(void *count) {
    weft_yield();
    ADD((int *)count, 1);
}

static void all_kinds(void *count) {
    size_t n = *(size_t *)count;
    struct weft_attr attr = {.counter = &left, .detached = 1, .stack_size = 16384};
    struct weft_scope scope;
    struct weft_task task[100];
    int forked = 0;
    weft_sem_init(&go, 0);
    for (int round = 0; round < 2; round++) {
        CHECK_EQ(weft_counter_add(&left, n), 0);
        for (size_t i = 0; i < n; i++) CHECK_EQ(weft_spawn(NULL, &attr, wait_for_it, NULL), 0);
        for (size_t i = 0; i < n; i++) CHECK_EQ(weft_sem_post(&go), 0);
        CHECK_EQ(weft_counter_wait(&left, 0), 0);
    }
    CHECK_EQ(weft_scope_begin(&scope, WEFT_FOREVER), 0);
    for (int i = 0; i < 500; i++) CHECK_EQ(weft_scope_spawn(&scope, NULL, child_of_scope, NULL), 0);
    for (int i = 0; i < 10; i++) weft_yield();
    CHECK_EQ(weft_scope_cancel(&scope), 0);
    CHECK_EQ(weft_scope_end(&scope), -ECANCELED);
    CHECK_EQ(LOAD(&told), 500);
    for (int i = 0; i < 100; i++) CHECK_EQ(weft_task_fork(&task[i], fork_one, &forked), 0);
    for (int i = 100; i > 0; i--) CHECK_EQ(weft_task_join(&task[i - 1]), 0);
    CHECK_EQ(LOAD(&forked), 100);
    struct weft_fiber f[200];
    for (int i = 0; i < 200; i++) f[i] = spawn(deep, &f[i]);
    for (int i = 0; i < 200; i++) CHECK(join(f[i]) == &f[i]);
}
struct kernel {
    int error;
    bool protected;
    size_t fibers;
    unsigned continuations;
};
static void go_on(void *arg) {
    struct kernel *k = arg;
    CHECK_EQ(forbid_markers(k->error), 0);
    if (!k->protected) CHECK_EQ(forbid_protection(k->error), 0);
    if (k->continuations) setenv("WEFT_CONTINUATIONS", "1", 1);
    for (unsigned workers = 1; workers <= 4; workers *= 2) {
        test_in_fiber(workers, all_kinds, &k->fibers);
        STORE(&told, 0);
    }
}
static void check_goes_on(struct kernel k) {
    needs_filters();
    test_child(&child, go_on, &k);
    if (!test_child_exited(&child, 0)) test_fail(__FILE__, __LINE__, "status %x: %s", child.status, child.said);
    CHECK(test_lines_with(child.said, "weft: ") <= 1);
}
TEST(fibers_without_guards) { check_goes_on((struct kernel){EPERM, false, test_fibers(2000), 0}); }
TEST(continuations_without_guards) { check_goes_on((struct kernel){EPERM, false, test_fibers(2000), 1}); }
TEST_WITHIN(more_fibers_than_guards, 60) { check_goes_on((struct kernel){EINVAL, true, test_fibers(50000), 0}); }
