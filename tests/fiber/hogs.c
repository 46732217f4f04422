/* SPDX-License-Identifier: MIT */
/*
 * Fibers that keep their workers: which hogs are listed, which fibers are reported to wait behind them and for how
 * long, and the backtrace of a hog.
 */
#define _GNU_SOURCE
#include "fiber.h"

#include "../state.h"

#include "arch/context.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static const struct weft_cluster first = {0};
static int go_on, hogging, spinning;

/* A sanitizer delivers a signal only when the program calls a function that it intercepts, such as the clock. */
__attribute__((noinline)) static void spin(const int *until) {
    STORE(&spinning, 1);
    while (!LOAD(until)) CHECK(weft_now() > 0);
    __asm__ volatile("");
}
static void *computes(void *until) {
    ADD(&hogging, 1);
    spin(until);
    __asm__ volatile("");
    return NULL;
}

static struct weft_hog hogs[8];
static bool lists(void *n) { return weft_hogs(first, hogs, 8) == *(int *)n; }
static void await_hogs(int n) { test_until(lists, &n); }

/* --- the list --------------------------------------------------------------------------------------- */

static int pipes[2];
static void *blocks(void *unused) {
    (void)unused;
    char c = 0;
    ADD(&hogging, 1);
    CHECK_EQ(read(pipes[0], &c, 1), 1); /* or, if a signal disturbs it, -1 */
    return (void *)(intptr_t)c;
}

TEST(computing_and_blocking_fibers_are_listed) {
    CHECK(!pipe(pipes));
    test_start(3);
    CHECK_EQ(weft_hogs(first, hogs, 8), 0);
    uint64_t begun = weft_now();
    struct weft_fiber f[2] = {
        spawn_with(&(struct weft_attr){.name = "computes"}, computes, &go_on),
        spawn_with(&(struct weft_attr){.name = "blocks"}, blocks, NULL),
    };
    test_await(&hogging, 2);
    await_hogs(2);
    CHECK(hogs[0].worker != hogs[1].worker);
    for (int i = 0; i < 2; i++) {
        int which = strcmp(hogs[i].name, "computes") ? 1 : 0;
        CHECK(!strcmp(hogs[i].name, which ? "blocks" : "computes"));
        CHECK_EQ(hogs[i].fiber.id, f[which].id);
        CHECK(hogs[i].worker < 3 + 2); /* spare workers may run in their place */
        CHECK(hogs[i].since + 4 * WEFT_MILLISECOND >= begun && hogs[i].since < weft_now());
        CHECK_HAS(hogs[i].where, "hogs.c:");
    }
    struct weft_hog one[2] = {{.worker = 4711}, {.worker = 4711}};
    CHECK_EQ(weft_hogs(first, one, 1), 2); /* there are two hogs, and the array has room for one */
    CHECK(one[0].worker != 4711 && one[1].worker == 4711);
    CHECK_EQ(weft_hogs(first, NULL, 0), 2);
    STORE(&go_on, 1);
    CHECK_EQ(write(pipes[1], "x", 1), 1);
    CHECK_EQ((intptr_t)join(f[1]), 'x');
    join(f[0]);
    await_hogs(0);
    test_stop();
}

static void *yields(void *until) {
    while (!LOAD((int *)until)) weft_yield();
    return NULL;
}
TEST(a_yielding_fiber_is_not_listed) {
    test_start(1);
    struct weft_fiber a = spawn(yields, &go_on), b = spawn(yields, &go_on);
    for (int i = 0; i < 20; i++) {
        test_nap_ms(2);
        /* Unless the kernel did not run its thread for that long. */
        if (weft_hogs(first, hogs, 8)) await_hogs(0);
    }
    STORE(&go_on, 1);
    join(a);
    join(b);
    test_stop();
}

/* --- delays ----------------------------------------------------------------------------------------- */

