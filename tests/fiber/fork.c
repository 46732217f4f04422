/* SPDX-License-Identifier: MIT */
/* fork: what a child can do, forked by a fiber, by a thread, and under load. The parent notices nothing. */
#define _GNU_SOURCE
#include "fiber.h"

#include "../state.h"
#include "chain.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* When a process forks, another thread may hold a lock of the sanitizer's allocator, and then the child hangs. So with
 * a sanitizer only idle processes are forked. */
#define SANITIZED (TEST_ASAN || TEST_TSAN)
static void leave_out_if_sanitized(void) {
    if (SANITIZED) test_skip("a sanitizer's locks are not freed in a child");
}

/* --- a child, and what it says ------------------------------------------------------------------------------ */

/* Forks; the child runs fn(fd), which writes what it found to fd, and ends. */
static pid_t child_of(void (*fn)(int), int *from) {
    int p[2];
    CHECK(!pipe2(p, O_CLOEXEC));
    if (SANITIZED) test_nap_ms(20);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (!pid) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        alarm(TEST_TSAN || TEST_ASAN ? 60 : 20); /* a child that hangs is killed, and the test fails */
        close(p[0]);
        fn(p[1]);
        _exit(0);
    }
    close(p[1]);
    *from = p[0];
    return pid;
}

/* The child has exited with status 0 and written this number. */
static void expect_number(pid_t pid, int from, long wanted) {
    long got = -1;
    int status;
    ssize_t n = read(from, &got, sizeof got);
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    if (status) test_fail(__FILE__, __LINE__, "the child's status is %x", (unsigned)status);
    CHECK_EQ(n, sizeof got);
    CHECK_EQ(got, wanted);
    close(from);
}
static void say(int fd, long n) { CHECK_EQ(write(fd, &n, sizeof n), sizeof n); }

/* --- what the child does -------------------------------------------------------------------------------------- */

static void *adds(void *n) {
    weft_yield();
    ADD((int *)n, 1);
    return NULL;
}
static int sums(void *unused) {
    (void)unused;
    struct weft_fiber f[50];
    struct weft_sem sem = WEFT_SEM_INIT(0);
    int n = 0;
    for (int i = 0; i < 50; i++) f[i] = spawn(adds, &n);
    for (int i = 0; i < 50; i++) join(f[i]);
    CHECK_EQ(weft_sem_wait_until(&sem, weft_now() + WEFT_MILLISECOND), -ETIMEDOUT);
    CHECK_EQ(weft_sleep_for(1000), 0);
    return n;
}

static int adds_one(void *unused) {
    (void)unused;
    int n = 0;
    join(spawn(adds, &n));
    return n;
}

/* ThreadSanitizer cannot start threads in the child of a process that had threads. */
static int runs_here(int (*fn)(void *), int wanted, unsigned workers) {
    return TEST_TSAN ? wanted : weft_run(fn, NULL, &(struct weft_config){.workers = workers});
}

static void no_runtime_here(void) {
    struct weft_fiber f;
    CHECK_EQ(weft_workers(), 0);
    CHECK_EQ(weft_self().id, 0);
    CHECK_EQ(weft_worker(), -EPERM);
    CHECK_EQ(weft_stop(), -ESRCH);
    CHECK_EQ(weft_spawn(&f, NULL, adds, NULL), -ESRCH);
    CHECK_EQ(weft_park(), -EPERM);
    CHECK_EQ(weft_cancelled(), 0);
    CHECK_EQ(weft_cluster_self().id, 0);
    CHECK_EQ(weft_sleep_for(1000), 0); /* as a thread does */
}

static void uses_all(int fd) {
    no_runtime_here();
    char *text = NULL;
    CHECK(asprintf(&text, "%s %d", "memory and stdio", 4711) > 0);
    FILE *null = fopen("/dev/null", "we");
    CHECK(null && fputs(text, null) >= 0 && !fclose(null));
    free(text);
    int sum = runs_here(sums, 50, 3);
    no_runtime_here();
    int n = runs_here(adds_one, 1, 2);
    say(fd, sum + n);
}

static void forks_again(int fd) {
    int from;
    pid_t pid = child_of(uses_all, &from);
    expect_number(pid, from, 51);
    say(fd, 1);
}

static void executes(int fd) {
    if (dup2(fd, 1) < 0) _exit(9);
    execlp("printf", "printf", "12345678", (char *)NULL);
    _exit(9);
}

static void fork_once(void (*fn)(int), long wanted) {
    int from;
    pid_t pid = child_of(fn, &from);
    expect_number(pid, from, wanted);
}

