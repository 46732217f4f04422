/* SPDX-License-Identifier: MIT */
/* Readiness of descriptors: which events are found, which fibers wake, deadlines, cancellation, and the poll thread. */
#define _GNU_SOURCE
#include "threads.h"

#include "io/readiness.h"
#include "sched/wake/io_backpressure.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

static void make_pipe(int ends[2]) { CHECK(!pipe2(ends, O_CLOEXEC | O_NONBLOCK)); }
static void make_pair(int ends[2]) { CHECK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends)); }
static void close_both(int ends[2]) { CHECK(!close(ends[0]) && !close(ends[1])); }
static void put_byte(int fd) { CHECK_EQ(write(fd, "x", 1), 1); }
static void take_byte(int fd) {
    char c;
    CHECK_EQ(read(fd, &c, 1), 1);
}

/* --- what is found ---------------------------------------------------------------------------------------- */

static void looks(void *unused) {
    (void)unused;
    int p[2], s[2], file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    make_pipe(p);
    make_pair(s);
    CHECK_EQ(weft_ready(p[1], POLLOUT), POLLOUT);
    CHECK_EQ(weft_ready_try(p[0], POLLIN), -EAGAIN);
    put_byte(p[1]);
    CHECK_EQ(weft_ready(p[0], POLLIN), POLLIN);
    CHECK_EQ(weft_ready(p[0], POLLIN), POLLIN); /* it is still there */
    take_byte(p[0]);
    CHECK_EQ(weft_ready_try(p[0], POLLIN), -EAGAIN);
    CHECK_EQ(weft_ready(s[0], POLLIN | POLLOUT), POLLOUT);
    CHECK_EQ(weft_ready(file, POLLIN | POLLOUT), POLLIN | POLLOUT);
    CHECK_EQ(weft_ready_until(file, POLLPRI, weft_now() + WEFT_SECOND), -EPERM);
    close(p[1]);
    CHECK_EQ(weft_ready(p[0], POLLIN), POLLHUP);
    CHECK_EQ(weft_ready(p[0], 0), POLLHUP);
    close(p[0]);
    CHECK_EQ(weft_ready(p[0], POLLIN), -EBADF);
    CHECK_EQ(weft_ready(-1, POLLIN), -EBADF);
    CHECK_EQ(weft_ready(1 << 30, POLLIN), -EBADF);
    CHECK_EQ(weft_ready(s[0], POLLNVAL), -EINVAL);
    CHECK_EQ(weft_ready_try(s[0], 0x4000), -EINVAL);
    close_both(s);
    close(file);
}
TEST(what_is_found) {
    each_size(looks);
    looks(NULL); /* a thread, and no runtime */
}

/* --- waking ------------------------------------------------------------------------------------------------- */

struct waiter {
    int fd;
    short events;
    uint64_t deadline;
    int got;
};
static void *waits(void *arg) {
    struct waiter *w = arg;
    STORE(&w->got, weft_ready_until(w->fd, w->events, w->deadline ? w->deadline : WEFT_FOREVER));
    return NULL;
}

static void *ponger(void *fds) {
    int *fd = fds;
    for (int i = 0; i < 200; i++) {
        CHECK_EQ(weft_ready(fd[0], POLLIN), POLLIN);
        take_byte(fd[0]);
        put_byte(fd[3]);
    }
    return NULL;
}
static void ping_pong(void *unused) {
    (void)unused;
    int fd[4]; /* there and back */
    make_pipe(fd);
    make_pipe(fd + 2);
    struct weft_fiber f = spawn(ponger, fd);
    for (int i = 0; i < 200; i++) {
        put_byte(fd[1]);
        CHECK_EQ(weft_ready(fd[2], POLLIN), POLLIN);
        take_byte(fd[2]);
    }
    join(f);
    close_both(fd);
    close_both(fd + 2);
}
TEST(back_and_forth) { each_size(ping_pong); }

static void *thread_pings(void *fds) { return ponger(fds); }
TEST(between_a_thread_and_a_fiber) {
    int fd[4], there[4];
    test_start(2);
    make_pipe(fd);
    make_pipe(fd + 2);
    there[0] = fd[2], there[3] = fd[1];
    pthread_t t = thread_start(thread_pings, fd);
    put_byte(fd[1]);
    struct weft_fiber f = spawn(ponger, there);
    join(f);
    thread_join(t);
    test_stop();
    close_both(fd);
    close_both(fd + 2);
}

