/* SPDX-License-Identifier: MIT */
/* Clusters that end while a request that was begun there is under way: it continues in another cluster. */
#define _GNU_SOURCE
#include "../state.h"
#include "io.h"

#include <linux/io_uring.h>

static struct weft_cluster create(void) {
    struct weft_cluster c;
    CHECK_EQ(weft_cluster_create(&c, &(struct weft_config){.workers = 2}), 0);
    return c;
}

/* Runs fn(arg) in a cluster of its own until it waits, moves it away and ends the cluster. */
static struct weft_fiber begun_elsewhere(void *(*fn)(void *), void *arg) {
    struct weft_cluster c = create();
    struct weft_fiber f = spawn_with(&(struct weft_attr){.cluster = c}, fn, arg);
    await_state(state_waits, f);
    CHECK_EQ(weft_cluster_move(f, (struct weft_cluster){0}), 0);
    CHECK_EQ(weft_cluster_destroy(c), 0);
    return f;
}

static void *reads(void *ends) {
    char got[8];
    CHECK_EQ(weft_read(*(int *)ends, got, sizeof got), 5);
    CHECK(!memcmp(got, "hello", 5));
    return NULL;
}
static void read_moves(void *unused) {
    (void)unused;
    for (enum ends kind = 0; kind < ENDS; kind++) {
        int ends[2];
        make_ends(kind, ends);
        struct weft_fiber f = begun_elsewhere(reads, ends);
        CHECK_EQ(weft_write(ends[1], "hello", 5), 5);
        join(f);
        close_ends(ends);
    }
}
TEST(a_read_goes_on_elsewhere) { each_runtime(read_moves); }

static void *reads_until_told(void *ends) {
    char got[8];
    return (void *)(intptr_t)told(weft_read(*(int *)ends, got, sizeof got));
}
static void told_afterwards(void *unused) {
    (void)unused;
    int ends[2];
    make_ends(LOCAL, ends);
    struct weft_fiber f = begun_elsewhere(reads_until_told, ends);
    CHECK_EQ(weft_cancel(f), 0);
    CHECK_EQ((intptr_t)join(f), -ECANCELED);
    f = begun_elsewhere(reads_until_told, ends);
    CHECK_EQ(weft_close(ends[0]), 0);
    CHECK_EQ((intptr_t)join(f), -EBADF);
    CHECK_EQ(weft_close(ends[1]), 0);
}
TEST(and_is_still_cancelled_or_closed) { each_runtime(told_afterwards); }