/* --- from a thread, from a fiber -------------------------------------------------------------------------------- */

static long as_number(const char *eight) {
    long n;
    memcpy(&n, eight, sizeof n);
    return n;
}
static void all_kinds(void *unused) {
    (void)unused;
    fork_once(uses_all, 51);
    fork_once(forks_again, 1);
    fork_once(executes, as_number("12345678"));
}
TEST(without_a_runtime) { all_kinds(NULL); }
TEST(from_a_thread) {
    test_needs_forks();
    test_start(4);
    all_kinds(NULL);
    int n = 0;
    join(spawn(adds, &n));
    CHECK_EQ(n, 1);
    test_stop();
}
TEST(from_a_fiber) {
    test_needs_forks();
    each_size(all_kinds);
}

/* --- under load -------------------------------------------------------------------------------------------------- */

static int churning;
static struct weft_mutex mutex;
static struct weft_sem tokens;
static struct weft_key key;
static _Atomic long turns;

static void *short_lived(void *arg) { return arg; }
static void *churns(void *number) {
    uint64_t r = (uintptr_t)number + 1;
    while (LOAD(&churning)) {
        struct weft_fiber f = spawn(short_lived, number);
        CHECK_EQ(weft_mutex_lock(&mutex), 0);
        if (test_below(&r, 4) == 0) weft_yield();
        CHECK_EQ(weft_mutex_unlock(&mutex), 0);
        CHECK_EQ(weft_sem_post(&tokens), 0);
        int err = weft_sem_wait_until(&tokens, weft_now() + test_below(&r, 50000));
        CHECK(!err || err == -ETIMEDOUT);
        CHECK_EQ(weft_local_set(key, number), 0);
        free(malloc(test_below(&r, 5000)));
        CHECK(join(f) == number);
        turns++;
    }
    return NULL;
}

struct load {
    struct weft_fiber f[32];
};
static void load_begin(struct load *l) {
    CHECK_EQ(weft_key_create(&key, NULL), 0);
    STORE(&churning, 1);
    for (uintptr_t i = 0; i < 32; i++) l->f[i] = spawn(churns, (void *)i);
}
static void load_end(struct load *l) {
    STORE(&churning, 0);
    for (int i = 0; i < 32; i++) join(l->f[i]);
}

static void *forks_many(void *times) {
    for (long i = 0; i < (long)times; i++) fork_once(uses_all, 51);
    return NULL;
}
static size_t times(size_t n) { return test_size(n) ? test_size(n) : 1; }
TEST_WITHIN(hundreds_from_fibers_under_load, 120) {
    leave_out_if_sanitized();
    test_needs_forks();
    struct load l;
    test_start(8);
    load_begin(&l);
    struct weft_fiber f[3];
    for (int i = 0; i < 3; i++) f[i] = spawn(forks_many, (void *)times(100));
    for (int i = 0; i < 3; i++) join(f[i]);
    long before = turns;
    while (turns == before) test_nap_ms(1);
    load_end(&l);
    test_stop();
}
TEST_WITHIN(hundreds_from_threads_under_load, 120) {
    leave_out_if_sanitized();
    test_needs_forks();
    struct load l;
    test_start(8);
    load_begin(&l);
    pthread_t t[2];
    for (int i = 0; i < 2; i++) t[i] = thread_start(forks_many, (void *)times(100));
    for (int i = 0; i < 2; i++) thread_join(t[i]);
    load_end(&l);
    test_stop();
}
/* Fibers and threads cancel fibers all the time, also ended fibers. The first cancellation in the child does not wait
 * for a cancellation of the parent, and no cancellation of the parent reaches the child. */