static struct weft_delays delays;
static bool much_is_timed(void *n) {
    CHECK_EQ(weft_delays_read(first, &delays), 0);
    return delays.timed >= *(uint64_t *)n;
}
TEST(delays_are_timed) {
#ifdef WEFT_MIGRATE
    test_skip("fibers are forced to move");
#endif
    uint64_t n = 100;
    struct weft_fiber f[8];
    test_start(2);
    CHECK_EQ(weft_delays_read(first, &delays), 0);
    CHECK_EQ(delays.timed + delays.p50 + delays.p99 + delays.p999 + delays.max, 0);
    for (int i = 0; i < 8; i++) f[i] = spawn(yields, &go_on);
    test_until(much_is_timed, &n);
    STORE(&go_on, 1);
    for (int i = 0; i < 8; i++) join(f[i]);
    /* Of idle workers: a busy worker may have stored only a part of a sample. */
    CHECK_EQ(weft_delays_read(first, &delays), 0);
    CHECK(delays.max > 0);
    CHECK(delays.p50 <= delays.p99 && delays.p99 <= delays.p999);
    CHECK(delays.p999 <= delays.max + delays.max / 8 + 1); /* the end of a bucket */
    test_stop();
    test_start(1); /* a new runtime begins at zero */
    CHECK_EQ(weft_delays_read(first, &delays), 0);
    CHECK_EQ(delays.timed, 0);
    test_stop();
}

/* Fibers in the lists beside the queue are timed, too. */
static void *does_nothing(void *unused) { return unused; }
TEST(delays_of_other_lists_are_timed) {
    static const struct weft_attr kinds[] = {{.priority = WEFT_HIGH}, {.priority = WEFT_LOW}, {.pinned = 1}};
    for (unsigned k = 0; k < 3; k++) {
        struct weft_config config = {.workers = 1, .no_helping = 1, .delay_limit = 1}; /* the queue is not timed */
        CHECK_EQ(weft_start(&config), 0);
        join(spawn_with(&kinds[k], does_nothing, NULL));
        CHECK_EQ(weft_delays_read(first, &delays), 0);
        CHECK(delays.timed > 0 && delays.max > 0 && delays.late > 0);
        test_stop();
    }
}

/* --- the limit ---------------------------------------------------------------------------------------- */

static int seen;
static void *is_late(void *unused) {
    (void)unused;
    ADD(&seen, 1);
    return NULL;
}
/* One worker: the hog goes on only after the monitor has seen it and a spare runs in its place. */
static void *keeps_it_waiting(void *unused) {
    struct weft_fiber f = spawn_with(&(struct weft_attr){.name = "the late one"}, is_late, NULL);
    spin(&seen);
    join(f);
    return unused;
}
static void limit_child(void *limit) {
    struct weft_config config = {.workers = 1, .delay_limit = *(uint64_t *)limit};
    CHECK_EQ(weft_start(&config), 0);
    for (int i = 0; i < 3; i++) {
        test_nap_ms(150); /* one line in a tenth of a second */
        STORE(&seen, 0);
        join(spawn_with(&(struct weft_attr){.name = "the hog"}, keeps_it_waiting, NULL));
    }
    test_stop();
}
TEST_WITHIN(a_limit_that_is_broken_is_reported_with_both_fibers, 60) {
    static struct test_child child;
    uint64_t limit = WEFT_MILLISECOND, took;
    do { /* a busy machine may cause delays of its own, and these are reported first */
        took = weft_now();
        test_child(&child, limit_child, &limit);
        took = weft_now() - took;
        CHECK(test_child_exited(&child, 0));
    } while (!test_lines_with(child.said, "behind"));
    const char *line = test_line_with(child.said, "behind");
    CHECK_HAS(line, "weft: late: fiber 0x");
    CHECK_HAS(line, "\"the late one\" spawned at ");
    CHECK_HAS(line, "limit: 1000 us");
    CHECK_HAS(line, "\"the hog\" spawned at ");
    CHECK_EQ(test_lines_with(line, "hogs.c:"), 1);
    CHECK(strstr(line, "the late one") < strstr(line, "behind") && strstr(line, "behind") < strstr(line, "the hog"));
    /* The least time between two reports. */
    CHECK(test_lines_with(child.said, "late:") <= 1 + took / (100 * WEFT_MILLISECOND));
}
TEST_WITHIN(without_a_limit_nothing_is_reported, 60) {
    static struct test_child child;
    uint64_t none = 0, generous = 1000 * WEFT_SECOND;
    test_child(&child, limit_child, &none);
    CHECK(test_child_exited(&child, 0));
    CHECK_EQ(test_lines_with(child.said, "late"), 0);
    test_child(&child, limit_child, &generous);
    CHECK(test_child_exited(&child, 0));
    CHECK_EQ(test_lines_with(child.said, "late"), 0);
}

