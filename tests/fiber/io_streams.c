/* SPDX-License-Identifier: MIT */
/* Pipes and sockets, blocking and non-blocking: all bytes arrive in order; ends of streams, and peers that vanish. */
#define _GNU_SOURCE
#include "io.h"

#include <signal.h>
#include <stdio.h>
#include <termios.h>

/* --- what comes out ------------------------------------------------------------------------------------------ */

static enum ends kind;
static void *reads(void *fd) {
    char got[16] = "";
    ssize_t n = weft_read(*(int *)fd, got, sizeof got);
    CHECK_EQ(n, 5);
    CHECK(!strcmp(got, "hello"));
    return NULL;
}
static void waits_for_bytes(void *unused) {
    (void)unused;
    for (kind = 0; kind < ENDS; kind++) {
        int e[2];
        make_ends(kind, e);
        int flags = fcntl(e[0], F_GETFL);
        struct weft_fiber f = spawn(reads, &e[0]);
        let_it_wait();
        CHECK_EQ(weft_write(e[1], "hello", 5), 5);
        join(f);
        CHECK_EQ(fcntl(e[0], F_GETFL), flags); /* the flags are unchanged */
        CHECK_EQ(weft_write(e[1], "hello", 5), 5);
        reads(&e[0]); /* without a wait */
        CHECK_EQ(weft_read(e[0], NULL, 0), 0);
        CHECK_EQ(weft_close(e[1]), 0);
        char c;
        CHECK_EQ(weft_read(e[0], &c, 1), 0); /* the end */
        CHECK_EQ(weft_close(e[0]), 0);
    }
}
TEST(a_read_waits) { each_runtime(waits_for_bytes); }

/* --- much: more than any buffer ------------------------------------------------------------------------------- */

enum { MUCH = 3000000 };
static unsigned char at(size_t i) { return (unsigned char)(i * 7 + i / 251); }

static void *reads_much(void *fd) {
    static unsigned char got[MUCH];
    size_t done = 0, size = test_size(MUCH);
    for (ssize_t n; (n = weft_read(*(int *)fd, got + done, done % 2 ? 1000 : 70000)) != 0; done += (size_t)n) {
        CHECK(n > 0);
        if (done % 5 == 0) weft_yield();
    }
    CHECK_EQ(done, size);
    for (size_t i = 0; i < size; i++)
        if (got[i] != at(i)) CHECK_EQ(i, -1);
    return NULL;
}
static void much(void *unused) {
    (void)unused;
    static unsigned char all[MUCH];
    size_t size = test_size(MUCH);
    for (size_t i = 0; i < MUCH; i++) all[i] = at(i);
    for (kind = 0; kind < ENDS; kind++) {
        for (int way = 0; way < 3; way++) {
            int e[2];
            make_ends(kind, e);
            if (kind >= LOCAL) CHECK(!setsockopt(e[1], SOL_SOCKET, SO_SNDBUF, &(int){4096}, sizeof(int)));
            struct weft_fiber f = spawn(reads_much, &e[0]);
            struct iovec parts[3] = {{all, 10}, {all + 10, size / 3}, {all + 10 + size / 3, size - 10 - size / 3}};
            if (way == 0) CHECK_EQ(weft_write(e[1], all, size), size); /* in one piece, and all of it */
            if (way == 1) CHECK_EQ(weft_writev(e[1], parts, 3), size);
            if (way == 2 && kind < LOCAL) CHECK_EQ(weft_writev(e[1], parts, 3), size);
            if (way == 2 && kind >= LOCAL)
                CHECK_EQ(weft_sendmsg(e[1], &(struct msghdr){.msg_iov = parts, .msg_iovlen = 3}, 0), size);
            CHECK_EQ(weft_close(e[1]), 0);
            join(f);
            CHECK_EQ(weft_close(e[0]), 0);
        }
    }
}
TEST(a_write_writes_all) { each_runtime(much); }

/* --- receiving all ---------------------------------------------------------------------------- */

static void *sends_slowly(void *fd) {
    for (int i = 0; i < 10; i++) {
        CHECK_EQ(weft_send(*(int *)fd, &"0123456789"[i], 1, 0), 1);
        weft_sleep_for(WEFT_MILLISECOND);
    }
    CHECK_EQ(weft_shutdown(*(int *)fd, SHUT_WR), 0);
    return NULL;
}
static void all_of_it(void *unused) {
    (void)unused;
    for (kind = LOCAL; kind < ENDS; kind++) {
        for (int way = 0; way < 3; way++) {
            int e[2];
            char got[16] = "", more[16] = "";
            make_ends(kind, e);
            struct weft_fiber f = spawn(sends_slowly, &e[1]);
            struct iovec parts[2] = {{got, 4}, {got + 4, 6}};
            if (way == 0) CHECK_EQ(weft_recv(e[0], got, 10, MSG_WAITALL), 10);
            if (way == 1)
                CHECK_EQ(weft_recvmsg(e[0], &(struct msghdr){.msg_iov = parts, .msg_iovlen = 2}, MSG_WAITALL), 10);
            if (way == 2) CHECK_EQ(weft_recvfrom(e[0], got, 16, MSG_WAITALL, NULL, NULL), 10); /* until the end */
            CHECK(!strcmp(got, "0123456789"));
            CHECK_EQ(weft_recv(e[0], more, 1, MSG_WAITALL), 0);
            join(f);
            close_ends(e);
        }
    }
}
TEST(waitall_waits_for_all) { each_runtime(all_of_it); }