static void *waits_for_ever(void *unused) {
    while (!weft_sleep_for(WEFT_FOREVER)) {
    }
    return unused;
}
static int cancels_one(void *unused) {
    (void)unused;
    struct weft_cancellation told;
    struct weft_stats stats;
    CHECK_EQ(weft_cancellations(&told, 1), 0);
    struct weft_fiber f = spawn(waits_for_ever, NULL);
    CHECK_EQ(weft_cancel(f), 0);
    join(f);
    CHECK_EQ(weft_stats_read(&stats), 0);
    CHECK_EQ(stats.by_request, 1);
    return weft_cancellations(&told, 1);
}
static void cancels_in_child(int fd) { say(fd, runs_here(cancels_one, 1, 1)); }
static void *cancels_others(void *unused) {
    enum { N = 64 };
    while (LOAD(&churning)) {
        struct weft_fiber f[N];
        for (int i = 0; i < N; i++) f[i] = spawn(waits_for_ever, NULL);
        for (int i = 0; i < N; i++) CHECK_EQ(weft_cancel(f[i]), 0);
        for (int i = 0; i < N; i++) join(f[i]);
        for (int i = 0; i < N; i++) CHECK_EQ(weft_cancel(f[i]), -ESRCH);
    }
    return unused;
}
static void *forks_that_cancel(void *times) {
    for (long i = 0; i < (long)times; i++) fork_once(cancels_in_child, 1);
    return NULL;
}
TEST_WITHIN(hundreds_under_cancellations, 120) {
    leave_out_if_sanitized();
    test_needs_forks();
    test_start(4);
    STORE(&churning, 1);
    struct weft_fiber c[3], f;
    for (int i = 0; i < 3; i++) c[i] = spawn(cancels_others, NULL);
    pthread_t t = thread_start(cancels_others, NULL);
    f = spawn(forks_that_cancel, (void *)times(300));
    forks_that_cancel((void *)times(100));
    join(f);
    STORE(&churning, 0);
    for (int i = 0; i < 3; i++) join(c[i]);
    thread_join(t);
    test_stop();
}
/* Starts, stops and forks of one process, at once. */
static void *starts_and_stops(void *unused) {
    (void)unused;
    while (LOAD(&churning)) {
        int n = weft_run(sums, NULL, &(struct weft_config){.workers = 4});
        CHECK_EQ(n, 50);
    }
    return NULL;
}
TEST_WITHIN(while_a_runtime_comes_and_goes, 120) {
    leave_out_if_sanitized();
    test_needs_forks();
    STORE(&churning, 1);
    pthread_t t = thread_start(starts_and_stops, NULL);
    forks_many((void *)times(100));
    STORE(&churning, 0);
    thread_join(t);
}

/* --- what belonged to the parent -------------------------------------------------------------- */

static struct weft_fiber parked, self;
static struct weft_sem shared;
static struct weft_timer timer;
static struct weft_cluster second;
static int woken, fired;

static void *waits_for_shared(void *unused) {
    (void)unused;
    CHECK_EQ(weft_sem_wait(&shared), 0);
    ADD(&woken, 1);
    return NULL;
}
static void fire(void *unused) { (void)unused, STORE(&fired, 1); }

static int nothing(void *unused) { return (void)unused, 0; }
static void meets_the_parents(int fd) {
    CHECK_EQ(weft_cancel(parked), -ESRCH);
    CHECK_EQ(weft_unpark(parked), -ESRCH);
    CHECK_EQ(weft_join(parked, NULL), -ESRCH);
    CHECK_EQ(weft_detach(parked), -ESRCH);
    if (self.id) CHECK_EQ(weft_cancel(self), -ESRCH);
    CHECK_EQ(weft_cluster_workers(second), -ESRCH);
    CHECK_EQ(weft_timer_cancel(&timer), 0);
    CHECK_EQ(weft_sem_post(&shared), 0); /* to a copy of the parent's fiber, which is no fiber here */
    CHECK_EQ(runs_here(nothing, 0, 0), 0);
    CHECK_EQ(weft_sem_post(&shared), 0);
    CHECK_EQ(weft_sem_wait(&shared), 0);
    test_nap_ms(5);
    CHECK_EQ(LOAD(&woken), 0);
    CHECK_EQ(LOAD(&fired), 0);
    say(fd, 1);
}
static void parents_things(void *unused) {
    (void)unused;
    woken = fired = 0;
    self = weft_self();
    CHECK_EQ(weft_cluster_create(&second, &(struct weft_config){.workers = 1}), 0);
    CHECK_EQ(weft_timer_arm(&timer, weft_now() + 60 * WEFT_SECOND, fire, NULL), 0);
    parked = spawn(waits_for_shared, NULL);
    while (!chain_length(&shared.queue)) CHECK_EQ(weft_sleep_for(WEFT_MILLISECOND), 0); /* and its lock is free */
    fork_once(meets_the_parents, 1);
    CHECK_EQ(weft_timer_cancel(&timer), 0);
    CHECK_EQ(weft_sem_post(&shared), 0);
    join(parked);
    CHECK_EQ(woken, 1);
    CHECK_EQ(weft_cluster_workers(second), 1);
}
TEST(the_parents_things) {
    test_needs_forks();
    each_size(parents_things);
    test_start(3);
    parents_things(NULL);
    test_stop();
}

