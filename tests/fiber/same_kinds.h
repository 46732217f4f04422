/* SPDX-License-Identifier: MIT */
/*
 * Descriptors of all kinds, each in a certain state, for io_same.c. A kind is made anew for every call: the descriptor,
 * its other end if it has one, and whatever else the call needs. All are closed with weft_close, because weft stores
 * facts about a number, which must not outlive the file.
 */
#ifndef WEFT_TESTS_FIBER_SAME_KINDS_H
#define WEFT_TESTS_FIBER_SAME_KINDS_H

#include "io.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <termios.h>

struct made {
    int fd, peer;
    int more[8];                /* other descriptors that must stay open; -1: none */
    struct sockaddr_in address; /* where a socket listens or is bound */
};

struct kind {
    const char *name;
    void (*make)(struct made *m, int which);
    int which;
};

static inline void keep(struct made *m, int fd) {
    for (int i = 0; i < 8; i++)
        if (m->more[i] < 0) {
            m->more[i] = fd;
            return;
        }
    CHECK(false);
}

static inline void hang_up(struct made *m) {
    CHECK(!weft_close(m->peer));
    m->peer = -1;
}

/* --- files ------------------------------------------------------------------------------------------------ */

enum { FILE_PLAIN, FILE_APPEND, FILE_READ_ONLY, FILE_WRITE_ONLY, FILE_PATH };
static inline void make_stored(struct made *m, int which) {
    static const int flags[] = {O_RDWR, O_RDWR | O_APPEND, O_RDONLY, O_WRONLY, O_PATH};
    char name[SCRATCH_SIZE];
    int fd = mkostemp(scratch_name(name), O_CLOEXEC);
    CHECK(fd >= 0 && write(fd, "0123456789", 10) == 10 && !weft_close(fd));
    m->fd = open(name, flags[which] | O_CLOEXEC);
    CHECK(m->fd >= 0 && !unlink(name));
    if (which != FILE_PATH) CHECK(lseek(m->fd, 3, SEEK_SET) == 3);
}

enum { FILE_MOST = 14 };
static inline void make_near_limit(struct made *m, int position) {
    make_stored(m, FILE_PLAIN);
    CHECK(lseek(m->fd, position, SEEK_SET) == position);
}