static void dont_wait(void *unused) {
    (void)unused;
    int e[2];
    char c;
    make_ends(LOCAL, e);
    CHECK_EQ(told(weft_recv(e[0], &c, 1, MSG_DONTWAIT)), -EAGAIN);
    CHECK_EQ(weft_send(e[1], "x", 1, MSG_DONTWAIT), 1);
    CHECK_EQ(weft_recv(e[0], &c, 1, MSG_PEEK), 1);
    CHECK_EQ(weft_recv(e[0], &c, 1, MSG_DONTWAIT), 1);
    close_ends(e);
}
TEST(nonblocking_calls_do_not_wait) { each_runtime(dont_wait); }

/* --- peers that vanish ------------------------------------------------------------------------------------------- */

static void *reads_until_reset(void *fd) {
    char c;
    CHECK_EQ(told(weft_read(*(int *)fd, &c, 1)), -ECONNRESET);
    return NULL;
}
static void resets(void *unused) {
    (void)unused;
    signal(SIGPIPE, SIG_IGN);
    for (kind = TCP; kind <= TCP_NONBLOCKING; kind++) {
        int e[2];
        make_ends(kind, e);
        struct weft_fiber f = spawn(reads_until_reset, &e[0]);
        let_it_wait();
        struct linger now = {1, 0};
        CHECK(!setsockopt(e[1], SOL_SOCKET, SO_LINGER, &now, sizeof now));
        CHECK_EQ(weft_close(e[1]), 0);
        join(f);
        CHECK_EQ(told(weft_write(e[0], "x", 1)), -EPIPE);
        CHECK_EQ(told(weft_send(e[0], "x", 1, MSG_NOSIGNAL)), -EPIPE);
        CHECK_EQ(weft_close(e[0]), 0);
    }
}
TEST(a_reset_ends_a_read) { each_runtime(resets); }

static int pipes_broken;
static void on_sigpipe(int sig) { (void)sig, ADD(&pipes_broken, 1); }
static void breaks(void *unused) {
    (void)unused;
    signal(SIGPIPE, on_sigpipe);
    for (kind = 0; kind <= LOCAL_NONBLOCKING; kind++) {
        int e[2];
        make_ends(kind, e);
        CHECK_EQ(weft_close(e[0]), 0);
        STORE(&pipes_broken, 0);
        bool is_pipe = kind == PIPE || kind == PIPE_NONBLOCKING;
        CHECK_EQ(told(weft_write(e[1], "x", 1)), -EPIPE);
        CHECK_EQ(told(weft_writev(e[1], &(struct iovec){"x", 1}, 1)), -EPIPE);
        if (is_pipe) test_await(&pipes_broken, 2);
        if (!is_pipe) {
            int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), pipe_ends[2];
            off_t at = 0;
            CHECK_EQ(told(weft_send(e[1], "x", 1, 0)), -EPIPE);
            CHECK_EQ(told(weft_sendfile(e[1], file, &at, 1)), -EPIPE);
            make_ends(PIPE, pipe_ends);
            CHECK_EQ(weft_write(pipe_ends[1], "x", 1), 1);
            CHECK_EQ(told(weft_splice(pipe_ends[0], NULL, e[1], NULL, 1, 0)), -EPIPE);
            CHECK_EQ(LOAD(&pipes_broken), 0);
            close_ends(pipe_ends);
            close(file);
        }
        CHECK_EQ(weft_close(e[1]), 0);
    }
}
TEST(only_pipes_raise_a_signal_when_they_are_broken) { each_runtime(breaks); }

/* --- two at one end --------------------------------------------------------------------------------------------- */

static int taken;
static void *takes_some(void *fd) {
    char c;
    for (ssize_t n; (n = weft_read(*(int *)fd, &c, 1)) != 0;) {
        CHECK_EQ(n, 1);
        ADD(&taken, 1);
    }
    return NULL;
}
static void shared(void *unused) {
    (void)unused;
    for (kind = 0; kind < ENDS; kind++) {
        int e[2];
        struct weft_fiber f[4];
        taken = 0;
        make_ends(kind, e);
        for (int i = 0; i < 4; i++) f[i] = spawn(takes_some, &e[0]);
        for (int i = 0; i < 100; i++) {
            CHECK_EQ(weft_write(e[1], "xyz", 3), 3);
            if (i % 7 == 0) weft_yield();
        }
        CHECK_EQ(weft_close(e[1]), 0);
        for (int i = 0; i < 4; i++) join(f[i]);
        CHECK_EQ(taken, 300);
        CHECK_EQ(weft_close(e[0]), 0);
    }
}
TEST(several_read_one_end) { each_runtime(shared); }

