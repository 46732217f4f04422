/* SPDX-License-Identifier: MIT */
/* Sockets: datagrams, accepting and connecting, many at once. */
#define _GNU_SOURCE
#include "../state.h"
#include "io.h"

#include <sys/resource.h>

/* --- datagrams ------------------------------------------------------------------------------------------------- */

static struct sockaddr_in server_address;
static void *echoes_datagrams(void *fd) {
    char got[2000];
    for (;;) {
        struct sockaddr_in from;
        socklen_t size = sizeof from;
        ssize_t n = weft_recvfrom(*(int *)fd, got, sizeof got, 0, (struct sockaddr *)&from, &size);
        CHECK(n >= 0 && size == sizeof from);
        CHECK_EQ(weft_sendto(*(int *)fd, got, (size_t)n, 0, (struct sockaddr *)&from, size), n);
        if (!n) return NULL;
    }
}
static void datagrams(void *unused) {
    (void)unused;
    for (int flags = 0; flags <= SOCK_NONBLOCK; flags += SOCK_NONBLOCK) {
        socklen_t size = sizeof server_address;
        int server = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | flags, 0);
        int client = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | flags, 0);
        server_address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
        CHECK(!bind(server, (struct sockaddr *)&server_address, size) &&
              !getsockname(server, (struct sockaddr *)&server_address, &size));
        struct weft_fiber f = spawn(echoes_datagrams, &server);
        char sent[1000], got[1000];
        for (int i = 0; i < 100; i++) {
            memset(sent, i, sizeof sent);
            size_t n = (size_t)i * 9 + 1;
            CHECK_EQ(weft_sendto(client, sent, n, 0, (struct sockaddr *)&server_address, size), n);
            CHECK_EQ(weft_recv(client, got, sizeof got, 0), n); /* one of them, and whole */
            CHECK(!memcmp(sent, got, n));
        }
        CHECK_EQ(weft_connect(client, (struct sockaddr *)&server_address, size), 0);
        CHECK_EQ(weft_send(client, "xyz", 3, 0), 3);
        CHECK_EQ(weft_recv(client, got, 2, MSG_TRUNC), 3); /* how long it was */
        CHECK_EQ(weft_send(client, "", 0, 0), 0);
        CHECK_EQ(weft_recv(client, got, 1, MSG_WAITALL), 0);
        join(f);
        CHECK(!weft_close(server) && !weft_close(client));
    }
}
TEST(datagrams_are_whole) { each_runtime(datagrams); }

/* --- accepting and connecting ------------------------------------------------------------------------------------ */

static void *serves_one(void *fd) {
    char c;
    for (ssize_t n; (n = weft_recv((int)(intptr_t)fd, &c, 1, 0)) > 0;)
        CHECK_EQ(weft_send((int)(intptr_t)fd, &c, 1, 0), 1);
    CHECK_EQ(weft_close((int)(intptr_t)fd), 0);
    return NULL;
}
static void *accepts(void *fd) {
    for (;;) {
        struct sockaddr_in from;
        socklen_t size = sizeof from;
        int got = weft_accept4(*(int *)fd, (struct sockaddr *)&from, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (got < 0) return (void *)(intptr_t)errno;
        CHECK(size == sizeof from && from.sin_family == AF_INET);
        CHECK(fcntl(got, F_GETFD) & FD_CLOEXEC && fcntl(got, F_GETFL) & O_NONBLOCK);
        spawn_detached(serves_one, (void *)(intptr_t)got);
    }
}
static void *connects(void *address) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0);
    CHECK_EQ(weft_connect(fd, address, sizeof(struct sockaddr_in)), 0);
    CHECK(!(fcntl(fd, F_GETFL) & O_NONBLOCK));
    for (char i = 0; i < 5; i++) {
        char c = 0;
        CHECK_EQ(weft_send(fd, &i, 1, 0), 1);
        CHECK_EQ(weft_recv(fd, &c, 1, 0), 1);
        CHECK_EQ(c, i);
    }
    CHECK_EQ(weft_close(fd), 0);
    return NULL;
}
static void clients_and_servers(void *unused) {
    (void)unused;
    enum { CLIENTS = 40, ACCEPTORS = 3 };
    for (int flags = 0; flags <= SOCK_NONBLOCK; flags += SOCK_NONBLOCK) {
        struct weft_fiber f[CLIENTS], a[ACCEPTORS];
        struct sockaddr_in address;
        int listener;
        make_listener(&listener, &address, flags);
        int before = fcntl(listener, F_GETFL);
        for (int i = 0; i < ACCEPTORS; i++) a[i] = spawn(accepts, &listener);
        for (int i = 0; i < CLIENTS; i++) f[i] = spawn(connects, &address);
        for (int i = 0; i < CLIENTS; i++) join(f[i]);
        CHECK_EQ(fcntl(listener, F_GETFL), before);
        CHECK_EQ(weft_close(listener), 0);
        for (int i = 0; i < ACCEPTORS; i++) CHECK_EQ((intptr_t)join(a[i]), EBADF);
    }
}
TEST(clients_of_a_server) { each_runtime(clients_and_servers); }

