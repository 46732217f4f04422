/* SPDX-License-Identifier: MIT */
/*
 * Special states of workers and their rings: a stuck worker with requests that are not submitted yet, a full ring, the
 * ring of a worker that retires, stops or exists only in the parent of a fork, and a wake-up of a worker that sleeps in
 * its ring. The tests pass without rings, too.
 */
#define _GNU_SOURCE
#include "../forbid.h"
#include "../scratch.h"
#include "../state.h"
#include "fiber.h"
#include "sched/core/self.h"
#include "weft/io.h"

#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static int pipes[2];
static void open_pipe(void) { CHECK(!pipe(pipes)); }

/* --- the worker does not come back ------------------------------------------------------------------------------ */

static struct weft_io io;
static char got[8];
static int flag;

static void *waits_and_tells(void *unused) {
    CHECK_EQ(weft_io_wait(&io), 4);
    STORE(&flag, 1);
    return unused;
}

/* The flag depends on its own request, which is not submitted yet. */
static void spins(void *unused) {
    (void)unused;
    flag = 0;
    CHECK_EQ(write(pipes[1], "text", 4), 4);
    CHECK_EQ(weft_io_read(&io, pipes[0], got, sizeof got), 0);
    struct weft_fiber other = spawn(waits_and_tells, NULL);
    while (!LOAD(&flag)) {
    }
    join(other);
}
TEST(a_request_of_a_worker_that_spins_is_handed_over_by_another) {
    open_pipe();
    test_in_fiber(1, spins, NULL);
    test_in_fiber(2, spins, NULL);
}

static void blocks(void *unused) {
    (void)unused;
    int gate[2];
    char c;
    flag = 0;
    CHECK(!pipe(gate));
    CHECK_EQ(weft_io_read(&io, pipes[0], got, sizeof got), 0);
    CHECK_EQ(write(pipes[1], "text", 4), 4);
    struct weft_fiber other = spawn(waits_and_tells, NULL);
    struct weft_io let_go;
    CHECK_EQ(weft_io_write(&let_go, gate[1], "x", 1), 0);
    CHECK_EQ(read(gate[0], &c, 1), 1); /* the carrier blocks until its own ring has written */
    join(other);
    CHECK_EQ(weft_io_wait(&let_go), 1);
    close(gate[0]);
    close(gate[1]);
}
TEST(a_request_of_a_worker_that_blocks_is_handed_over_by_another) {
    open_pipe();
    test_in_fiber(1, blocks, NULL);
    test_in_fiber(2, blocks, NULL);
}

/* --- tiny rings ------------------------------------------------------------------------------- */

enum { MANY = 200, ROUNDS = 20 };

static void *echoes(void *ends) {
    int *fd = ends;
    char c;
    while (weft_read(fd[0], &c, 1) == 1) CHECK_EQ(weft_write(fd[0], &c, 1), 1);
    return NULL;
}
static void *asks(void *ends) {
    int *fd = ends;
    for (int i = 0; i < ROUNDS; i++) {
        char c = (char)i, back;
        CHECK_EQ(weft_write(fd[1], &c, 1), 1);
        CHECK_EQ(weft_read(fd[1], &back, 1), 1);
        CHECK_EQ(back, c);
    }
    CHECK(!weft_shutdown(fd[1], SHUT_RDWR));
    return NULL;
}
static void many_talk(void *unused) {
    (void)unused;
    static int ends[MANY][2];
    struct weft_fiber fibers[MANY][2];
    for (int i = 0; i < MANY; i++) {
        CHECK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends[i]));
        fibers[i][0] = spawn(echoes, ends[i]);
        fibers[i][1] = spawn(asks, ends[i]);
    }
    for (int i = 0; i < MANY; i++) {
        join(fibers[i][0]);
        join(fibers[i][1]);
        CHECK(!weft_close(ends[i][0]) && !weft_close(ends[i][1]));
    }
}
TEST(a_burst_does_not_fit_a_tiny_ring) {
    for (int size = 2; size <= 8; size *= 2) {
        char text[4] = {(char)('0' + size)};
        CHECK(!setenv("WEFT_RING", text, 1));
        test_in_fiber(1, many_talk, NULL);
        test_in_fiber(8, many_talk, NULL);
    }
}