/* --- backtraces ------------------------------------------------------------------------------------------ */

/* valgrind 3.19 continues at a wrong address after a handler that ran on a signal stack. */
static void needs_signal_stacks(void) {
    if (test_valgrind()) test_skip("valgrind does not come back from signal stacks");
}

/* Is the address in brackets in some line within `bytes` bytes after the beginning of the function? */
static bool has_frame_of(const char *text, const void *function, size_t bytes) {
    for (const char *at = text; (at = strstr(at, "[0x")); at++) {
        uintptr_t address = strtoull(at + 1, NULL, 16), begin = (uintptr_t)function;
        if (address > begin && address < begin + bytes) return true;
    }
    return false;
}

static int memory_file(void) {
    int fd = memfd_create("backtrace", MFD_CLOEXEC);
    CHECK(fd >= 0);
    return fd;
}
static const char *contents(int fd) {
    static char text[65536];
    ssize_t n = pread(fd, text, sizeof text - 1, 0);
    CHECK(n >= 0);
    text[n] = 0;
    return text;
}

struct asks {
    int fd, least;
};
/* On a busy machine a hog may run so late that it does not answer in time. */
static bool writes_so_many(void *arg) {
    struct asks *a = arg;
    CHECK(!ftruncate(a->fd, 0) && !lseek(a->fd, 0, SEEK_SET));
    int n = weft_hogs_backtrace(first, a->fd);
    if (n == -ETIMEDOUT) return false;
    CHECK(n >= 0);
    CHECK_EQ(test_lines_with(contents(a->fd), "weft: worker "), n);
    return n >= a->least;
}
static void check_backtrace_of_spin(const char *text, const char *name) {
    const char *line = test_line_with(text, name);
    CHECK_HAS(line, "weft: worker ");
    CHECK_HAS(line, "fiber 0x");
    CHECK_HAS(line, "hogs.c:");
    CHECK(has_frame_of(text, (void *)(uintptr_t)spin, 2048));
    CHECK(has_frame_of(text, (void *)(uintptr_t)computes, 2048));
    CHECK(has_frame_of(text, (void *)(uintptr_t)weft__context_entry, 64)); /* and there it ends */
}

static void backtrace_of_one(void *unused) {
    (void)unused;
    struct asks asks = {memory_file(), 1};
    STORE(&go_on, 0);
    STORE(&spinning, 0);
    struct weft_fiber f = spawn_with(&(struct weft_attr){.name = "the hog"}, computes, &go_on);
    while (!LOAD(&spinning) || !weft_hogs(first, hogs, 8)) weft_sleep_for(WEFT_MILLISECOND);
    do test_until(writes_so_many, &asks);
    while (!test_has(contents(asks.fd), "\"the hog\"")); /* the fiber that asks may have become a hog, too */
    check_backtrace_of_spin(contents(asks.fd), "\"the hog\"");
    STORE(&go_on, 1);
    join(f);
    close(asks.fd);
}
TEST_WITHIN(asked_by_a_thread, 60) {
    needs_signal_stacks();
    test_start(2);
    for (size_t i = 0; i < test_size(10); i++) backtrace_of_one(NULL);
    test_stop();
}
TEST_WITHIN(asked_by_a_fiber, 60) {
    needs_signal_stacks();
    test_in_fiber(2, backtrace_of_one, NULL);
    test_in_fiber(3, backtrace_of_one, NULL);
}