static void refused(void *unused) {
    (void)unused;
    struct sockaddr_in address;
    int listener;
    make_listener(&listener, &address, 0);
    CHECK(!close(listener));
    for (int flags = 0; flags <= SOCK_NONBLOCK; flags += SOCK_NONBLOCK) {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
        CHECK_EQ(told(weft_connect(fd, (struct sockaddr *)&address, sizeof address)), -ECONNREFUSED);
        CHECK_EQ(weft_close(fd), 0);
    }
}
TEST(without_a_listener) { each_runtime(refused); }

/* --- many ------------------------------------------------------------------------------------- */

enum { MANY = 1000 };
static int pairs[MANY][2];
static void *echoes(void *fd) {
    char got[64];
    for (ssize_t n; (n = weft_recv(*(int *)fd, got, sizeof got, 0)) > 0;)
        CHECK_EQ(weft_send(*(int *)fd, got, (size_t)n, 0), n);
    return NULL;
}
static void many(void *unused) {
    (void)unused;
    static struct weft_fiber f[MANY];
    unsigned n = (unsigned)test_fibers(MANY);
    struct rlimit most;
    CHECK(!getrlimit(RLIMIT_NOFILE, &most));
    most.rlim_cur = most.rlim_max;
    CHECK(!setrlimit(RLIMIT_NOFILE, &most));
    if (most.rlim_cur < 2 * MANY + 100) n = (unsigned)(most.rlim_cur - 100) / 2;
    for (unsigned i = 0; i < n; i++) {
        make_ends(i % 2 ? LOCAL : LOCAL_NONBLOCKING, pairs[i]);
        f[i] = spawn(echoes, &pairs[i][0]);
    }
    for (int round = 0; round < 3; round++) {
        for (unsigned i = 0; i < n; i++) CHECK_EQ(weft_send(pairs[i][1], &i, sizeof i, 0), sizeof i);
        for (unsigned i = 0, got; i < n; i++) {
            CHECK_EQ(weft_recv(pairs[i][1], &got, sizeof got, MSG_WAITALL), sizeof got);
            CHECK_EQ(got, i);
        }
    }
    for (unsigned i = 0; i < n; i++) CHECK_EQ(weft_close(pairs[i][1]), 0);
    for (unsigned i = 0; i < n; i++) join(f[i]);
    for (unsigned i = 0; i < n; i++) CHECK_EQ(weft_close(pairs[i][0]), 0);
}
TEST(a_thousand_at_once) { each_runtime(many); }

/* --- calls that do not wait, whether there is data or not ------------------------------------- */