/* --- devices ---------------------------------------------------------------------------------- */

/* Each write to the kernel's log is a record, as each reply of a file system is: it must arrive whole, in one write.
 * The log may drop a record or show it later, but it never shows a part of a record. */
static void records(void *unused) {
    (void)unused;
    enum { SIZE = 600 };
    char text[SIZE + 1] = "<7>", got[4096], mark[64];
    int log = open("/dev/kmsg", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (log < 0 || lseek(log, 0, SEEK_END) < 0) test_skip("no log of the kernel here");
    int length = snprintf(mark, sizeof mark, "weft %d %lld ", (int)getpid(), (long long)weft_now());
    for (int i = 3; i < SIZE; i++) text[i] = mark[(i - 3) % length];
    text[SIZE] = 0;
    for (int way = 0; way < 3; way++) {
        struct weft_io io;
        struct iovec parts[3] = {{text, 40}, {text + 40, 300}, {text + 340, SIZE - 340}};
        if (way == 0) CHECK_EQ(weft_write(log, text, SIZE), SIZE);
        if (way == 1) CHECK_EQ(weft_writev(log, parts, 3), SIZE);
        if (way == 2) CHECK_EQ(weft_io_writev(&io, log, parts, 3), 0);
        if (way == 2) CHECK_EQ(weft_io_wait(&io), SIZE);
    }
    for (ssize_t n; (n = read(log, got, sizeof got - 1)) > 0 || errno == EPIPE;) {
        if (n < 0) continue; /* some were dropped */
        got[n] = 0;
        if (strstr(got, mark)) CHECK(strstr(got, text + 3));
    }
    CHECK_EQ(weft_close(log), 0);
}
TEST(a_record_for_a_device_is_in_one_piece) { test_in_fiber(2, records, NULL); }

/* --- terminals -------------------------------------------------------------------------------- */

static void *types(void *fd) {
    weft_sleep_for(3 * WEFT_MILLISECOND);
    CHECK_EQ(weft_write(*(int *)fd, "line\n", 5), 5);
    return NULL;
}
static void terminal(void *unused) {
    (void)unused;
    char got[64];
    int keyboard = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (keyboard < 0 || grantpt(keyboard) || unlockpt(keyboard)) test_skip("no terminals here");
    int screen = open(ptsname(keyboard), O_RDWR | O_NOCTTY | O_CLOEXEC);
    CHECK(screen >= 0);
    struct weft_fiber f = spawn(types, &keyboard);
    CHECK_EQ(weft_read(screen, got, sizeof got), 5);
    CHECK(!memcmp(got, "line\n", 5));
    join(f);
    CHECK_EQ(weft_write(screen, "answer", 6), 6);
    CHECK(weft_read(keyboard, got, sizeof got) > 0);
    CHECK(!weft_close(screen) && !weft_close(keyboard));
}
TEST(terminals) { each_runtime(terminal); }

/* Several fibers write lines in several parts. No line contains a part of another. */
enum { LINES = 100, LINE = 30, TYPISTS = 4 };
static int screen_of_all;
static void *writes_lines(void *letter) {
    char line[LINE];
    memset(line, *(char *)letter, LINE - 1);
    line[LINE - 1] = '\n';
    for (int i = 0; i < LINES; i++) {
        struct iovec parts[3] = {{line, 1}, {line + 1, 20}, {line + 21, LINE - 21}};
        CHECK_EQ(weft_writev(screen_of_all, parts, 3), LINE);
    }
    return NULL;
}
static void lines(void *unused) {
    (void)unused;
    static char got[TYPISTS * LINES * LINE];
    struct termios t;
    struct weft_fiber f[TYPISTS];
    int keyboard = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (keyboard < 0 || grantpt(keyboard) || unlockpt(keyboard)) test_skip("no terminals here");
    screen_of_all = open(ptsname(keyboard), O_RDWR | O_NOCTTY | O_CLOEXEC);
    CHECK(screen_of_all >= 0 && !tcgetattr(screen_of_all, &t));
    cfmakeraw(&t);
    CHECK(!tcsetattr(screen_of_all, TCSANOW, &t));
    for (int i = 0; i < TYPISTS; i++) f[i] = spawn(writes_lines, &"abcd"[i]);
    for (size_t done = 0; done < sizeof got;) {
        ssize_t n = weft_read(keyboard, got + done, sizeof got - done);
        CHECK(n > 0);
        done += (size_t)n;
    }
    for (int i = 0; i < TYPISTS; i++) join(f[i]);
    for (size_t i = 0; i < sizeof got; i++) CHECK_EQ(got[i], i % LINE == LINE - 1 ? '\n' : got[i - i % LINE]);
    CHECK(!weft_close(screen_of_all) && !weft_close(keyboard));
}
TEST(lines_for_a_terminal_are_in_one_piece) { each_runtime(lines); }