/* The only worker sleeps in the poller itself, without the poll thread. A thread wakes it there with a permit. */
static void *echoes(void *fds) {
    int *fd = fds;
    char c = 0;
    while (c != 'q') {
        CHECK_EQ(weft_ready(fd[0], POLLIN), POLLIN);
        CHECK_EQ(read(fd[0], &c, 1), 1);
        put_byte(fd[3]);
    }
    return NULL;
}
static void *awaits_permit(void *unused) {
    CHECK_EQ(weft_park(), 0);
    return unused;
}
static void ask(const int fd[4], const char *what) {
    char c;
    CHECK_EQ(write(fd[1], what, 1), 1);
    CHECK_EQ(read(fd[2], &c, 1), 1);
}
TEST(a_worker_that_sleeps_in_the_poller) {
    int fd[4];
    test_start(1);
    make_pipe(fd);
    make_pipe(fd + 2);
    CHECK(!fcntl(fd[2], F_SETFL, 0)); /* the thread waits in a read of it */
    struct weft_fiber f = spawn(echoes, fd), parked = spawn(awaits_permit, NULL);
    do {
        ask(fd, "x");
        test_nap_ms(1);
    } while (load_rlx(&weft__poll_duty_state) != WEFT_POLL_DUTY_DOZED);
    CHECK_EQ(weft_unpark(parked), 0);
    join(parked);
    ask(fd, "q");
    join(f);
    test_stop();
    close_both(fd);
    close_both(fd + 2);
}

/* No worker runs out of work. Descriptors that become ready are still reported. */
static int is_over;
static void *computes(void *unused) {
    while (!LOAD(&is_over)) {
    }
    return unused;
}
TEST(between_threads_while_all_workers_compute) {
    int fd[4], there[4];
    test_start(1);
    make_pipe(fd);
    make_pipe(fd + 2);
    there[0] = fd[2], there[3] = fd[1];
    struct weft_fiber f = spawn(computes, NULL);
    pthread_t t[2] = {thread_start(thread_pings, fd), thread_start(thread_pings, there)};
    put_byte(fd[1]);
    thread_join(t[0]);
    thread_join(t[1]);
    STORE(&is_over, 1);
    join(f);
    test_stop();
    close_both(fd);
    close_both(fd + 2);
}

/* Different events of one descriptor: each waiter is woken by its own event. */
static void several(void *unused) {
    (void)unused;
    int s[2];
    char block[4096] = {0};
    make_pair(s);
    while (write(s[0], block, sizeof block) > 0) {
    }
    struct waiter in[3], out[3], any;
    struct weft_fiber fi[3], fo[3], fa;
    for (int i = 0; i < 3; i++) {
        in[i] = (struct waiter){s[0], POLLIN, 0, 0};
        out[i] = (struct waiter){s[0], POLLOUT, 0, 0};
        fi[i] = spawn(waits, &in[i]);
        fo[i] = spawn(waits, &out[i]);
    }
    any = (struct waiter){s[0], POLLIN | POLLOUT, 0, 0};
    fa = spawn(waits, &any);
    settle();
    put_byte(s[1]);
    for (int i = 0; i < 3; i++) {
        join(fi[i]);
        CHECK_EQ(in[i].got, POLLIN);
        CHECK_EQ(LOAD(&out[i].got), 0);
    }
    join(fa);
    CHECK_EQ(any.got, POLLIN);
    while (read(s[1], block, sizeof block) > 0) {
    }
    for (int i = 0; i < 3; i++) {
        join(fo[i]);
        CHECK(out[i].got & POLLOUT);
    }
    close_both(s);
}
TEST(several_wait_for_one_descriptor) { each_size(several); }

static void hang_up(void *unused) {
    (void)unused;
    int p[2];
    make_pipe(p);
    struct waiter w = {p[0], POLLIN, 0, 0};
    struct weft_fiber f = spawn(waits, &w);
    settle();
    close(p[1]);
    join(f);
    CHECK_EQ(w.got, POLLHUP);
    close(p[0]);
}
TEST(a_hang_up_wakes) { each_size(hang_up); }

static void timers_and_events(void *unused) {
    (void)unused;
    int t = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK), e = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct itimerspec in_a_moment = {.it_value = {0, 3000000}};
    CHECK(!timerfd_settime(t, 0, &in_a_moment, NULL));
    struct waiter w = {e, POLLIN, 0, 0};
    struct weft_fiber f = spawn(waits, &w);
    CHECK_EQ(weft_ready(t, POLLIN), POLLIN);
    CHECK(!eventfd_write(e, 1));
    join(f);
    CHECK_EQ(w.got, POLLIN);
    close(t);
    close(e);
}
TEST(timer_and_event_descriptors) { each_size(timers_and_events); }