/* More completions than fit: the kernel keeps the rest, and weft must ask for them. */
static void many_ready(void *unused) {
    (void)unused;
    static struct weft_io reads[MANY];
    static int ends[MANY][2];
    static char bytes[MANY];
    for (int i = 0; i < MANY; i++) {
        CHECK(!pipe2(ends[i], O_CLOEXEC));
        CHECK_EQ(weft_io_read(&reads[i], ends[i][0], &bytes[i], 1), 0);
    }
    weft_yield();
    for (int i = 0; i < MANY; i++) CHECK_EQ(write(ends[i][1], "x", 1), 1);
    for (int i = 0; i < MANY; i++) {
        CHECK_EQ(weft_io_wait(&reads[i]), 1);
        CHECK_EQ(bytes[i], 'x');
        CHECK(!weft_close(ends[i][0]) && !weft_close(ends[i][1]));
    }
}
TEST(more_completions_than_there_is_room_for) {
    CHECK(!setenv("WEFT_RING", "2", 1));
    test_in_fiber(1, many_ready, NULL);
    test_in_fiber(4, many_ready, NULL);
}

/* A multishot accept ends when there is no room for its completions. */
static struct weft_listener listener;
static void *asks_listener(void *unused) {
    int fd = weft_listener_accept(&listener);
    CHECK(fd >= 0 && !weft_close(fd));
    return unused;
}
static void many_ask(void *unused) {
    (void)unused;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t size = sizeof(sa_family_t);
    struct weft_fiber f[MANY];
    static int clients[MANY];
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(!bind(fd, (struct sockaddr *)&address, size)); /* a name is chosen */
    size = sizeof address;
    CHECK(!getsockname(fd, (struct sockaddr *)&address, &size) && !listen(fd, MANY));
    CHECK_EQ(weft_listener_begin(&listener, fd, SOCK_CLOEXEC), 0);
    for (int i = 0; i < MANY; i++) f[i] = spawn(asks_listener, NULL);
    weft_yield();
    for (int i = 0; i < MANY; i++) {
        clients[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        CHECK(!connect(clients[i], (struct sockaddr *)&address, size));
    }
    for (int i = 0; i < MANY; i++) join(f[i]);
    for (int i = 0; i < MANY; i++) close(clients[i]);
    CHECK_EQ(weft_listener_end(&listener), 0);
    CHECK_EQ(weft_close(fd), 0);
}
TEST(more_connections_than_there_is_room_for) {
    CHECK(!setenv("WEFT_RING", "1", 1));
    test_in_fiber(1, many_ask, NULL);
    test_in_fiber(4, many_ask, NULL);
}

static void too_many(void *unused) {
    (void)unused;
    static const struct io_uring_sqe nothing[3]; /* they do nothing */
    int results[3], err = weft_uring(nothing, results, 2);
    if (err == -ENOTSUP) return;
    CHECK_EQ(err, 0);
    CHECK_EQ(weft_uring(nothing, results, 3), -EINVAL);
}
TEST(a_chain_does_not_fit_a_tiny_ring) {
    CHECK(!setenv("WEFT_RING", "2", 1));
    test_in_fiber(1, too_many, NULL);
}

/* --- the worker goes away --------------------------------------------------------------------- */

static void *reads_four(void *unused) {
    CHECK_EQ(weft_read(pipes[0], got, sizeof got), 4);
    return unused;
}
static void retires(void *unused) {
    (void)unused;
    struct weft_fiber reader = spawn_with((&(struct weft_attr){.pinned = 4}), reads_four, NULL);
    await_state(state_waits, reader);
    CHECK_EQ(weft_cluster_resize((struct weft_cluster){0}, 1), 0);
    settle();
    CHECK_EQ(write(pipes[1], "text", 4), 4);
    join(reader);
}
TEST(a_worker_that_retires_still_serves_its_ring) {
    open_pipe();
    test_in_fiber(4, retires, NULL);
}

static void leaves_one_under_way(void *unused) {
    (void)unused;
    CHECK_EQ(weft_io_read(&io, pipes[0], got, sizeof got), 0);
}
static void *writes_later(void *unused) {
    test_nap_ms(5);
    CHECK_EQ(write(pipes[1], "text", 4), 4);
    return unused;
}
TEST(a_stop_waits_for_what_is_under_way) {
    open_pipe();
    for (int i = 0; i < 20; i++) {
        pthread_t writer = thread_start(writes_later, NULL);
        test_in_fiber(2, leaves_one_under_way, NULL);
        CHECK_EQ(weft_future_try(&io.future, NULL), 0);
        pthread_join(writer, NULL);
    }
}

static void reads_in_child(void *unused) { reads_four(unused); }
static void talks_in_child(void *unused) {
    (void)unused;
    struct weft_fiber reader = spawn(reads_four, NULL);
    await_state(state_waits, reader);
    pid_t pid = fork();
    if (!pid) {
        open_pipe();
        CHECK_EQ(write(pipes[1], "text", 4), 4);
        test_in_fiber(2, reads_in_child, NULL);
        _exit(0);
    }
    int status;
    CHECK_EQ(weft_waitpid(pid, &status, 0), pid);
    CHECK(WIFEXITED(status) && !WEXITSTATUS(status));
    CHECK_EQ(write(pipes[1], "text", 4), 4);
    join(reader);
}
TEST(a_forked_child_has_rings_of_its_own) {
    if (TEST_ASAN || TEST_TSAN) test_skip("a sanitizer's locks may be held in the child");
    test_needs_forks();
    open_pipe();
    test_in_fiber(2, talks_in_child, NULL);
}

/* --- asleep in the ring, and woken ------------------------------------------------------------ */

static void *adds(void *n) {
    ADD((int *)n, 1);
    return NULL;
}

/* Wakes its worker by I/O, while others wake it by unparks. */
static void *talks_on(void *unused) {
    int ends[2];
    char c;
    CHECK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends));
    while (!LOAD(&flag)) {
        CHECK_EQ(weft_write(ends[0], "x", 1), 1);
        CHECK_EQ(weft_read(ends[1], &c, 1), 1);
        CHECK_EQ(weft_usleep(100), 0);
    }
    CHECK(!weft_close(ends[0]) && !weft_close(ends[1]));
    return unused;
}

