/* SPDX-License-Identifier: MIT */
/* Polling, splicing, sending files, children, sleeping, operations under way, and the choice of the engine. */
#define _GNU_SOURCE
#include "../state.h"
#include "io.h"

#include <signal.h>
#include <sys/wait.h>

/* --- the engine -------------------------------------------------------------------------------------------------- */

static void is_chosen(void *unused) {
    (void)unused;
    int e[2];
    make_ends(PIPE, e);
    CHECK_EQ(weft_write(e[1], "x", 1), 1);
    const char *wish = engine_asked_for();
    if (!strcmp(wish, "epoll") || !strcmp(wish, "forbidden")) CHECK(!strcmp(weft_io_engine(), "epoll"));
    if (!strcmp(wish, "uring")) CHECK(!strcmp(weft_io_engine(), "io_uring"));
    CHECK(strcmp(weft_io_engine(), "none"));
    CHECK(strcmp(weft_io_engine_why(), "none"));
    close_ends(e);
}
TEST(the_engine) {
    CHECK(!strcmp(weft_io_engine(), "none"));
    CHECK(!strcmp(weft_io_engine_why(), "none"));
    each_runtime(is_chosen);
}

/* The reason that weft prints if the kernel lacks something. Each case runs in its own process, because the choice is
 * made once. */
static void reads_a_byte(void *unused) {
    (void)unused;
    int e[2];
    make_ends(PIPE, e);
    CHECK_EQ(weft_write(e[1], "x", 1), 1);
    close_ends(e);
}
static void is_told(const char *without, const char *why) {
    fflush(NULL);
    pid_t pid = fork();
    int status;
    if (!pid) {
        CHECK(!setenv("WEFT_RING_WITHOUT", without, 1));
        test_in_fiber(1, reads_a_byte, NULL);
        if (strcmp(weft_io_engine_why(), why)) test_fail(__FILE__, __LINE__, "%s", weft_io_engine_why());
        _exit(0);
    }
    CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
    CHECK_EQ(status, 0);
}
static bool a_ring_is_there(void) {
    fflush(NULL);
    pid_t pid = fork();
    int status;
    if (!pid) {
        test_in_fiber(1, reads_a_byte, NULL);
        _exit(strncmp(weft_io_engine_why(), "io_uring, woken by ", 19) != 0);
    }
    CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
    return !status;
}
TEST(the_reason_for_the_engine) {
    const char *wish = engine_asked_for();
    if (!strcmp(wish, "epoll")) {
        is_told("", "epoll: WEFT_IO asks for it");
    } else if (!strcmp(wish, "forbidden")) {
        is_told("", "epoll: io_uring_setup: Operation not permitted");
    } else if (a_ring_is_there()) {
        is_told(OLDER_KERNEL, "io_uring, woken by eventfd: no futex wait in the ring");
        is_told("coop_taskrun", "epoll: io_uring: no cooperative task running");
        is_told("ext_arg", "epoll: io_uring: no deadline for a sleep in the ring");
    }
}

/* --- wrong arguments -------------------------------------------------------------------------- */

static void not_so(void *unused) {
    (void)unused;
    struct weft_io none = WEFT_IO_INIT;
    struct weft_lease lease;
    char c;
    int e[2];
    CHECK_EQ(weft_io_cancel(&none), -EINVAL);
    CHECK_EQ(weft_io_wait(&none), -EINVAL);
    make_ends(PIPE, e);
    CHECK_EQ(told(weft_recv(e[0], &c, 1, 0)), -ENOTSOCK);
    CHECK_EQ(told(weft_recv(e[0], &c, 1, MSG_WAITALL)), -ENOTSOCK);
    CHECK_EQ(weft_recv_lease(e[0], &lease), -ENOTSOCK);
    CHECK_EQ(weft_io_recv(&none, e[0], &c, 1, 0), 0);
    CHECK_EQ(weft_io_wait(&none), -ENOTSOCK);
    CHECK_EQ(weft_io_pread(&none, e[0], &c, 1, -1), -EINVAL);
    CHECK_EQ(weft_poll(&(struct pollfd){e[0], POLLNVAL, 0}, 1, 1), 0);
    close_ends(e);
}
TEST(what_is_not_so_is_said) { each_runtime(not_so); }