/* No fiber accepts, and the queue is full: the connect continues when there is room. */
static struct sockaddr_in address;
static void *connects(void *unused) {
    (void)unused;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK_EQ(weft_connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    CHECK_EQ(weft_send(fd, "hello", 5, 0), 5);
    CHECK_EQ(weft_close(fd), 0);
    return NULL;
}
static void connect_moves(void *unused) {
    (void)unused;
    enum { QUEUE = 1 };
    int listener, first[QUEUE + 1];
    char got[8];
    make_listener(&listener, &address, 0);
    CHECK(!listen(listener, QUEUE));
    for (int i = 0; i <= QUEUE; i++) {
        first[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        CHECK(!connect(first[i], (struct sockaddr *)&address, sizeof address));
    }
    struct weft_fiber f = begun_elsewhere(connects, NULL);
    for (int i = 0; i <= QUEUE + 1; i++) {
        int fd = weft_accept(listener, NULL, NULL);
        CHECK(fd >= 0);
        if (i > QUEUE) CHECK_EQ(weft_recv(fd, got, sizeof got, 0), 5);
        CHECK_EQ(weft_close(fd), 0);
    }
    join(f);
    for (int i = 0; i <= QUEUE; i++) CHECK(!close(first[i]));
    CHECK_EQ(weft_close(listener), 0);
}
TEST(a_connect_goes_on_elsewhere) { test_in_fiber(2, connect_moves, NULL); } /* it takes a second */

struct under_way {
    int ends[2];
    char got[8];
    struct weft_io io;
};
static void *begins(void *arg) {
    struct under_way *u = arg;
    CHECK_EQ(weft_io_read(&u->io, u->ends[0], u->got, sizeof u->got), 0);
    return NULL;
}
static void async_moves(void *unused) {
    (void)unused;
    for (int cancelled = 0; cancelled < 2; cancelled++) {
        struct under_way u;
        make_ends(TCP, u.ends);
        struct weft_cluster c = create();
        join(spawn_with(&(struct weft_attr){.cluster = c}, begins, &u));
        int err;
        while ((err = weft_cluster_destroy(c)) == -EBUSY) weft_yield(); /* without a ring a fiber of c makes the call */
        if (!strcmp(weft_io_engine(), "io_uring")) CHECK_EQ(err, 0);
        if (cancelled)
            CHECK_EQ(weft_io_cancel(&u.io), 0);
        else
            CHECK_EQ(weft_send(u.ends[1], "hello", 5, 0), 5);
        CHECK_EQ(weft_io_wait(&u.io), cancelled ? -ECANCELED : 5);
        close_ends(u.ends);
    }
}
TEST(what_is_under_way_goes_on_elsewhere) {
    if (!strcmp(engine_asked_for(), "epoll") || !strcmp(engine_asked_for(), "forbidden"))
        test_skip("a fiber of the cluster makes it: it cannot be destroyed");
    each_runtime(async_moves);
}

static struct weft_listener listener;
static void *accepts(void *unused) {
    (void)unused;
    int fd = weft_listener_accept(&listener);
    CHECK(fd >= 0);
    CHECK_EQ(weft_close(fd), 0);
    return NULL;
}
static void connect_once(void) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK_EQ(weft_connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    CHECK_EQ(weft_close(fd), 0);
}
static void listener_moves(void *unused) {
    (void)unused;
    int at;
    make_listener(&at, &address, 0);
    for (int round = 0; round < 4; round++) {
        CHECK_EQ(weft_listener_begin(&listener, at, 0), 0);
        struct weft_fiber f[3];
        for (int i = 0; i < 3; i++) f[i] = begun_elsewhere(accepts, NULL);
        for (int i = 0; i < 3; i++) connect_once();
        for (int i = 0; i < 3; i++) join(f[i]);
        CHECK_EQ(weft_listener_end(&listener), 0);
    }
    CHECK_EQ(weft_close(at), 0);
}
TEST(a_listener_goes_on_elsewhere) { each_runtime(listener_moves); }

static void *takes_a_lease(void *end) {
    struct weft_lease lease;
    CHECK_EQ(weft_recv_lease(*(int *)end, &lease), 5);
    CHECK(!memcmp(lease.data, "hello", 5));
    weft_lease_return(&lease);
    CHECK(!lease.data);
    return NULL;
}
static void *holds_a_lease(void *ends) {
    struct weft_lease lease;
    CHECK_EQ(weft_recv_lease(((int *)ends)[0], &lease), 5);
    weft_park();
    CHECK(!memcmp(lease.data, "hello", 5));
    weft_lease_return(&lease);
    return NULL;
}
static void leases_move(void *unused) {
    (void)unused;
    int ends[2];
    make_ends(TCP, ends);
    struct weft_fiber f = begun_elsewhere(takes_a_lease, &ends[0]); /* before it arrives, */
    CHECK_EQ(weft_send(ends[1], "hello", 5, 0), 5);
    join(f);
    CHECK_EQ(weft_send(ends[1], "hello", 5, 0), 5);
    struct weft_cluster c = create(); /* and while it is held */
    f = spawn_with(&(struct weft_attr){.cluster = c}, holds_a_lease, ends);
    char peeked;
    while (recv(ends[0], &peeked, 1, MSG_PEEK | MSG_DONTWAIT) == 1) weft_yield(); /* until it was received */
    await_state(state_waits, f);
    CHECK_EQ(weft_cluster_move(f, (struct weft_cluster){0}), 0);
    CHECK_EQ(weft_cluster_destroy(c), 0);
    CHECK_EQ(weft_unpark(f), 0);
    join(f);
    close_ends(ends);
}
TEST(memory_that_is_lent_stays) { each_runtime(leases_move); }

/* Only the code that made a chain can tell how much of it was done: it learns what was not done. */
static void *chains(void *ends) {
    struct io_uring_sqe e = {.opcode = IORING_OP_READ, .fd = *(int *)ends, .off = UINT64_MAX};
    char got[8];
    int result = 0;
    e.addr = (uintptr_t)got;
    e.len = sizeof got;
    CHECK_EQ(weft_uring(&e, &result, 1), 0);
    CHECK_EQ(result, -ECANCELED);
    return NULL;
}
static void chain_moves(void *unused) {
    (void)unused;
    int ends[2];
    make_ends(PIPE, ends);
    if (!strcmp(weft_io_engine(), "io_uring")) join(begun_elsewhere(chains, ends));
    close_ends(ends);
}
TEST(a_chain_is_cut_short) { each_runtime(chain_moves); }

/* Moved while it runs: it stays where it was until it waits. The same holds for fibers that it spawns. */
struct runner {
    int ends[2], started, go;
    struct weft_fiber child;
};
static void *runs(void *arg) {
    struct runner *r = arg;
    STORE(&r->started, 1);
    while (!LOAD(&r->go)) {
    }
    r->child = spawn(reads, r->ends);
    join(r->child);
    return NULL;
}
static void *destroys(void *cluster) {
    CHECK_EQ(weft_cluster_destroy(*(struct weft_cluster *)cluster), 0);
    return NULL;
}
static bool is_ending(struct weft_cluster c) { return weft_cluster_workers(c) == -ESRCH; }
static void children_move(void *unused) {
    (void)unused;
    struct runner r = {.go = 0};
    make_ends(PIPE, r.ends);
    struct weft_cluster c = create();
    struct weft_fiber f = spawn_with(&(struct weft_attr){.cluster = c}, runs, &r);
    await_yielding(&r.started, 1);
    CHECK_EQ(weft_cluster_move(f, (struct weft_cluster){0}), 0);
    pthread_t t = thread_start(destroys, &c);
    while (!is_ending(c)) weft_yield();
    STORE(&r.go, 1);
    thread_join(t);
    CHECK_EQ(weft_write(r.ends[1], "hello", 5), 5);
    join(f);
    close_ends(r.ends);
}
TEST(children_of_one_that_was_moved_are_not_lost) { each_runtime(children_move); }

/* Many moves at once, again and again. Each byte arrives. */
static void storm(void *unused) {
    (void)unused;
    enum { PIPES = 16, ROUNDS = 40 };
    int ends[PIPES][2];
    for (int i = 0; i < PIPES; i++) make_ends((enum ends)i % ENDS, ends[i]);
    for (int round = 0; round < ROUNDS; round++) {
        struct weft_cluster c = create();
        struct weft_fiber f[PIPES];
        for (int i = 0; i < PIPES; i++) f[i] = spawn_with(&(struct weft_attr){.cluster = c}, reads, ends[i]);
        for (int i = 0; i < PIPES; i++) {
            CHECK_EQ(weft_cluster_move(f[i], (struct weft_cluster){0}), 0);
            if (i % 2) CHECK_EQ(weft_write(ends[i][1], "hello", 5), 5);
        }
        CHECK_EQ(weft_cluster_destroy(c), 0);
        for (int i = 0; i < PIPES; i += 2) CHECK_EQ(weft_write(ends[i][1], "hello", 5), 5);
        for (int i = 0; i < PIPES; i++) join(f[i]);
    }
    for (int i = 0; i < PIPES; i++) close_ends(ends[i]);
}
TEST(none_is_lost) { each_runtime(storm); }