static inline void make_directory(struct made *m, int which) {
    (void)which;
    m->fd = open("/proc/self/fdinfo", O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* in which nothing can be made */
    CHECK(m->fd >= 0);
}

enum { DEVICE_NULL, DEVICE_ZERO, DEVICE_FULL };
static inline void make_device(struct made *m, int which) {
    static const char *const names[] = {"/dev/null", "/dev/zero", "/dev/full"};
    m->fd = open(names[which], O_RDWR | O_CLOEXEC);
    CHECK(m->fd >= 0);
}

/* --- pipes and terminals ----------------------------------------------------------------------------------- */

enum { END_EMPTY, END_HAS, END_HUNG_UP, END_FULL };
static inline void make_pipe_to_read(struct made *m, int which) {
    int ends[2];
    CHECK(!pipe2(ends, O_CLOEXEC));
    if (which == END_HAS) CHECK(write(ends[1], "hello", 5) == 5);
    m->fd = ends[0];
    m->peer = ends[1];
    if (which == END_HUNG_UP) hang_up(m);
}
static inline void make_pipe_to_write(struct made *m, int which) {
    int ends[2];
    CHECK(!pipe2(ends, O_CLOEXEC));
    if (which == END_FULL) fill_up(ends);
    m->fd = ends[1];
    m->peer = ends[0];
    if (which == END_HUNG_UP) hang_up(m);
}
static inline void make_fifo(struct made *m, int which) {
    char name[SCRATCH_SIZE];
    int fd = mkostemp(scratch_name(name), O_CLOEXEC);
    CHECK(fd >= 0 && !weft_close(fd) && !unlink(name) && !mkfifo(name, 0600));
    m->fd = open(name, O_RDWR | O_CLOEXEC);
    m->peer = open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    CHECK(m->fd >= 0 && m->peer >= 0 && !unlink(name));
    if (which == END_HAS) CHECK(write(m->fd, "hello", 5) == 5);
}

enum { TERMINAL_MASTER, TERMINAL_SLAVE, TERMINAL_SLAVE_HAS };
static inline void make_terminal(struct made *m, int which) {
    struct termios raw;
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    CHECK(master >= 0 && !grantpt(master) && !unlockpt(master));
    char name[64];
    CHECK(!ptsname_r(master, name, sizeof name));
    int slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    CHECK(slave >= 0 && !tcgetattr(slave, &raw));
    cfmakeraw(&raw);
    CHECK(!tcsetattr(slave, TCSANOW, &raw));
    m->fd = which == TERMINAL_MASTER ? master : slave;
    keep(m, which == TERMINAL_MASTER ? slave : master); /* bytes arrive there at any time: nothing to compare */
    if (which == TERMINAL_SLAVE_HAS)
        CHECK(write(master, "hello", 5) == 5 && poll(&(struct pollfd){slave, POLLIN, 0}, 1, -1) == 1);
}

/* --- sockets ------------------------------------------------------------------------------------------------ */

static inline void make_pair(struct made *m, int type, int which) {
    int ends[2];
    CHECK(!socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends));
    if (which == END_HAS) CHECK(send(ends[1], "hello", 5, 0) == 5);
    m->fd = ends[0];
    m->peer = ends[1];
    if (which == END_HUNG_UP) hang_up(m);
}
static inline void make_stream(struct made *m, int which) { make_pair(m, SOCK_STREAM, which); }
static inline void make_datagrams(struct made *m, int which) { make_pair(m, SOCK_DGRAM, which); }
static inline void make_packets(struct made *m, int which) { make_pair(m, SOCK_SEQPACKET, which); }

static inline void make_connected(struct made *m, int which) {
    int ends[2];
    make_tcp(ends, 0);
    m->fd = ends[0];
    m->peer = ends[1];
    socklen_t size = sizeof m->address;
    CHECK(!getpeername(m->fd, (struct sockaddr *)&m->address, &size));
    if (which == END_HAS) CHECK(send(m->peer, "hello", 5, 0) == 5);
    if (which == END_FULL) {
        fill_up((int[2]){m->peer, m->fd});
        keep(m, m->peer); /* its reads differ from run to run */
        m->peer = -1;
    }
    if (which == END_HUNG_UP) {
        struct linger now = {1, 0};
        CHECK(!setsockopt(m->peer, SOL_SOCKET, SO_LINGER, &now, sizeof now));
        hang_up(m);
    }
}

enum { TCP_FRESH, TCP_LISTENS, TCP_LISTENS_HAS, TCP_CONNECTS, TCP_REFUSED };
static inline int tcp(int flags) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
    CHECK(fd >= 0);
    return fd;
}
/* A listener with a full queue: a connect gets no answer for a second. */
static inline void make_connecting(struct made *m) {
    int listener;
    make_listener(&listener, &m->address, 0);
    CHECK(!listen(listener, 0));
    keep(m, listener);
    for (int i = 0; i < 2; i++) {
        int fd = tcp(SOCK_NONBLOCK);
        connect(fd, (struct sockaddr *)&m->address, sizeof m->address);
        keep(m, fd);
    }
    m->fd = tcp(SOCK_NONBLOCK);
    CHECK(connect(m->fd, (struct sockaddr *)&m->address, sizeof m->address) && errno == EINPROGRESS);
    CHECK(!fcntl(m->fd, F_SETFL, fcntl(m->fd, F_GETFL) & ~O_NONBLOCK));
}
static inline void make_tcp_socket(struct made *m, int which) {
    if (which == TCP_CONNECTS) {
        make_connecting(m);
        return;
    }
    int listener;
    make_listener(&listener, &m->address, 0);
    if (which == TCP_REFUSED) {
        CHECK(!weft_close(listener));
        m->fd = tcp(SOCK_NONBLOCK);
        CHECK(connect(m->fd, (struct sockaddr *)&m->address, sizeof m->address));
        CHECK(!fcntl(m->fd, F_SETFL, fcntl(m->fd, F_GETFL) & ~O_NONBLOCK));
        return;
    }
    m->fd = which == TCP_FRESH ? tcp(0) : listener;
    if (which == TCP_FRESH) keep(m, listener);
    if (which != TCP_LISTENS_HAS) return;
    m->peer = tcp(0);
    CHECK(!connect(m->peer, (struct sockaddr *)&m->address, sizeof m->address));
}