/* --- deadlines and cancellation ------------------------------------------------------------------------------- */

static void deadlines(void *unused) {
    (void)unused;
    int p[2];
    make_pipe(p);
    uint64_t before = weft_now();
    CHECK_EQ(weft_ready_until(p[0], POLLIN, before + 5 * WEFT_MILLISECOND), -ETIMEDOUT);
    CHECK(weft_now() >= before + 5 * WEFT_MILLISECOND);
    CHECK_EQ(weft_ready_until(p[0], POLLIN, 0), -ETIMEDOUT);
    put_byte(p[1]); /* still armed, without a waiter */
    CHECK_EQ(weft_ready_until(p[0], POLLIN, 0), POLLIN);
    take_byte(p[0]);
    CHECK_EQ(weft_ready_until(p[0], POLLIN, weft_now() + WEFT_MILLISECOND), -ETIMEDOUT);
    struct waiter w = {p[0], POLLIN, weft_now() + 60 * WEFT_SECOND, 0};
    struct weft_fiber f = spawn(waits, &w);
    settle();
    put_byte(p[1]);
    join(f);
    CHECK_EQ(w.got, POLLIN);
    close_both(p);
}
TEST(deadlines_pass) {
    each_size(deadlines);
    test_start(1);
    deadlines(NULL);
    test_stop();
}

static void cancellation(void *unused) {
    (void)unused;
    int p[2];
    make_pipe(p);
    struct waiter w[2] = {{p[0], POLLIN, 0, 0}, {p[0], POLLIN, 0, 0}};
    struct weft_fiber f[2] = {spawn(waits, &w[0]), spawn(waits, &w[1])};
    settle();
    CHECK_EQ(weft_cancel(f[0]), 0);
    join(f[0]);
    CHECK_EQ(w[0].got, -ECANCELED);
    put_byte(p[1]);
    join(f[1]);
    CHECK_EQ(w[1].got, POLLIN);
    CHECK_EQ(weft_cancel(weft_self()), 0);
    CHECK_EQ(weft_ready(p[0], POLLIN), POLLIN); /* it is there */
    take_byte(p[0]);
    CHECK_EQ(weft_ready(p[0], POLLIN), -ECANCELED);
    close_both(p);
}
TEST(cancellation_ends_it) { each_size(cancellation); }

/* --- closing ---------------------------------------------------------------------------------------------------- */

static void closing(void *unused) {
    (void)unused;
    int p[2];
    make_pipe(p);
    struct waiter w[3];
    struct weft_fiber f[3];
    for (int i = 0; i < 3; i++) {
        w[i] = (struct waiter){p[0], POLLIN, 0, 0};
        f[i] = spawn(waits, &w[i]);
    }
    for (int i = 0; i < 3; i++) {
        do weft__readiness_close(p[0]); /* perhaps they do not wait yet */
        while (weft_join_until(f[i], NULL, weft_now() + 2 * WEFT_MILLISECOND) == -ETIMEDOUT);
        CHECK_EQ(w[i].got, -EBADF);
    }
    close_both(p);
}
TEST(a_close_can_wake_all) { each_size(closing); }

/* A duplicate keeps the old file open, and armed, after its number belongs to another file. */
static void reused(void *unused) {
    (void)unused;
    int p[2], other[2];
    make_pipe(p);
    CHECK_EQ(weft_ready_until(p[0], POLLIN, weft_now() + WEFT_MILLISECOND), -ETIMEDOUT);
    int copy = dup(p[0]), number = p[0];
    make_pipe(other);
    CHECK_EQ(dup2(other[0], number), number);
    struct waiter w = {number, POLLIN, weft_now() + 20 * WEFT_MILLISECOND, 0};
    struct weft_fiber f = spawn(waits, &w);
    weft_sleep_for(2 * WEFT_MILLISECOND);
    put_byte(p[1]); /* the old file is ready, the new one is not */
    join(f);
    CHECK_EQ(w.got, -ETIMEDOUT);
    put_byte(other[1]);
    CHECK_EQ(weft_ready(number, POLLIN), POLLIN);
    close(copy);
    close(number);
    close(p[1]);
    close_both(other);
}
TEST(a_number_that_is_used_again) { each_size(reused); }

/* --- select ----------------------------------------------------------------------------------------------------- */