TEST(a_worker_that_sleeps_in_its_ring_is_woken_by_threads) {
    enum { WORKERS = 2, TIMES = 5000 };
    struct weft_fiber reader[WORKERS];
    int n = 0;
    open_pipe();
    CHECK_EQ(weft_start(&(struct weft_config){.workers = WORKERS}), 0);
    for (unsigned i = 0; i < WORKERS; i++)
        reader[i] = spawn_with((&(struct weft_attr){.pinned = i + 1}), reads_four, NULL);
    for (unsigned i = 0; i < WORKERS; i++) await_state(state_waits, reader[i]);
    struct weft_fiber talks = spawn(talks_on, NULL);
    for (int i = 0; i < TIMES; i++) {
        if (i == TIMES / 2) {
            STORE(&flag, 1); /* from here on nothing else wakes them */
            join(talks);
        }
        join(spawn(adds, &n));
        CHECK_EQ(n, i + 1);
    }
    CHECK_EQ(write(pipes[1], "text", 4), 4);
    while (!state_ended(reader[0]) && !state_ended(reader[1])) test_nap_ms(1);
    CHECK_EQ(write(pipes[1], "text", 4), 4); /* for the other */
    for (unsigned i = 0; i < WORKERS; i++) join(reader[i]);
    CHECK_EQ(weft_stop(), 0);
}

/* --- operations that the kernel lacks --------------------------------------------------------- */

enum { NONE = -1, ALL = -2 };
static const int operations[] = {
    NONE,
    IORING_OP_READV,
    IORING_OP_WRITEV,
    IORING_OP_FSYNC,
    IORING_OP_POLL_ADD,
    IORING_OP_SENDMSG,
    IORING_OP_RECVMSG,
    IORING_OP_ACCEPT,
    IORING_OP_CONNECT,
    IORING_OP_OPENAT,
    IORING_OP_STATX,
    IORING_OP_READ,
    IORING_OP_WRITE,
    IORING_OP_SEND,
    IORING_OP_RECV,
    ALL,
};

/* On one worker: whether the request of a fiber that waits is in its ring. */
static unsigned in_ring(void) { return load_rlx(&weft__self()->ring.in_flight); }

static void *receives_leased(void *fd) {
    struct weft_lease lease;
    CHECK_EQ(weft_recv_lease(*(int *)fd, &lease), 4);
    weft_lease_return(&lease);
    return NULL;
}
static void *receives_four(void *fd) {
    CHECK_EQ(weft_recv(*(int *)fd, got, 4, 0), 4);
    return NULL;
}
static void *receives_under_way(void *fd) {
    struct weft_io receive;
    CHECK_EQ(weft_io_recv(&receive, *(int *)fd, got, 4, 0), 0);
    CHECK_EQ(weft_io_wait(&receive), 4);
    return NULL;
}
static void *accepts_one(void *listener) {
    int fd = weft_listener_accept(listener);
    CHECK(fd >= 0 && !weft_close(fd));
    return NULL;
}