enum { UDP_FRESH, UDP_CONNECTED, UDP_CONNECTED_HAS, UDP_REFUSED };
static inline void make_udp(struct made *m, int which) {
    socklen_t size = sizeof m->address;
    m->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    m->peer = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    m->address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    CHECK(m->fd >= 0 && m->peer >= 0 && !bind(m->peer, (struct sockaddr *)&m->address, size) &&
          !getsockname(m->peer, (struct sockaddr *)&m->address, &size));
    if (which == UDP_FRESH) return;
    CHECK(!connect(m->fd, (struct sockaddr *)&m->address, size));
    if (which == UDP_CONNECTED_HAS) {
        struct sockaddr_in own;
        CHECK(!getsockname(m->fd, (struct sockaddr *)&own, &size) &&
              sendto(m->peer, "hello", 5, 0, (struct sockaddr *)&own, size) == 5);
    }
    if (which == UDP_REFUSED) {
        hang_up(m);
        CHECK(send(m->fd, "x", 1, 0) == 1); /* its error comes at once on this machine's own network */
    }
}

/* --- others --------------------------------------------------------------------------------------------------- */

enum { EVENT_NONE, EVENT_SOME, EVENT_FULL, TIMER_OFF, TIMER_DUE, SIGNALS, EPOLL, INOTIFY };
static inline void make_anonymous(struct made *m, int which) {
    const struct itimerspec due = {.it_value = {.tv_nsec = 1}};
    sigset_t none;
    sigemptyset(&none);
    sigaddset(&none, SIGUSR2);
    switch (which) {
    case EVENT_NONE:
    case EVENT_SOME: m->fd = eventfd(which == EVENT_SOME ? 3 : 0, EFD_CLOEXEC); break;
    case EVENT_FULL:
        m->fd = eventfd(0, EFD_CLOEXEC);
        CHECK(write(m->fd, &(uint64_t){UINT64_MAX - 1}, 8) == 8);
        break;
    case TIMER_OFF:
    case TIMER_DUE:
        m->fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
        if (which == TIMER_DUE)
            CHECK(!timerfd_settime(m->fd, 0, &due, NULL) && poll(&(struct pollfd){m->fd, POLLIN, 0}, 1, -1) == 1);
        break;
    case SIGNALS: m->fd = signalfd(-1, &none, SFD_CLOEXEC); break;
    case EPOLL: m->fd = epoll_create1(EPOLL_CLOEXEC); break;
    default: m->fd = inotify_init1(IN_CLOEXEC); break;
    }
    CHECK(m->fd >= 0);
}

/* A number that no open gets meanwhile. */
enum { NUMBER_CLOSED, NUMBER_NONE, NUMBER_LARGE };
static inline void make_number(struct made *m, int which) {
    static const int numbers[] = {1019, -1, 1 << 30};
    m->fd = numbers[which];
}

