/* SPDX-License-Identifier: MIT */
/* Connections that weft has made itself: without a ring the poller reports each change only once (io/edge.h). */
#define _GNU_SOURCE
#include "../state.h"
#include "io.h"

#include <poll.h>
#include <sys/wait.h>

static struct sockaddr_in address;

static void *connects(void *unused) {
    (void)unused;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK_EQ(weft_connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    CHECK(!setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int)));
    return (void *)(intptr_t)fd;
}
static void make_connection(int ends[2]) {
    int listener;
    make_listener(&listener, &address, SOCK_NONBLOCK);
    struct weft_fiber f = spawn(connects, NULL);
    ends[0] = weft_accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    CHECK(ends[0] >= 0);
    ends[1] = (int)(intptr_t)join(f);
    CHECK_EQ(weft_close(listener), 0);
}

/* A receive that waits. */
struct receive {
    int fd;
    size_t room;
    ssize_t got;
    char bytes[64];
};
static void *receives(void *arg) {
    struct receive *r = arg;
    r->got = weft_recv(r->fd, r->bytes, r->room, 0);
    if (r->got < 0) r->got = -errno;
    return NULL;
}
static struct weft_fiber begin(struct receive *r, int fd, size_t room) {
    *r = (struct receive){.fd = fd, .room = room};
    struct weft_fiber f = spawn(receives, r);
    await_state(state_waits, f);
    return f;
}
static ssize_t end(struct weft_fiber f, struct receive *r) {
    join(f);
    return r->got;
}
/* Waits once, so that the socket is registered, and the last receive has emptied it. */
static void use(const int ends[2]) {
    struct receive r;
    for (int i = 0; i < 2; i++) {
        struct weft_fiber f = begin(&r, ends[0], sizeof r.bytes);
        CHECK_EQ(weft_send(ends[1], "hello", 5, 0), 5);
        CHECK_EQ(end(f, &r), 5);
    }
}

/* --- what may follow bytes that were received ----------------------------------------------------------- */

static void end_behind(void *unused) {
    (void)unused;
    for (int waits = 0; waits < 2; waits++) {
        int ends[2];
        struct receive r;
        make_connection(ends);
        use(ends);
        struct weft_fiber f;
        if (waits) f = begin(&r, ends[0], sizeof r.bytes);
        CHECK_EQ(send(ends[1], "bye", 3, MSG_MORE), 3); /* in one segment with the end */
        CHECK_EQ(shutdown(ends[1], SHUT_WR), 0);
        if (!waits) {
            r = (struct receive){.fd = ends[0], .room = sizeof r.bytes};
            f = spawn(receives, &r);
        }
        CHECK_EQ(end(f, &r), 3);
        CHECK_EQ(weft_recv(ends[0], r.bytes, sizeof r.bytes, 0), 0);
        CHECK_EQ(weft_recv(ends[0], r.bytes, sizeof r.bytes, 0), 0);
        close_ends(ends);
    }
}
TEST(the_end_is_seen_behind_the_last_bytes) { each_runtime(end_behind); }

static void urgent(void *unused) {
    (void)unused;
    int ends[2];
    char got[64];
    make_connection(ends);
    use(ends);
    CHECK_EQ(send(ends[1], "abc", 3, 0), 3);
    CHECK_EQ(send(ends[1], "d", 1, MSG_OOB), 1);
    CHECK_EQ(send(ends[1], "efg", 3, 0), 3);
    for (size_t n = 0; n < 6;) { /* the urgent byte is not in line */
        ssize_t more = weft_recv(ends[0], got + n, sizeof got - n, 0);
        CHECK(more > 0);
        n += (size_t)more;
    }
    CHECK(!memcmp(got, "abcefg", 6));
    close_ends(ends);
}
TEST(bytes_behind_an_urgent_one_are_received) { each_runtime(urgent); }

/* --- several readers --------------------------------------------------------------------------------------------- */

enum { READERS = 4, PIECES = 3000 };
static _Atomic size_t bytes_in;
static void *receives_all(void *fd) {
    char got[7];
    for (size_t room = 1;; room = room % sizeof got + 1) {
        ssize_t n = weft_recv(*(int *)fd, got, room, 0);
        CHECK(n >= 0);
        if (!n) return NULL;
        atomic_fetch_add(&bytes_in, (size_t)n);
    }
}
static void share(void *unused) {
    (void)unused;
    int ends[2];
    size_t out = 0;
    struct weft_fiber readers[READERS];
    make_connection(ends);
    atomic_store(&bytes_in, 0);
    for (int i = 0; i < READERS; i++) readers[i] = spawn(receives_all, &ends[0]);
    for (int i = 0; i < PIECES; i++) {
        size_t size = (size_t)i % 13 + 1;
        CHECK_EQ(weft_send(ends[1], "0123456789abcdef", size, 0), size);
        out += size;
        if (i % 16 == 0) /* all bytes must arrive, or a reader waits although there are bytes */
            while (atomic_load(&bytes_in) < out) weft_yield();
    }
    CHECK_EQ(weft_shutdown(ends[1], SHUT_WR), 0);
    for (int i = 0; i < READERS; i++) join(readers[i]);
    CHECK_EQ(atomic_load(&bytes_in), out);
    close_ends(ends);
}
TEST(readers_that_share_leave_nothing_behind) { each_runtime(share); }