/* --- turns ------------------------------------------------------------------------------------ */

static int others_turns;
static void *has_a_turn(void *unused) {
    ADD(&others_turns, 1);
    return unused;
}
static void never_waits(void *unused) {
    (void)unused;
    int file = make_file();
    char c;
    CHECK_EQ(weft_write(file, "x", 1), 1);
    STORE(&others_turns, 0);
    struct weft_fiber f = spawn(has_a_turn, NULL);
    for (int i = 0; i < 100; i++) CHECK_EQ(weft_pread(file, &c, 1, 0), 1);
    CHECK_EQ(LOAD(&others_turns), 1);
    join(f);
    CHECK_EQ(weft_close(file), 0);
}
TEST(a_fiber_that_never_has_to_wait_lets_others_in) { test_in_fiber(1, never_waits, NULL); }

/* --- polling ---------------------------------------------------------------------------------- */

static void *writes_later(void *fd) {
    weft_sleep_for(3 * WEFT_MILLISECOND);
    CHECK_EQ(weft_write(*(int *)fd, "x", 1), 1);
    return NULL;
}
static void polls(void *unused) {
    (void)unused;
    int a[2], b[2], file = make_file();
    make_ends(PIPE, a);
    make_ends(TCP, b);
    int low = a[0];
    a[0] = fcntl(low, F_DUPFD_CLOEXEC, 500); /* a number that no other open returns after the close */
    close(low);
    struct pollfd p[3] = {{a[0], POLLIN, 0}, {b[0], POLLIN, 0}, {-1, POLLIN, 0}};
    CHECK_EQ(weft_poll(p, 3, 0), 0);
    uint64_t start = weft_now();
    CHECK_EQ(weft_poll(p, 3, 5), 0);
    CHECK(weft_now() - start >= 5 * WEFT_MILLISECOND);
    CHECK_EQ(weft_poll(NULL, 0, 1), 0);
    p[2].fd = -7; /* negative numbers are ignored */
    CHECK_EQ(weft_poll(p, 3, 1), 0);
    struct weft_fiber f = spawn(writes_later, &b[1]);
    CHECK_EQ(weft_poll(p, 3, -1), 1);
    CHECK(!p[0].revents && p[1].revents == POLLIN && !p[2].revents);
    join(f);
    CHECK_EQ(weft_write(a[1], "x", 1), 1);
    CHECK_EQ(weft_poll(p, 3, 1000), 2);
    CHECK_EQ(weft_poll(&(struct pollfd){file, POLLIN | POLLOUT, 0}, 1, -1), 1);
    CHECK_EQ(weft_poll(&(struct pollfd){file, POLLPRI, 0}, 1, 5), 0);
    close_ends(a);
    CHECK_EQ(weft_poll(p, 1, -1), 1);
    CHECK_EQ(p[0].revents, POLLNVAL);
    close_ends(b);
    CHECK(!weft_close(file));
}
TEST(polling) { each_runtime(polls); }

/* --- from one descriptor to another ----------------------------------------------------------- */