__attribute__((noinline)) static bool asks_about_itself(void *fd) { return weft_hogs_backtrace(first, *(int *)fd) > 0; }
static void of_itself(void *unused) {
    (void)unused;
    int fd = memory_file();
    test_until(asks_about_itself, &fd); /* never leaves its worker */
    CHECK(has_frame_of(contents(fd), (void *)(uintptr_t)asks_about_itself, 512));
    close(fd);
}
TEST_WITHIN(asked_about_itself, 60) {
    needs_signal_stacks();
    if (TEST_TSAN) test_skip("ThreadSanitizer hands signals on later");
    test_in_fiber(1, of_itself, NULL);
}

/* A read is restarted. A nap ends early, as the header says. */
static void *naps(void *unused) {
    (void)unused;
    struct timespec t = {3600, 0};
    ADD(&hogging, 1);
    do CHECK(nanosleep(&t, NULL) && errno == EINTR);
    while (!LOAD(&go_on));
    return NULL;
}
TEST_WITHIN(blocking_calls, 60) {
    needs_signal_stacks();
    struct asks asks = {memory_file(), TEST_TSAN ? 1 : 2}; /* which holds a signal back while it reads */
    CHECK(!pipe(pipes));
    test_start(3);
    struct weft_fiber a = spawn_with(&(struct weft_attr){.name = "reads"}, blocks, NULL),
                      b = spawn_with(&(struct weft_attr){.name = "naps"}, naps, NULL);
    test_await(&hogging, 2);
    await_hogs(2);
    test_until(writes_so_many, &asks);
    CHECK_HAS(contents(asks.fd), "\"naps\"");
    if (!TEST_TSAN) CHECK_HAS(contents(asks.fd), "\"reads\"");
    if (!TEST_TSAN) CHECK(has_frame_of(contents(asks.fd), (void *)(uintptr_t)blocks, 2048));
    CHECK(has_frame_of(contents(asks.fd), (void *)(uintptr_t)naps, 2048));
    STORE(&go_on, 1);
    while (!state_ended(b)) writes_so_many(&asks);
    join(b);
    CHECK_EQ(write(pipes[1], "x", 1), 1);
    CHECK_EQ((intptr_t)join(a), 'x');
    test_stop();
}

TEST(without_a_hog) {
    int fd = memory_file();
    CHECK_EQ(weft_hogs_backtrace(first, fd), -ESRCH);
    test_start(2);
    CHECK_EQ(weft_hogs_backtrace(first, fd), 0);
    join(spawn(is_late, NULL));
    await_hogs(0);
    CHECK_EQ(weft_hogs_backtrace(first, fd), 0);
    CHECK_EQ(contents(fd)[0], 0);
    CHECK_EQ(weft_hogs_backtrace(first, 12345), -EBADF);
    CHECK_EQ(weft_hogs_backtrace(first, -1), -EBADF);
    test_stop();
    CHECK_EQ(weft_hogs_backtrace(first, fd), -ESRCH);
}

TEST_WITHIN(a_file_that_cannot_be_written, 60) {
    needs_signal_stacks();
    int fds[2];
    CHECK(!pipe(fds));
    close(fds[0]);
    signal(SIGPIPE, SIG_IGN);
    test_start(2);
    struct weft_fiber f = spawn(computes, &go_on);
    await_hogs(1);
    int err;
    do err = weft_hogs_backtrace(first, fds[1]);
    while (!err || err == -ETIMEDOUT);
    CHECK_EQ(err, -EPIPE);
    STORE(&go_on, 1);
    join(f);
    test_stop();
}

/* --- the signal ------------------------------------------------------------------------------------------- */