/* The forking fiber still owns what it holds. */
static struct weft_mutex held;
static void holds_it_still(int fd) {
    CHECK(weft_local_get(key) == &held);
    CHECK_EQ(weft_mutex_lock(&held), -EDEADLK);
    CHECK_EQ(weft_mutex_unlock(&held), 0);
    CHECK_EQ(weft_mutex_lock(&held), 0);
    CHECK_EQ(weft_mutex_unlock(&held), 0);
    say(fd, 1);
}
static void forks_holding(void *unused) {
    (void)unused;
    CHECK_EQ(weft_key_create(&key, NULL), 0);
    CHECK_EQ(weft_local_set(key, &held), 0);
    CHECK_EQ(weft_mutex_lock(&held), 0);
    if (weft_self().id) CHECK_EQ(weft_cancel(weft_self()), 0);
    fork_once(holds_it_still, 1);
    CHECK_EQ(weft_mutex_unlock(&held), 0);
    CHECK_EQ(weft_key_delete(key), 0);
}
TEST(what_the_forking_fiber_holds) {
    each_size(forks_holding);
    forks_holding(NULL);
}

/* --- how a child ends ------------------------------------------------------------------------- */

static struct test_child child;

static void *forks_and_returns(void *unused) {
    (void)unused;
    pid_t pid = fork();
    int status;
    if (!pid) return NULL;
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_FAILURE);
    return NULL;
}
static void runs_it(void *unused) {
    (void)unused;
    test_start(2);
    join(spawn_with(&(struct weft_attr){.name = "parent"}, forks_and_returns, NULL));
    test_stop();
}
TEST(returning_in_the_child_ends_it) {
    test_child(&child, runs_it, NULL);
    CHECK(test_child_exited(&child, 0));
    CHECK_EQ(test_lines_with(child.said, "weft: "), 1);
    CHECK_HAS(child.said, "\"parent\" spawned at");
    CHECK_HAS(child.said, "has come to its end in a forked child");
}

static int done;
static void forks_in_timer(void *unused) {
    (void)unused;
    pid_t pid = fork();
    int status;
    if (!pid) return;
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_FAILURE);
    STORE(&done, 1);
}
static void runs_timer(void *unused) {
    (void)unused;
    struct weft_timer t = WEFT_TIMER_INIT;
    test_start(2);
    CHECK_EQ(weft_timer_arm(&t, 0, forks_in_timer, NULL), 0);
    test_await(&done, 1);
    test_stop();
}
TEST(a_timers_function_that_forks) {
    test_child(&child, runs_timer, NULL);
    CHECK(test_child_exited(&child, 0));
    CHECK_HAS(child.said, "a timer's function has come to its end in a forked child");
}

static void exits_in_child(int fd) {
    say(fd, 1);
    exit(0);
}
TEST(exit_in_the_child) {
    if (TEST_ASAN) test_skip("what the parent's fibers have is a leak there");
    test_start(4);
    fork_once(exits_in_child, 1);
    test_stop();
}

/* --- waiting for descriptors ------------------------------------------------------------------ */

static int ends[2];
static void *waits_for_byte(void *unused) {
    (void)unused;
    CHECK_EQ(weft_ready(ends[0], POLLIN), POLLIN);
    return NULL;
}
static int ready_in_child(void *unused) {
    (void)unused;
    int p[2];
    CHECK(!pipe2(p, O_CLOEXEC | O_NONBLOCK));
    CHECK_EQ(weft_ready_until(p[0], POLLIN, weft_now() + WEFT_MILLISECOND), -ETIMEDOUT);
    CHECK_EQ(write(p[1], "x", 1), 1);
    CHECK_EQ(weft_ready(p[0], POLLIN), POLLIN);
    close(p[0]);
    close(p[1]);
    return 7;
}
static void waits_in_child(int fd) {
    if (!TEST_TSAN) CHECK_EQ(weft_ready_until(ends[0], POLLIN, weft_now() + WEFT_MILLISECOND), -ETIMEDOUT);
    CHECK_EQ(runs_here(ready_in_child, 7, 0), 7);
    say(fd, (long)test_open_files());
}
TEST(descriptors_are_waited_for_anew) {
    test_needs_forks();
    CHECK(!pipe2(ends, O_CLOEXEC));
    size_t files = test_open_files();
    test_start(2);
    struct weft_fiber f = spawn(waits_for_byte, NULL);
    /* The descriptors that this needs are open. */
    await_state(state_waits, f);
    for (int i = 0; i < 5; i++) fork_once(waits_in_child, (long)files + 1); /* and its end of the pipe */
    CHECK_EQ(write(ends[1], "x", 1), 1);
    join(f);
    test_stop();
}