static void not_waited_for(void *unused) {
    (void)unused;
    int e[2], listener, local = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address;
    struct sockaddr_un nowhere = {.sun_family = AF_UNIX}; /* the kernel chooses a name */
    struct weft_io io;
    struct weft_lease lease;
    char c = 0;
    struct msghdr message = {.msg_iov = &(struct iovec){&c, 1}, .msg_iovlen = 1};
    make_ends(TCP, e);
    CHECK_EQ(told(weft_recv(e[0], &c, 1, MSG_OOB)), -EINVAL);
    CHECK_EQ(told(weft_recvmsg(e[0], &message, MSG_OOB)), -EINVAL);
    CHECK_EQ(told(weft_recv(e[0], &c, 1, MSG_ERRQUEUE)), -EAGAIN);
    CHECK_EQ(told(weft_recvmsg(e[0], &message, MSG_ERRQUEUE)), -EAGAIN);
    CHECK_EQ(weft_io_recv(&io, e[0], &c, 1, MSG_OOB), 0);
    CHECK_EQ(weft_io_wait(&io), -EINVAL);
    CHECK_EQ(weft_io_recvmsg(&io, e[0], &message, MSG_ERRQUEUE), 0);
    CHECK_EQ(weft_io_wait(&io), -EAGAIN);
    CHECK_EQ(weft_send(e[1], "!", 1, MSG_OOB), 1);
    CHECK(weft_ready(e[0], POLLPRI) > 0);
    CHECK_EQ(weft_recv(e[0], &c, 1, MSG_OOB), 1);
    CHECK_EQ(c, '!');
    make_listener(&listener, &address, 0);
    CHECK_EQ(told(weft_recv(listener, &c, 1, 0)), -ENOTCONN);
    CHECK_EQ(weft_recv_lease(listener, &lease), -ENOTCONN);
    CHECK_EQ(weft_io_recv(&io, listener, &c, 1, 0), 0);
    CHECK_EQ(weft_io_wait(&io), -ENOTCONN);
    CHECK(!bind(local, (struct sockaddr *)&nowhere, sizeof nowhere.sun_family) && !listen(local, 1));
    CHECK_EQ(told(weft_recv(local, &c, 1, 0)), -EINVAL);
    close_ends(e);
    CHECK(!weft_close(listener) && !weft_close(local));
}
TEST(what_is_never_waited_for) { each_runtime(not_waited_for); }

/* --- MSG_WAITALL and MSG_PEEK ----------------------------------------------------------------- */

static void *peeks(void *fd) {
    char got[8] = "";
    ssize_t n = weft_recv(*(int *)fd, got, sizeof got, MSG_PEEK | MSG_WAITALL);
    CHECK(n <= 0 || !memcmp(got, "01234567", (size_t)n));
    return (void *)(intptr_t)told(n);
}
static void *peeks_rest(void *fd) {
    char got[8];
    return (void *)(intptr_t)told(weft_recv(*(int *)fd, got, sizeof got, MSG_PEEK | MSG_WAITALL));
}
static void peeks_all(void *unused) {
    (void)unused;
    for (enum ends kind = LOCAL; kind < ENDS; kind++) {
        int e[2];
        char got[4], rest[8];
        struct iovec parts[2] = {{got, 4}, {rest, 4}};
        make_ends(kind, e);
        CHECK_EQ(weft_send(e[1], "0123", 4, 0), 4);
        struct weft_fiber f = spawn(peeks, &e[0]);
        await_state(state_waits, f);
        CHECK_EQ(weft_send(e[1], "4567", 4, 0), 4);
        CHECK_EQ((intptr_t)join(f), 8);
        CHECK_EQ(weft_recvmsg(e[0], &(struct msghdr){.msg_iov = parts, .msg_iovlen = 2}, MSG_PEEK | MSG_WAITALL), 8);
        CHECK(!memcmp(got, "0123", 4) && !memcmp(rest, "4567", 4));
        CHECK_EQ(weft_recv(e[0], rest, 5, MSG_WAITALL), 5);
        f = spawn(peeks_rest, &e[0]);
        await_state(state_waits, f);
        CHECK_EQ(weft_shutdown(e[1], SHUT_WR), 0); /* no more will come */
        CHECK_EQ((intptr_t)join(f), 3);
        close_ends(e);
    }
}
TEST(what_is_looked_at_is_all_there_and_stays) { each_runtime(peeks_all); }

/* --- a listener that is in use ---------------------------------------------------------------- */