static const struct kind kinds[] = {
    {"file", make_stored, FILE_PLAIN},
    {"append file", make_stored, FILE_APPEND},
    {"read-only file", make_stored, FILE_READ_ONLY},
    {"write-only file", make_stored, FILE_WRITE_ONLY},
    {"O_PATH", make_stored, FILE_PATH},
    {"directory", make_directory, 0},
    {"/dev/null", make_device, DEVICE_NULL},
    {"/dev/zero", make_device, DEVICE_ZERO},
    {"/dev/full", make_device, DEVICE_FULL},
    {"empty pipe", make_pipe_to_read, END_EMPTY},
    {"pipe", make_pipe_to_read, END_HAS},
    {"pipe without writers", make_pipe_to_read, END_HUNG_UP},
    {"pipe to write", make_pipe_to_write, END_EMPTY},
    {"full pipe to write", make_pipe_to_write, END_FULL},
    {"pipe without readers", make_pipe_to_write, END_HUNG_UP},
    {"empty FIFO", make_fifo, END_EMPTY},
    {"FIFO", make_fifo, END_HAS},
    {"terminal's master", make_terminal, TERMINAL_MASTER},
    {"terminal", make_terminal, TERMINAL_SLAVE},
    {"terminal with bytes", make_terminal, TERMINAL_SLAVE_HAS},
    {"empty local stream", make_stream, END_EMPTY},
    {"local stream", make_stream, END_HAS},
    {"local stream that hung up", make_stream, END_HUNG_UP},
    {"empty datagrams", make_datagrams, END_EMPTY},
    {"datagrams", make_datagrams, END_HAS},
    {"datagrams that hung up", make_datagrams, END_HUNG_UP},
    {"empty packets", make_packets, END_EMPTY},
    {"packets", make_packets, END_HAS},
    {"packets that hung up", make_packets, END_HUNG_UP},
    {"fresh TCP", make_tcp_socket, TCP_FRESH},
    {"listening TCP", make_tcp_socket, TCP_LISTENS},
    {"listening TCP with a client", make_tcp_socket, TCP_LISTENS_HAS},
    {"connecting TCP", make_tcp_socket, TCP_CONNECTS},
    {"refused TCP", make_tcp_socket, TCP_REFUSED},
    {"empty TCP", make_connected, END_EMPTY},
    {"TCP", make_connected, END_HAS},
    {"full TCP", make_connected, END_FULL},
    {"TCP that was reset", make_connected, END_HUNG_UP},
    {"fresh UDP", make_udp, UDP_FRESH},
    {"UDP", make_udp, UDP_CONNECTED},
    {"UDP with a datagram", make_udp, UDP_CONNECTED_HAS},
    {"refused UDP", make_udp, UDP_REFUSED},
    {"eventfd of 0", make_anonymous, EVENT_NONE},
    {"eventfd of 3", make_anonymous, EVENT_SOME},
    {"full eventfd", make_anonymous, EVENT_FULL},
    {"timerfd", make_anonymous, TIMER_OFF},
    {"due timerfd", make_anonymous, TIMER_DUE},
    {"signalfd", make_anonymous, SIGNALS},
    {"epoll", make_anonymous, EPOLL},
    {"inotify", make_anonymous, INOTIFY},
    {"closed number", make_number, NUMBER_CLOSED},
    {"-1", make_number, NUMBER_NONE},
    {"2^30", make_number, NUMBER_LARGE},
};
static const struct kind kinds_at_limit[] = {
    {"file near its limit", make_near_limit, FILE_MOST - 4},   {"file at its limit", make_near_limit, FILE_MOST},
    {"file beyond its limit", make_near_limit, FILE_MOST + 4}, {"append file", make_stored, FILE_APPEND},
    {"pipe to write", make_pipe_to_write, END_EMPTY},
};
enum { KINDS = sizeof kinds / sizeof *kinds, KINDS_AT_LIMIT = sizeof kinds_at_limit / sizeof *kinds_at_limit };

static inline void make_kind(const struct kind *k, struct made *m) {
    *m = (struct made){.fd = -1, .peer = -1, .more = {-1, -1, -1, -1, -1, -1, -1, -1}};
    k->make(m, k->which);
}

static inline void end_kind(struct made *m) {
    if (m->fd >= 0) weft_close(m->fd);
    if (m->peer >= 0) weft_close(m->peer);
    for (int i = 0; i < 8; i++)
        if (m->more[i] >= 0) weft_close(m->more[i]);
}

#endif
