/* SPDX-License-Identifier: MIT */
/*
 * Stack overflow: one line that names the fiber, and abort. Other faults go to the handler that was
 * installed before.
 */
#define _GNU_SOURCE
#include "fiber.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct test_child child;

/* --- overflow ---------------------------------------------------------------------------------------------------- */

/* Not inlined into itself, because the size of the frame matters. */
__attribute__((noinline)) static int recurse(int n) {
    volatile char frame[400];
    frame[n % 400] = (char)n;
    return n < 0 ? frame[3] : recurse(n + 1) + frame[n % 400];
}
__attribute__((noinline)) static int recurse_in_large_frames(int n) {
    volatile char frame[48 * 1024];
    frame[0] = (char)n; /* the far end first */
    return n < 0 ? frame[3] : recurse_in_large_frames(n + 1) + frame[n];
}
static void *overflows(void *arg) {
    int (*how)(int) = (int (*)(int))(uintptr_t)arg;
    weft_yield();
    return (void *)(intptr_t)how(0);
}

struct overflow {
    int (*how)(int);
    const char *name;
    size_t stack_size;
};
static void overflow_child(void *arg) {
    struct overflow *o = arg;
    struct weft_attr attr = {.name = o->name, .stack_size = o->stack_size};
    test_start(2);
    join(spawn_with(&attr, overflows, (void *)(uintptr_t)o->how));
}
static void check_overflow(struct overflow o) {
    test_child(&child, overflow_child, &o);
    if (!test_child_aborted(&child)) test_fail(__FILE__, __LINE__, "status %x: %s", child.status, child.said);
    CHECK_EQ(test_lines_with(child.said, "weft: "), 1);
    const char *line = test_line_with(child.said, "stack overflow");
    CHECK_HAS(line, "weft: ");
    CHECK_HAS(line, "fiber 0x");
    CHECK_HAS(line, "overflow.c:");
    CHECK_HAS(line, o.name);
}
TEST(recursion) { check_overflow((struct overflow){recurse, "deep", 0}); }
TEST(recursion_on_a_small_stack) { check_overflow((struct overflow){recurse, "small", 16384}); }
TEST(recursion_on_a_large_stack) { check_overflow((struct overflow){recurse, "large", 1 << 20}); }
TEST(large_frames) { check_overflow((struct overflow){recurse_in_large_frames, "frames", 0}); }
TEST(large_frames_on_a_small_stack) { check_overflow((struct overflow){recurse_in_large_frames, "frames", 16384}); }

static int overflow_in_run(void *unused) {
    (void)unused;
    return recurse(0);
}
static void run_child(void *unused) {
    (void)unused;
    weft_run(overflow_in_run, NULL, NULL);
}
TEST(of_the_main_fiber) {
    test_child(&child, run_child, NULL);
    CHECK(test_child_aborted(&child));
    CHECK_HAS(test_line_with(child.said, "stack overflow"), "main");
}

/* --- faults of the program -------------------------------------------------------------------- */

static char *forbidden; /* a page */
static void *volatile fault_address;
static volatile int faults;

static void map_forbidden(void) {
    forbidden = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(forbidden != MAP_FAILED);
}
static void *touches(void *unused) {
    (void)unused;
    forbidden[123] = 1;
    return NULL;
}

/* Makes the page accessible: the program then goes on. */
static void repair(int sig, siginfo_t *info, void *context) {
    (void)context;
    if (sig != SIGSEGV || !info) _exit(9);
    fault_address = info->si_addr;
    faults++;
    mprotect(forbidden, 4096, PROT_READ | PROT_WRITE);
}
static void repair_plainly(int sig) {
    if (sig != SIGSEGV) _exit(9);
    faults++;
    mprotect(forbidden, 4096, PROT_READ | PROT_WRITE);
}
static void install(void (*info)(int, siginfo_t *, void *), void (*plain)(int)) {
    struct sigaction a = {.sa_flags = info ? SA_SIGINFO : 0};
    if (info)
        a.sa_sigaction = info;
    else
        a.sa_handler = plain;
    CHECK(!sigaction(SIGSEGV, &a, NULL));
}

/* valgrind 3.19 goes on at a wrong place after a handler that ran on a signal stack. */
static void needs_signal_stacks(void) {
    if (test_valgrind()) test_skip("valgrind does not come back from signal stacks");
}

static void fault_everywhere(bool with_info) {
    needs_signal_stacks();
    for (int i = 0; i < 3; i++) {
        map_forbidden();
        test_start(2);
        if (i == 0) join(spawn(touches, NULL));
        if (i == 1) touches(NULL); /* a thread of the program */
        if (i == 2) thread_join(thread_start(touches, NULL));
        test_stop();
        CHECK_EQ(faults, i + 1);
        CHECK_EQ(forbidden[123], 1);
        if (with_info) CHECK(fault_address == forbidden + 123);
    }
}
TEST(a_handler_with_information) {
    install(repair, NULL);
    fault_everywhere(true);
}
TEST(a_plain_handler) {
    install(NULL, repair_plainly);
    fault_everywhere(false);
}
TEST(the_handler_is_back_after_the_stop) {
    struct sigaction now;
    install(repair, NULL);
    test_start(1);
    test_stop();
    CHECK(!sigaction(SIGSEGV, NULL, &now));
    CHECK((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == repair);
}

/* A handler that the program installs later, and that passes faults on to weft's handler, through any number of
 * restarts of the runtime. */
static struct sigaction passed_on;
static int depth;
static void passes_on(int sig, siginfo_t *info, void *context) {
    if (++depth > 3) _exit(8); /* it would call itself */
    if (passed_on.sa_flags & SA_SIGINFO)
        passed_on.sa_sigaction(sig, info, context);
    else
        _exit(7);
    depth--;
}
TEST(a_handler_put_in_front_of_ours) {
    struct sigaction a = {.sa_sigaction = passes_on, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    needs_signal_stacks();
    install(repair, NULL);
    test_start(1);
    CHECK(!sigaction(SIGSEGV, &a, &passed_on));
    test_stop();
    for (int i = 0; i < 3; i++) {
        map_forbidden();
        test_start(2);
        join(spawn(touches, NULL));
        test_stop();
        CHECK_EQ(faults, i + 1);
    }
}

static void default_child(void *where) {
    signal(SIGSEGV, SIG_DFL); /* a sanitizer has its own */
    map_forbidden();
    test_start(2);
    if (where) join(spawn(touches, NULL));
    touches(NULL);
}
TEST(by_default_the_process_is_killed) {
    for (int fiber = 0; fiber < 2; fiber++) {
        test_child(&child, default_child, fiber ? &child : NULL);
        CHECK(test_child_killed(&child, SIGSEGV));
        CHECK_EQ(test_lines_with(child.said, "weft: "), 0);
    }
}

static void sent_child(void *sig) {
    signal(SIGSEGV, SIG_DFL);
    signal(SIGBUS, SIG_DFL);
    test_start(2);
    kill(getpid(), *(int *)sig);
    test_nap_ms(5000);
}
TEST(a_signal_that_was_sent) {
    int signals[] = {SIGSEGV, SIGBUS};
    for (int i = 0; i < 2; i++) {
        test_child(&child, sent_child, &signals[i]);
        CHECK(test_child_killed(&child, signals[i]));
    }
}