static void *asks(void *listener) { return (void *)(intptr_t)weft_listener_accept(listener); }
static void in_use(void *unused) {
    (void)unused;
    struct sockaddr_in address;
    struct weft_listener l;
    int listener;
    make_listener(&listener, &address, 0);
    CHECK_EQ(weft_listener_begin(&l, listener, SOCK_CLOEXEC), 0);
    struct weft_fiber f = spawn(asks, &l);
    await_state(state_waits, f);
    CHECK_EQ(weft_listener_end(&l), -EBUSY);
    CHECK_EQ(weft_cancel(f), 0);
    CHECK_EQ((intptr_t)join(f), -ECANCELED);
    CHECK_EQ(weft_listener_end(&l), 0);
    CHECK_EQ(weft_close(listener), 0);
}
TEST(a_listener_in_use_stays) { each_runtime(in_use); }

/* --- newcomers beside connections that are busy ------------------------------------------------------------------ */

enum { BUSY = 100, NEWCOMERS = 500, TURNS_MOST = 20 };
static unsigned turns[BUSY];
static bool came;
static void *plays(void *arg) {
    unsigned i = (unsigned)(intptr_t)arg;
    for (char c = 'c'; !LOAD(&came); STORE(&turns[i], turns[i] + 1)) {
        CHECK_EQ(weft_send(pairs[i][0], &c, 1, 0), 1);
        CHECK_EQ(weft_recv(pairs[i][0], &c, 1, 0), 1);
    }
    CHECK_EQ(weft_shutdown(pairs[i][0], SHUT_WR), 0);
    return NULL;
}
static void *accepts_newcomers(void *fd) {
    for (int i = 0; i < NEWCOMERS; i++) {
        int got = weft_accept(*(int *)fd, NULL, NULL);
        CHECK(got >= 0 && !close(got));
    }
    return NULL;
}
static void *accepts_from_listener(void *fd) {
    struct weft_listener l;
    CHECK_EQ(weft_listener_begin(&l, *(int *)fd, SOCK_CLOEXEC), 0);
    for (int i = 0; i < NEWCOMERS; i++) {
        int got = weft_listener_accept(&l);
        CHECK(got >= 0 && !close(got));
    }
    CHECK_EQ(weft_listener_end(&l), 0);
    return NULL;
}
/* All connections are in the kernel's queue when the first is accepted. */
static void connect_newcomers(const struct sockaddr_in *address) {
    for (int i = 0; i < NEWCOMERS; i++) {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        CHECK(fd >= 0 && !connect(fd, (const struct sockaddr *)address, sizeof *address) && !close(fd));
    }
}
/* A fiber that accepts does not wait for a turn of each busy connection in between. */
static void beside_busy_ones(void *(*fn)(void *), int flags) {
    struct weft_fiber f[BUSY], g[BUSY];
    struct sockaddr_in address;
    int listener;
    unsigned most = 0;
    make_listener(&listener, &address, flags);
    STORE(&came, false);
    for (int i = 0; i < BUSY; i++) {
        make_ends(LOCAL, pairs[i]);
        turns[i] = 0;
        f[i] = spawn(echoes, &pairs[i][1]);
        g[i] = spawn(plays, (void *)(intptr_t)i);
    }
    weft_sleep_for(5 * WEFT_MILLISECOND);
    connect_newcomers(&address);
    for (int i = 0; i < BUSY; i++) STORE(&turns[i], 0);
    join(spawn(fn, &listener));
    for (int i = 0; i < BUSY; i++)
        if (LOAD(&turns[i]) > most) most = LOAD(&turns[i]);
    STORE(&came, true);
    for (int i = 0; i < BUSY; i++) join(g[i]), join(f[i]), close_ends(pairs[i]);
    CHECK_EQ(weft_close(listener), 0);
    if (most > TURNS_MOST) test_fail(__FILE__, __LINE__, "%u turns of another meanwhile", most);
}
static void newcomers(void *unused) {
    (void)unused;
    for (int flags = 0; flags <= SOCK_NONBLOCK; flags += SOCK_NONBLOCK) {
        beside_busy_ones(accepts_newcomers, flags);
        beside_busy_ones(accepts_from_listener, flags);
    }
}
TEST(newcomers_beside_busy_connections) {
    no_rescue();
    test_in_fiber(1, newcomers, NULL);
}