static char bytes[200000];
static void *drains(void *fd) {
    static char got[sizeof bytes + 1];
    size_t done = 0;
    for (ssize_t n; (n = weft_read(*(int *)fd, got + done, sizeof got - done)) > 0;) done += (size_t)n;
    CHECK_EQ(done, sizeof bytes);
    CHECK(!memcmp(got, bytes, sizeof bytes));
    return NULL;
}
static void sends_files(void *unused) {
    (void)unused;
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (char)(i * 13 >> 2);
    int file = make_file();
    CHECK_EQ(weft_write(file, bytes, sizeof bytes), sizeof bytes);
    for (enum ends kind = 0; kind < ENDS; kind++) {
        int e[2];
        off_t at = 0;
        make_ends(kind, e);
        struct weft_fiber f = spawn(drains, &e[0]);
        CHECK_EQ(weft_sendfile(e[1], file, &at, sizeof bytes + 1000), sizeof bytes); /* to its end */
        CHECK_EQ(at, sizeof bytes);
        CHECK_EQ(weft_sendfile(e[1], file, &at, 1), 0);
        CHECK_EQ(weft_close(e[1]), 0);
        join(f);
        CHECK_EQ(weft_close(e[0]), 0);
    }
    CHECK_EQ(weft_close(file), 0);
}
TEST(sending_files) { each_runtime(sends_files); }

static void *writes_all(void *fd) {
    CHECK_EQ(weft_write(*(int *)fd, bytes, sizeof bytes), sizeof bytes);
    CHECK_EQ(weft_close(*(int *)fd), 0);
    return NULL;
}
/* From a socket through two pipes to a socket; and to a file at the end. */
static void splices(void *unused) {
    (void)unused;
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (char)(i * 17 >> 3);
    for (int flags = 0; flags < 2; flags++) {
        int from[2], to[2], p[2], q[2];
        make_ends(flags ? TCP_NONBLOCKING : TCP, from);
        make_ends(flags ? LOCAL_NONBLOCKING : LOCAL, to);
        make_ends(flags ? PIPE_NONBLOCKING : PIPE, p);
        make_ends(flags ? PIPE_NONBLOCKING : PIPE, q);
        struct weft_fiber writer = spawn(writes_all, &from[1]), reader = spawn(drains, &to[0]);
        size_t total = 0;
        for (ssize_t n; (n = weft_splice(from[0], NULL, p[1], NULL, 50000, 0)) != 0; total += (size_t)n) {
            CHECK(n > 0);
            for (ssize_t left = n, k; left; left -= k) {
                k = weft_splice(p[0], NULL, q[1], NULL, (size_t)left, 0);
                CHECK(k > 0);
                for (ssize_t rest = k, m; rest; rest -= m) {
                    m = weft_splice(q[0], NULL, to[1], NULL, (size_t)rest, 0);
                    CHECK(m > 0);
                }
            }
        }
        CHECK_EQ(total, sizeof bytes);
        CHECK_EQ(weft_close(to[1]), 0);
        join(writer);
        join(reader);
        int file = make_file();
        off_t at = 0;
        char got[8] = "";
        CHECK_EQ(weft_write(p[1], "spliced", 7), 7);
        CHECK_EQ(weft_splice(p[0], NULL, file, &at, 100, 0), 7);
        CHECK_EQ(at, 7);
        CHECK_EQ(weft_pread(file, got, sizeof got, 0), 7);
        CHECK(!strcmp(got, "spliced"));
        CHECK_EQ(told(weft_splice(p[0], NULL, q[1], NULL, 1, SPLICE_F_NONBLOCK)), -EAGAIN);
        close_ends(p);
        close_ends(q);
        CHECK(!weft_close(from[0]) && !weft_close(to[0]) && !weft_close(file));
    }
}
TEST(splicing) { each_runtime(splices); }

/* There are no bytes, and the caller does not want to wait for the pipe: then it does not wait for the socket either.
 * */
static void splices_now(void *unused) {
    (void)unused;
    int from[2], to[2];
    make_ends(TCP, from);
    make_ends(PIPE, to);
    CHECK_EQ(told(weft_splice(from[0], NULL, to[1], NULL, 8, SPLICE_F_NONBLOCK)), -EAGAIN);
    close_ends(from);
    close_ends(to);
}
TEST(splicing_without_a_wait) { each_runtime(splices_now); }

/* --- children --------------------------------------------------------------------------------- */