static void selects(void *unused) {
    (void)unused;
    int p[2], q[2], item = 0, one = 1, buffer[4];
    make_pipe(p);
    make_pipe(q);
    struct weft_chan chan = WEFT_CHAN_OVER(buffer, sizeof(int), 4);
    struct weft_case cases[] = {WEFT_CASE_READY(p[0], POLLIN), WEFT_CASE_RECV(&chan, &item),
                                WEFT_CASE_READY(q[0], POLLIN), WEFT_CASE_READY(-1, POLLIN)};
    CHECK_EQ(weft_case_select_try(cases, 4), -EAGAIN);
    CHECK_EQ(weft_case_select_until(cases, 4, weft_now() + WEFT_MILLISECOND), -ETIMEDOUT);
    put_byte(q[1]);
    CHECK_EQ(weft_case_select(cases, 4), 2);
    CHECK_EQ(cases[2].result, POLLIN);
    take_byte(q[0]);
    CHECK_EQ(weft_chan_send(&chan, &one), 0);
    CHECK_EQ(weft_case_select(cases, 4), 1);
    CHECK_EQ(item, 1);
    close_both(p);
    CHECK_EQ(weft_case_select(cases, 4), 0);
    CHECK_EQ(cases[0].result, -EBADF);
    cases[0] = (struct weft_case)WEFT_CASE_READY(q[0], POLLNVAL);
    CHECK_EQ(weft_case_select(cases, 4), -EINVAL);
    close_both(q);
}
TEST(select_over_descriptors) {
    each_size(selects);
    selects(NULL); /* a thread, and no runtime */
}

/* Items of a channel and bytes of pipes, taken by selects that time out and are cancelled: each is taken once. */
enum { PIPES = 4, ITEMS = 300, SELECTORS = 6 };
static int pipes[PIPES][2], sent, received;
static struct weft_chan items;
static void *selector(void *seed) {
    uint64_t r = (uintptr_t)seed + 1;
    for (;;) {
        int item;
        struct weft_case c[PIPES + 1] = {WEFT_CASE_RECV(&items, &item)};
        for (int i = 0; i < PIPES; i++) c[i + 1] = (struct weft_case)WEFT_CASE_READY(pipes[i][0], POLLIN);
        int which = test_below(&r, 2) ? weft_case_select(c, PIPES + 1)
                                      : weft_case_select_until(c, PIPES + 1, weft_now() + test_below(&r, 200000));
        char byte;
        if (which == -ECANCELED || (which == 0 && c[0].result == -EPIPE)) return NULL;
        if (which == 0) ADD(&received, 1);
        if (which > 0) {
            CHECK_EQ(c[which].result, POLLIN);
            if (read(pipes[which - 1][0], &byte, 1) == 1) ADD(&received, 1);
        }
    }
}
static void *sender(void *seed) {
    uint64_t r = (uintptr_t)seed + 77;
    for (int i = 0; i < ITEMS; i++) {
        if (test_below(&r, 2))
            CHECK_EQ(weft_chan_send(&items, &i), 0);
        else
            put_byte(pipes[test_below(&r, PIPES)][1]);
        ADD(&sent, 1);
        if (test_below(&r, 4) == 0) CHECK_EQ(weft_sleep_for(test_below(&r, 100000)), 0);
    }
    return NULL;
}
static void crossing(void *unused) {
    (void)unused;
    static int buffer[2];
    struct weft_fiber s[SELECTORS], f[2];
    items = (struct weft_chan)WEFT_CHAN_OVER(buffer, sizeof(int), 2);
    sent = received = 0;
    for (int i = 0; i < PIPES; i++) make_pipe(pipes[i]);
    for (uintptr_t i = 0; i < SELECTORS; i++) s[i] = spawn(selector, (void *)i);
    for (uintptr_t i = 0; i < 2; i++) f[i] = spawn(sender, (void *)i);
    weft_sleep_for(3 * WEFT_MILLISECOND);
    CHECK_EQ(weft_cancel(s[0]), 0);
    for (int i = 0; i < 2; i++) join(f[i]);
    while (LOAD(&received) < sent) CHECK_EQ(weft_sleep_for(WEFT_MILLISECOND), 0);
    CHECK_EQ(weft_chan_close(&items), 0);
    for (int i = 0; i < SELECTORS; i++) join(s[i]);
    CHECK_EQ(received, sent);
    CHECK_EQ(sent, 2 * ITEMS);
    for (int i = 0; i < PIPES; i++) close_both(pipes[i]);
}
TEST(selects_that_cross) { each_size(crossing); }