static void level(void *unused) {
    (void)unused;
    int ends[2];
    char got[8];
    struct receive r;
    make_connection(ends);
    use(ends);
    CHECK_EQ(weft_ready_try(ends[0], POLLIN), -EAGAIN);
    struct weft_fiber f = begin(&r, ends[0], 2);
    CHECK_EQ(weft_ready_until(ends[0], POLLIN, weft_now() + WEFT_MILLISECOND), -ETIMEDOUT);
    CHECK_EQ(weft_send(ends[1], "hello", 5, 0), 5);
    CHECK_EQ(end(f, &r), 2);
    CHECK_EQ(weft_ready(ends[0], POLLIN), POLLIN); /* as long as there is some */
    CHECK_EQ(weft_ready(ends[0], POLLIN), POLLIN);
    CHECK_EQ(weft_recv(ends[0], got, sizeof got, 0), 3);
    CHECK_EQ(weft_ready_until(ends[0], POLLIN, weft_now() + WEFT_MILLISECOND), -ETIMEDOUT);
    use(ends);
    close_ends(ends);
}
TEST(readiness_is_reported_while_it_lasts) { each_runtime(level); }

/* --- numbers that are used again -------------------------------------------------------------- */

static void closed(void *unused) {
    (void)unused;
    int ends[2];
    struct receive r;
    make_connection(ends);
    use(ends);
    struct weft_fiber f = begin(&r, ends[0], sizeof r.bytes);
    CHECK_EQ(weft_close(ends[0]), 0);
    CHECK_EQ(end(f, &r), -EBADF);
    CHECK_EQ(weft_close(ends[1]), 0);
}
TEST(a_close_ends_the_wait) { each_runtime(closed); }

/* The file stays open under another number, and is still reported under its old number. */
static void doubled(void *unused) {
    (void)unused;
    int ends[2], next[2];
    struct receive r;
    make_connection(ends);
    use(ends);
    int other = dup(ends[0]), number = ends[0];
    CHECK_EQ(weft_close(ends[0]), 0);
    ends[0] = other;
    make_connection(next);
    if (next[0] != number && next[1] != number) CHECK(dup3(next[0], number, O_CLOEXEC) == number);
    struct weft_fiber f = begin(&r, next[0], sizeof r.bytes);
    use(ends);
    CHECK(state_waits(f)); /* events of the first file are not for this file */
    CHECK_EQ(weft_send(next[1], "mine", 4, 0), 4);
    CHECK_EQ(end(f, &r), 4);
    if (next[0] != number && next[1] != number) CHECK_EQ(weft_close(number), 0);
    close_ends(ends);
    close_ends(next);
}
TEST(a_file_under_another_number_does_not_disturb) { each_runtime(doubled); }

/* The number belongs to another file now, and weft was not told. This works once in a process: then weft no longer
 * relies on edges. */
static void closed_unseen(void *kind) {
    int ends[2], next[2];
    struct receive r;
    make_connection(ends);
    use(ends);
    make_ends(*(enum ends *)kind, next);
    CHECK_EQ(dup3(next[0], ends[0], O_CLOEXEC), ends[0]);
    struct weft_fiber f = begin(&r, ends[0], sizeof r.bytes);
    CHECK_EQ(write(next[1], "hello", 5), 5);
    CHECK_EQ(end(f, &r), 5);
    CHECK(!close(ends[0]) && !close(ends[1]));
    close_ends(next);
}
TEST(a_local_socket_that_got_the_number_unseen_is_watched) { test_in_fiber(2, closed_unseen, &(enum ends){LOCAL}); }
TEST(a_connection_that_got_the_number_unseen_is_watched) { test_in_fiber(1, closed_unseen, &(enum ends){TCP}); }

/* The C library closes the files, and weft uses the numbers again: weft notices. */
static void closed_by_library(void *unused) {
    (void)unused;
    for (int i = 0; i < 4; i++) {
        int ends[2];
        make_connection(ends);
        use(ends);
        CHECK(!close(ends[0]) && !close(ends[1]));
    }
}
TEST(numbers_that_the_library_has_closed_are_used_again) { each_runtime(closed_by_library); }

/* --- another runtime, another process --------------------------------------------------------- */

static int kept[2];
static int keeps(void *unused) {
    (void)unused;
    make_connection(kept);
    use(kept);
    return 0;
}
static int uses(void *unused) {
    (void)unused;
    use(kept);
    use((int[]){kept[1], kept[0]});
    return 0;
}
TEST(a_connection_outlives_the_runtime) {
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(weft_run(keeps, NULL, &(struct weft_config){.workers = 2}), 0);
        CHECK_EQ(weft_run(uses, NULL, &(struct weft_config){.workers = 1}), 0);
        pid_t child = fork();
        if (!child) {
            int err = weft_run(uses, NULL, &(struct weft_config){.workers = 2});
            _exit(err ? 1 : 0);
        }
        int status;
        CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
        CHECK_EQ(weft_run(uses, NULL, &(struct weft_config){.workers = 2}), 0);
        CHECK(!close(kept[0]) && !close(kept[1])); /* and the next files get the numbers */
    }
}

/* --- sending ---------------------------------------------------------------------------------- */

enum { MUCH = 4 << 20 };
static char much[MUCH];
static void *sends(void *fd) {
    CHECK_EQ(weft_send(*(int *)fd, much, MUCH, 0), MUCH);
    return NULL;
}
static void full(void *unused) {
    (void)unused;
    int ends[2];
    char got[8192];
    make_connection(ends);
    struct weft_fiber f[2] = {spawn(sends, &ends[1]), spawn(sends, &ends[1])};
    for (size_t n = 0; n < 2 * (size_t)MUCH;) {
        ssize_t more = weft_recv(ends[0], got, sizeof got, 0);
        CHECK(more > 0);
        n += (size_t)more;
    }
    join(f[0]);
    join(f[1]);
    close_ends(ends);
}
TEST(a_send_goes_on_when_there_is_room) { each_runtime(full); }