static pid_t child(unsigned ms, int status) {
    pid_t pid = fork();
    if (pid) return pid;
    usleep(ms * 1000);
    _exit(status);
}
/* Runs until the other end of the pipe is closed. */
static pid_t held_child(int ends[2], int status) {
    CHECK(!pipe2(ends, O_CLOEXEC));
    pid_t pid = fork();
    if (pid) return close(ends[0]), pid;
    close(ends[1]);
    _exit(read(ends[0], &(char){0}, 1) ? 1 : status);
}
static void waits_for_children(void *unused) {
    (void)unused;
    int status, held[2];
    pid_t pid = held_child(held, 7);
    CHECK_EQ(weft_waitpid(pid, &status, WNOHANG), 0);
    close(held[1]);
    CHECK_EQ(weft_waitpid(pid, &status, 0), pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    CHECK_EQ(told(weft_waitpid(pid, &status, 0)), -ECHILD);
    pid_t two[2] = {child(10, 1), child(30, 2)}, one = weft_waitpid(-1, &status, 0); /* usually the first */
    CHECK(one == two[0] || one == two[1]);
    CHECK_EQ(weft_waitpid(0, NULL, 0), one == two[0] ? two[1] : two[0]);
    CHECK_EQ(told(weft_waitpid(-1, NULL, 0)), -ECHILD);
    pid = child(1000000, 0);
    CHECK(!kill(pid, SIGSTOP));
    CHECK_EQ(weft_waitpid(pid, &status, WUNTRACED), pid);
    CHECK(WIFSTOPPED(status));
    CHECK(!kill(pid, SIGKILL));
    CHECK_EQ(weft_waitpid(pid, &status, 0), pid);
    CHECK(WIFSIGNALED(status));
}
TEST(children) { each_runtime(waits_for_children); }

static void *waits_so(void *options) { return (void *)(intptr_t)told(weft_waitpid(-1, NULL, *(int *)options)); }
static void is_cancelled(int options) {
    struct weft_fiber f = spawn(waits_so, &options);
    await_state(state_waits, f);
    CHECK_EQ(weft_cancel(f), 0);
    CHECK_EQ((intptr_t)join(f), -ECANCELED);
}
/* Children whose end raises no signal. */
static void unheard_children(void *unused) {
    (void)unused;
    int held[2];
    pid_t pid = held_child(held, 7);
    is_cancelled(__WALL);
    close(held[1]);
    CHECK_EQ(weft_waitpid(-1, NULL, __WALL), pid);
    signal(SIGCHLD, SIG_IGN);
    held_child(held, 7);
    is_cancelled(0);
    close(held[1]);
    CHECK_EQ(told(weft_waitpid(-1, NULL, 0)), -ECHILD); /* when it has ended */
    signal(SIGCHLD, SIG_DFL);
}
TEST(a_wait_for_children_that_no_signal_tells_of_is_cancelled) { each_runtime(unheard_children); }

static void *waits_for_it(void *pid) { return (void *)(intptr_t)weft_waitpid((pid_t)(intptr_t)pid, NULL, 0); }
static void many_children(void *unused) {
    (void)unused;
    enum { MANY = 20 };
    struct weft_fiber f[MANY];
    pid_t pid[MANY];
    for (int i = 0; i < MANY; i++) {
        pid[i] = child(5 + (unsigned)i, 0);
        f[i] = spawn(waits_for_it, (void *)(intptr_t)pid[i]);
    }
    for (int i = 0; i < MANY; i++) CHECK_EQ((intptr_t)join(f[i]), pid[i]);
}
TEST(many_children_at_once) { each_runtime(many_children); }

/* --- time ------------------------------------------------------------------------------------- */

static void sleeps(void *unused) {
    (void)unused;
    uint64_t start = weft_now();
    CHECK_EQ(weft_sleep(0), 0);
    CHECK_EQ(weft_usleep(2000), 0);
    CHECK_EQ(weft_nanosleep(&(struct timespec){0, 1000000}, NULL), 0);
    CHECK(weft_now() - start >= 3 * WEFT_MILLISECOND);
    struct timespec left = {0, 0};
    CHECK_EQ(weft_cancel(weft_self()), 0);
    CHECK_EQ(told(weft_nanosleep(&(struct timespec){100, 0}, &left)), -ECANCELED);
    CHECK(left.tv_sec > 50 && left.tv_sec <= 100);
    unsigned rest = weft_sleep(50);
    CHECK(rest > 0 && rest <= 50);
}
TEST(sleeping) { each_runtime(sleeps); }

/* --- operations under way --------------------------------------------------------------------- */

static void under_way(void *unused) {
    (void)unused;
    struct weft_io a, b, c;
    char got[2][8] = {"", ""};
    for (enum ends kind = 0; kind < ENDS; kind++) {
        int e[2], other[2];
        make_ends(kind, e);
        make_ends(kind, other);
        memset(got, 0, sizeof got);
        CHECK_EQ(weft_io_read(&a, e[0], got[0], 8), 0);
        CHECK_EQ(weft_io_read(&b, other[0], got[1], 8), 0);
        CHECK_EQ(weft_io_write(&c, other[1], "text", 4), 0);
        CHECK_EQ(weft_future_any((struct weft_future *[]){&a.future, &b.future}, 2), 1);
        CHECK_EQ(weft_io_wait(&b), 4);
        CHECK_EQ(weft_io_wait(&b), 4);
        CHECK_EQ(weft_io_wait(&c), 4);
        CHECK(!strcmp(got[1], "text"));
        CHECK_EQ(weft_io_cancel(&b), -EALREADY);
        CHECK_EQ(weft_future_wait_until(&a.future, NULL, weft_now() + WEFT_MILLISECOND), -ETIMEDOUT);
        CHECK_EQ(weft_io_cancel(&a), 0);
        CHECK_EQ(weft_io_wait(&a), -ECANCELED);
        CHECK_EQ(weft_io_cancel(&a), -EALREADY);
        CHECK_EQ(weft_io_poll(&a, e[0], POLLIN), 0);
        CHECK_EQ(weft_write(e[1], "x", 1), 1);
        CHECK_EQ(weft_io_wait(&a), POLLIN);
        CHECK_EQ(weft_io_read(&a, e[0], got[0], 8), 0);
        CHECK_EQ(weft_io_wait(&a), 1);
        CHECK_EQ(weft_io_close(&a, e[0]), 0);
        CHECK_EQ(weft_io_wait(&a), 0);
        CHECK_EQ(weft_io_read(&a, -1, got[0], 8), 0); /* the number may already be in use again */
        CHECK_EQ(weft_io_wait(&a), -EBADF);
        CHECK_EQ(weft_close(e[1]), 0);
        close_ends(other);
    }
}
TEST(operations_under_way) { each_runtime(under_way); }

static int pipes_broken;
static void on_sigpipe(int sig) { (void)sig, ADD(&pipes_broken, 1); }
static void sends_without_a_peer(void *unused) {
    (void)unused;
    struct weft_io io;
    int e[2];
    make_ends(LOCAL, e);
    CHECK_EQ(weft_close(e[0]), 0);
    signal(SIGPIPE, on_sigpipe);
    STORE(&pipes_broken, 0);
    CHECK_EQ(weft_io_send(&io, e[1], "x", 1, MSG_NOSIGNAL), 0);
    CHECK_EQ(weft_io_wait(&io), -EPIPE);
    CHECK_EQ(weft_io_send(&io, e[1], "x", 1, 0), 0);
    CHECK_EQ(weft_io_wait(&io), -EPIPE);
    CHECK_EQ(weft_io_write(&io, e[1], "x", 1), 0);
    CHECK_EQ(weft_io_wait(&io), -EPIPE);
    CHECK_EQ(weft_io_writev(&io, e[1], &(struct iovec){"x", 1}, 1), 0);
    CHECK_EQ(weft_io_wait(&io), -EPIPE);
    CHECK_EQ(LOAD(&pipes_broken), 0);
    CHECK_EQ(weft_close(e[1]), 0);
}
TEST(a_peer_that_has_gone_is_an_error_under_way) { each_runtime(sends_without_a_peer); }

static void files_under_way(void *unused) {
    (void)unused;
    enum { PIECES = 64, PIECE = 4096 };
    static struct weft_io io[PIECES];
    static char all[PIECES * PIECE], got[PIECES * PIECE];
    int file = make_file();
    for (size_t i = 0; i < sizeof all; i++) all[i] = (char)(i * 11 >> 4);
    for (size_t i = 0; i < PIECES; i++)
        CHECK_EQ(weft_io_pwrite(&io[i], file, all + i * PIECE, PIECE, (off_t)(i * PIECE)), 0);
    for (size_t i = 0; i < PIECES; i++) CHECK_EQ(weft_io_wait(&io[i]), PIECE);
    CHECK_EQ(weft_io_fsync(&io[0], file), 0);
    CHECK_EQ(weft_io_wait(&io[0]), 0);
    for (size_t i = 0; i < PIECES; i++)
        CHECK_EQ(weft_io_pread(&io[i], file, got + i * PIECE, PIECE, (off_t)(i * PIECE)), 0);
    for (size_t i = 0; i < PIECES; i++) CHECK_EQ(weft_io_wait(&io[i]), PIECE);
    CHECK(!memcmp(all, got, sizeof all));
    CHECK_EQ(weft_close(file), 0);
}
TEST(many_operations_at_once) { each_runtime(files_under_way); }

static void datagrams_under_way(void *unused) {
    (void)unused;
    for (int flags = 0; flags <= SOCK_NONBLOCK; flags += SOCK_NONBLOCK) {
        struct weft_io receive, send;
        struct sockaddr_in there, from = {0}, here;
        socklen_t size = sizeof there, length = sizeof from;
        char got[8] = "";
        int server = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | flags, 0);
        int client = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | flags, 0);
        there = here = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
        CHECK(!bind(server, (struct sockaddr *)&there, size) && !getsockname(server, (struct sockaddr *)&there, &size));
        CHECK(!bind(client, (struct sockaddr *)&here, size) && !getsockname(client, (struct sockaddr *)&here, &size));
        CHECK_EQ(weft_io_recvfrom(&receive, server, got, sizeof got, 0, (struct sockaddr *)&from, &length), 0);
        CHECK_EQ(weft_io_sendto(&send, client, "text", 4, 0, (struct sockaddr *)&there, size), 0);
        CHECK_EQ(weft_io_wait(&send), 4);
        CHECK_EQ(weft_io_wait(&receive), 4);
        CHECK(!strcmp(got, "text") && length == sizeof from && from.sin_port == here.sin_port);
        CHECK_EQ(weft_io_recvfrom(&receive, server, got, sizeof got, 0, NULL, NULL), 0);
        CHECK_EQ(weft_io_cancel(&receive), 0);
        CHECK_EQ(weft_io_wait(&receive), -ECANCELED);
        CHECK(!weft_close(server) && !weft_close(client));
    }
}
TEST(datagrams_and_their_addresses_under_way) { each_runtime(datagrams_under_way); }

static void sleeps_under_way(void *unused) {
    (void)unused;
    struct weft_io brief, lasting;
    uint64_t start = weft_now();
    CHECK_EQ(weft_io_sleep_for(&lasting, 1000 * WEFT_SECOND), 0);
    CHECK_EQ(weft_io_sleep_for(&brief, 2 * WEFT_MILLISECOND), 0);
    CHECK_EQ(weft_future_any((struct weft_future *[]){&lasting.future, &brief.future}, 2), 1);
    CHECK_EQ(weft_io_wait(&brief), 0);
    CHECK(weft_now() - start >= 2 * WEFT_MILLISECOND);
    CHECK_EQ(weft_io_cancel(&lasting), 0);
    CHECK_EQ(weft_io_wait(&lasting), -ECANCELED);
}
TEST(sleeping_under_way) { each_runtime(sleeps_under_way); }