/* --- many ---------------------------------------------------------------------------------------------------- */

static void many(void *unused) {
    (void)unused;
    struct rlimit limit;
    CHECK(!getrlimit(RLIMIT_NOFILE, &limit));
    limit.rlim_cur = limit.rlim_max;
    CHECK(!setrlimit(RLIMIT_NOFILE, &limit));
    enum { MOST = 4500 };
    static int p[MOST][2];
    static struct waiter w[MOST];
    static struct weft_fiber f[MOST];
    size_t n = test_fibers(MOST);
    if (n > limit.rlim_cur / 2 - 50) n = limit.rlim_cur / 2 - 50;
    for (size_t i = 0; i < n; i++) {
        make_pipe(p[i]);
        w[i] = (struct waiter){p[i][0], POLLIN, 0, 0};
        f[i] = spawn(waits, &w[i]);
    }
    settle();
    for (size_t i = n; i-- > 0;) put_byte(p[i][1]);
    for (size_t i = 0; i < n; i++) {
        join(f[i]);
        CHECK_EQ(w[i].got, POLLIN);
        close_both(p[i]);
    }
}
TEST_WITHIN(thousands_at_once, 60) { test_in_fiber(2, many, NULL); }

/* --- the poll thread --------------------------------------------------------------------------------------- */

static size_t extra(void) { return TEST_TSAN || test_emulated() ? 1 : 0; }

static void waits_a_little(void *unused) {
    (void)unused;
    int p[2];
    make_pipe(p);
    CHECK_EQ(weft_ready_until(p[0], POLLIN, weft_now() + WEFT_MILLISECOND), -ETIMEDOUT);
    CHECK(test_threads() >= 4 + extra()); /* this thread, the carrier, the monitor, the poll thread */
    close_both(p);
}
TEST(its_thread_comes_and_goes_with_the_runtime) {
    size_t files = test_open_files();
    for (int i = 0; i < 5; i++) {
        test_in_fiber(1, waits_a_little, NULL);
        await_alone();
        CHECK_EQ(test_open_files(), files);
    }
}

static void *thread_waits(void *arg) { return waits(arg); }
TEST(threads_wait_without_a_runtime) {
    int p[2];
    make_pipe(p);
    size_t files = test_open_files();
    struct waiter w[2] = {{p[0], POLLIN, 0, 0}, {p[0], POLLIN, weft_now() + 5 * WEFT_MILLISECOND, 0}};
    pthread_t t[2] = {thread_start(thread_waits, &w[0]), thread_start(thread_waits, &w[1])};
    thread_join(t[1]);
    CHECK_EQ(w[1].got, -ETIMEDOUT);
    test_start(2); /* a runtime that starts and stops meanwhile does not affect them */
    test_stop();
    put_byte(p[1]);
    thread_join(t[0]);
    CHECK_EQ(w[0].got, POLLIN);
    await_alone();
    CHECK_EQ(test_open_files(), files);
    close_both(p);
}

static uint64_t cpu_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * WEFT_SECOND + (uint64_t)t.tv_nsec;
}

/* A thread that spins would use all of the half second, a thread that ticks some of it. */
TEST(waiting_uses_no_cpu) {
    int p[2];
    make_pipe(p);
    test_start(2);
    struct waiter w = {p[0], POLLIN, 0, 0};
    struct weft_fiber f = spawn(waits, &w);
    test_nap_ms(200); /* by then the monitor rests, and memory has been returned */
    uint64_t before = cpu_ns();
    test_nap_ms(500);
    CHECK(cpu_ns() - before < 100 * WEFT_MILLISECOND);
    put_byte(p[1]);
    join(f);
    test_stop();
    close_both(p);
}

/* A stop waits for fibers that wait for descriptors; none is reported as blocked for ever. */
static void *writes_late(void *fd) {
    test_nap_ms(20);
    put_byte(*(int *)fd);
    return NULL;
}
TEST(a_stop_waits_for_it) {
    int p[2];
    make_pipe(p);
    test_start(2);
    struct waiter w = {p[0], POLLIN, 0, 0};
    CHECK_EQ(weft_spawn(NULL, NULL, waits, &w), 0);
    pthread_t t = thread_start(writes_late, &p[1]);
    CHECK_EQ(weft_stop(), 0);
    CHECK_EQ(w.got, POLLIN);
    thread_join(t);
    close_both(p);
}