static void receives_without(int number) {
    void *(*ways[])(void *) = {receives_four, receives_leased, receives_under_way};
    for (int way = 0; way < 3; way++) {
        int ends[2];
        CHECK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends));
        struct weft_fiber f = spawn(ways[way], &ends[0]);
        await_state(state_waits, f);
        if (number == IORING_OP_RECV && way != 1) CHECK_EQ(in_ring(), 0); /* a poll waits for the memory */
        if (number == ALL) CHECK_EQ(in_ring(), 0);
        if (number == NONE && !strcmp(weft_io_engine(), "io_uring")) CHECK_EQ(in_ring(), 1);
        CHECK_EQ(weft_send(ends[1], "text", 4, 0), 4);
        join(f);
        CHECK(!weft_close(ends[0]) && !weft_close(ends[1]));
    }
}
static void accepts_without(void) {
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    socklen_t size = sizeof name;
    struct weft_listener l;
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(!bind(listener, (struct sockaddr *)&name, sizeof name.sun_family) && !listen(listener, 8));
    CHECK(!getsockname(listener, (struct sockaddr *)&name, &size));
    CHECK_EQ(weft_listener_begin(&l, listener, SOCK_CLOEXEC), 0);
    for (int i = 0; i < 3; i++) {
        struct weft_fiber f = spawn(accepts_one, &l);
        await_state(state_waits, f);
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        CHECK_EQ(weft_connect(fd, (struct sockaddr *)&name, size), 0);
        join(f);
        CHECK_EQ(weft_close(fd), 0);
    }
    CHECK_EQ(weft_listener_end(&l), 0);
    CHECK_EQ(weft_close(listener), 0);
}
static void files_without(void) {
    char path[SCRATCH_SIZE], text[8] = "";
    int made = mkostemp(scratch_name(path), O_CLOEXEC), fd = weft_open(path, O_RDWR | O_CLOEXEC);
    struct weft_io write;
    CHECK(made >= 0 && fd >= 0);
    CHECK_EQ(weft_io_pwrite(&write, fd, "text", 4, 0), 0);
    CHECK_EQ(weft_io_wait(&write), 4);
    CHECK_EQ(weft_pwritev(fd, &(struct iovec){"T", 1}, 1, 0), 1);
    CHECK_EQ(weft_fsync(fd), 0);
    CHECK_EQ(weft_pread(fd, text, 4, 0), 4);
    CHECK(!strcmp(text, "Text"));
    CHECK_EQ(weft_poll(&(struct pollfd){pipes[0], POLLIN, 0}, 1, 0), 0);
    CHECK(!weft_close(fd) && !close(made) && !unlink(path));
}
static void makes_do(void *number) {
    receives_without(*(int *)number);
    accepts_without();
    files_without();
}
TEST(an_operation_that_the_kernel_has_not) {
    no_rescue(); /* this ring belongs to the only worker */
    open_pipe();
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        int number = operations[i];
        char text[64] = "";
        if (number >= 0) snprintf(text, sizeof text, "%d", number);
        CHECK(!setenv("WEFT_RING_WITHOUT", number == ALL ? "all" : text, 1));
        test_in_fiber(1, makes_do, &number);
        /* The same on an older kernel: a bell wakes a sleeper, and entries cancel. */
        strcat(text, ",51,sync_cancel,buffers");
        CHECK(!setenv("WEFT_RING_WITHOUT", number == ALL ? "all,sync_cancel,buffers" : text, 1));
        test_in_fiber(1, makes_do, &number);
    }
}

/* --- filters --------------------------------------------------------------------------------------------------- */

static void needs_filters(void) {
    if (test_valgrind() || test_emulated()) test_skip("no filter for system calls");
}
static void *reads_a_byte(void *unused) {
    char c = 0;
    CHECK_EQ(weft_read(pipes[0], &c, 1), 1);
    return unused;
}
static void read_parked(void *unused) {
    struct weft_fiber reader = spawn(reads_a_byte, unused);
    settle();
    CHECK_EQ(write(pipes[1], "x", 1), 1);
    join(reader);
}

/* A filter that allows io_uring_setup and forbids io_uring_enter: there is no ring then. */
TEST(a_ring_that_cannot_be_entered_is_not_used) {
    static const int errors[] = {EPERM, EACCES, ENOSYS};
    needs_filters();
    open_pipe();
    if (forbid(SYS_io_uring_enter, errors[getpid() % 3])) test_skip("no filter can be installed");
    each_size(read_parked);
    CHECK(!strcmp(weft_io_engine(), "epoll"));
}

/* The filter comes when requests are in the ring: one line says so, and the program does not hang. */
static void forbid_later(void *unused) {
    open_pipe();
    test_start(2);
    join(spawn(reads_a_byte, (write(pipes[1], "x", 1), unused)));
    struct weft_fiber reader = spawn(reads_a_byte, unused);
    test_nap_ms(5);
    if (strcmp(weft_io_engine(), "io_uring")) _exit(0);
    if (forbid(SYS_io_uring_enter, EPERM)) _exit(0);
    CHECK_EQ(write(pipes[1], "x", 1), 1);
    join(reader);
    test_stop();
    _exit(1);
}
TEST(a_ring_that_can_no_longer_be_entered_ends_the_program) {
    struct test_child child;
    needs_filters();
    test_child(&child, forbid_later, NULL);
    if (test_child_exited(&child, 0)) test_skip("no ring, or no filter");
    CHECK(test_child_aborted(&child));
    CHECK_HAS(child.said, "io_uring_enter is refused, which worked before (Operation not permitted)");
    CHECK_EQ(test_lines_with(child.said, "io_uring_enter is refused"), 1);
}