static int others, plain_others;
static void handles(int sig, siginfo_t *info, void *context) {
    (void)context;
    if (sig != SIGURG || !info) _exit(9);
    ADD(&others, 1);
}
static void handles_plainly(int sig) {
    if (sig != SIGURG) _exit(9);
    ADD(&plain_others, 1);
}
TEST_WITHIN(signals_of_the_program_are_passed_on, 60) {
    needs_signal_stacks();
    for (int plain = 0; plain < 2; plain++) {
        struct sigaction mine = {.sa_flags = plain ? 0 : SA_SIGINFO}, now;
        if (plain)
            mine.sa_handler = handles_plainly;
        else
            mine.sa_sigaction = handles;
        CHECK(!sigaction(SIGURG, &mine, NULL));
        test_start(2);
        CHECK(!sigaction(SIGURG, NULL, &now));
        CHECK(now.sa_handler == mine.sa_handler); /* before the first request the signal belongs to the program */
        backtrace_of_one(NULL);
        CHECK_EQ(LOAD(&others), plain);
        CHECK(!sigaction(SIGURG, NULL, &now));
        CHECK(now.sa_handler != mine.sa_handler);
        CHECK(!raise(SIGURG));
        test_await(plain ? &plain_others : &others, 1);
        backtrace_of_one(NULL);
        test_stop();
        CHECK_EQ(LOAD(&others), 1);
        CHECK_EQ(LOAD(&plain_others), plain);
        CHECK(!sigaction(SIGURG, NULL, &now));
        CHECK(now.sa_handler == mine.sa_handler && (now.sa_flags & SA_SIGINFO) == mine.sa_flags);
    }
}

/* --- while hogs come and go ---------------------------------------------------------------------------------- */

static int over, asked;
static void *asks_always(void *unused) {
    (void)unused;
    int fd = memory_file(), n;
    while (!LOAD(&over)) {
        CHECK(!ftruncate(fd, 0) && !lseek(fd, 0, SEEK_SET));
        n = weft_hogs_backtrace(first, fd);
        if (n == -ETIMEDOUT) continue; /* a handler that has no processor */
        CHECK(n >= 0);
        CHECK_EQ(test_lines_with(contents(fd), "weft: worker "), n);
        ADD(&asked, n);
        if (!n) test_nap_ms(1);
    }
    close(fd);
    return NULL;
}
/* Computes for a little more or less than the monitor needs to notice a hog, switches in between, and ends. */
static void *comes_and_goes(void *seed) {
    uint64_t random = (uintptr_t)seed, end;
    for (int i = 0; i < 6; i++) {
        for (int k = 0; k < 50; k++) weft_yield();
        end = weft_now() + (2 + test_below(&random, 10)) * WEFT_MILLISECOND;
        while (weft_now() < end) {
        }
        if (test_below(&random, 2)) CHECK_EQ(weft_sleep_for(WEFT_MILLISECOND), 0);
    }
    return NULL;
}
/* The text is shared, so one thread uses it. Another thread asks only so that requests coincide. */
static void *asks_for_nothing(void *fd) {
    while (!LOAD(&over)) {
        int n = weft_hogs_backtrace(first, *(int *)fd);
        CHECK(n >= 0 || n == -ETIMEDOUT);
        test_nap_ms(1);
    }
    return NULL;
}
TEST_WITHIN(while_hogs_come_and_go, 120) {
    needs_signal_stacks();
    int fd = memory_file();
    for (int round = 0; round < 3; round++) {
        STORE(&over, 0);
        test_start(3);
        pthread_t a = thread_start(asks_always, NULL), b = thread_start(asks_for_nothing, &fd);
        for (uintptr_t n = 0; n < test_size(6) || (LOAD(&asked) < 5 && !TEST_TSAN); n++) {
            struct weft_fiber f[4];
            for (uintptr_t i = 0; i < 4; i++) f[i] = spawn(comes_and_goes, (void *)(4 * n + i));
            for (int i = 0; i < 4; i++) join(f[i]);
        }
        STORE(&over, 1);
        thread_join(a);
        thread_join(b);
        test_stop();
    }
}

/* A stop and the end of a cluster do not wait for a request for a backtrace, and a request does not wait for them. */
static void *asks_until_over(void *fd) {
    while (!LOAD(&over)) {
        int n = weft_hogs_backtrace(first, *(int *)fd);
        CHECK(n >= 0 || n == -ESRCH || n == -ETIMEDOUT);
    }
    return NULL;
}
TEST_WITHIN(while_the_runtime_stops, 60) {
    needs_signal_stacks();
    int fd = memory_file();
    pthread_t t = thread_start(asks_until_over, &fd);
    for (size_t i = 0; i < test_size(15); i++) {
        test_start(2);
        struct weft_fiber f = spawn(comes_and_goes, (void *)i);
        join(f);
        test_stop();
    }
    STORE(&over, 1);
    thread_join(t);
}
