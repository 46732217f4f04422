/* SPDX-License-Identifier: MIT */
/* Bytes through pipes and sockets: streams, readiness, a close during a wait, a plain call that blocks. */
#define _GNU_SOURCE
#include "io.h"

#include "../state.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

/* Both ends of a pipe or of a pair of sockets; [0] is for reading. */
static void open_ends(struct party *p, int ends[2]) {
    int flags = one_in(p, 2) ? O_NONBLOCK : 0;
    if (one_in(p, 2))
        OK(pipe2(ends, O_CLOEXEC | flags));
    else
        OK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | (flags ? SOCK_NONBLOCK : 0), 0, ends));
}

/* What role 0 opens, for all parties. */
struct ends {
    struct weft_latch open;
    int fd[2];
    unsigned bytes;
    _Atomic uint64_t waiter; /* the id of a fiber that is about to wait */
};

static bool make_ends(struct program *p, struct op *op) {
    struct ends *e = op->data;
    e->bytes = (unsigned)choose(p, choose(p, 4) ? 5000 : 200000);
    OK(weft_latch_init(&e->open, 1));
    return true;
}

static void ends_ready(struct party *p, struct ends *e) {
    if (p->role == 0) {
        open_ends(p, e->fd);
        OK(weft_latch_count_down(&e->open, 1));
    }
    OK(insist(p, wait_for_latch, &e->open));
}

/* --- a stream: role 0 writes and closes, role 1 reads to the end ------------------------------ */

enum { PIECE = 9000 };

static void run_stream(struct party *p) {
    struct ends *e = p->op->data;
    unsigned char *piece = malloc(PIECE);
    SO(piece);
    ends_ready(p, e);
    for (size_t place = 0; p->role || place < e->bytes;) {
        size_t size = 1 + below(p, PIECE);
        int n;
        if (p->role) {
            n = read_some(p, e->fd[0], piece, size);
            SO(n >= 0 && (size_t)n <= size);
            check_bytes(p->op, piece, place, (size_t)n);
            if (!n) WANT(place, e->bytes);
            if (!n) break;
        } else {
            if (size > e->bytes - place) size = e->bytes - place;
            fill_bytes(p->op, piece, place, size);
            n = write_some(p, e->fd[1], piece, size);
            SO(n > 0 && (size_t)n <= size);
        }
        place += (size_t)n;
        pause_a_bit(p);
    }
    close_file(e->fd[p->role ? 0 : 1]);
    free(piece);
}

/* --- readiness: role 0 writes a byte at a time, role 1 waits for each ------------------------- */

static int wait_until_ready(void *fd, uint64_t deadline) {
    int n = *(int *)fd;
    return deadline == AT_ONCE        ? weft_ready_try(n, POLLIN)
           : deadline == WEFT_FOREVER ? weft_ready(n, POLLIN)
                                      : weft_ready_until(n, POLLIN, deadline);
}
static int select_ready(void *fd, uint64_t deadline) {
    struct weft_case cases[] = {WEFT_CASE_READY(*(int *)fd, POLLIN), WEFT_CASE_FUTURE(NULL, NULL)};
    int done = deadline == AT_ONCE        ? weft_case_select_try(cases, 2)
               : deadline == WEFT_FOREVER ? weft_case_select(cases, 2)
                                          : weft_case_select_until(cases, 2, deadline);
    return done < 0 ? done : cases[0].result;
}
static int poll_ready(void *fd) {
    struct pollfd one = {*(int *)fd, POLLIN, 0};
    int n = weft_poll(&one, 1, -1);
    return n < 0 ? -errno : n == 0 ? -EAGAIN : one.revents;
}

static void await_byte(struct party *p, int fd) {
    int events;
    switch (below(p, 3)) {
    case 0: events = insist(p, wait_until_ready, &fd); break;
    case 1: events = insist(p, select_ready, &fd); break;
    default:
        do events = insist_on(p, poll_ready, &fd);
        while (is_thread(p->actor) && events == -EINTR);
    }
    SO(events > 0 && events & POLLIN);
}

static void run_ready(struct party *p) {
    struct ends *e = p->op->data;
    unsigned bytes = 1 + e->bytes % 20;
    ends_ready(p, e);
    for (unsigned i = 0; i < bytes; i++) {
        unsigned char byte = byte_at(p->op, i);
        if (p->role == 0) {
            WANT(write(e->fd[1], &byte, 1), 1);
        } else {
            await_byte(p, e->fd[0]);
            WANT(read(e->fd[0], &byte, 1), 1);
            WANT(byte, byte_at(p->op, i));
        }
        pause_a_bit(p);
    }
    close_file(e->fd[p->role ? 0 : 1]);
}

/* --- a close while another waits -------------------------------------------------------------- */

/* Role 0 waits for bytes that do not come. It waits in a shield, so that it waits only once. */
static void wait_in_vain(struct party *p, struct ends *e) {
    char byte;
    int fd = e->fd[0];
    bool reads = one_in(p, 2);
    atomic_store(&e->waiter, weft_self().id);
    int err = reads ? (weft_read(fd, &byte, 1) < 0 ? -errno : 0) : weft_ready(fd, POLLIN);
    WANT(err, -EBADF);
}

static bool make_close(struct program *p, struct op *op) { return !is_thread(op->actor[0]) && make_ends(p, op); }

static void run_close(struct party *p) {
    struct ends *e = p->op->data;
    struct weft_shield shield;
    ends_ready(p, e);
    OK(weft_shield_begin(&shield));
    if (p->role == 0) {
        wait_in_vain(p, e);
    } else {
        while (!atomic_load(&e->waiter)) OK(weft_sleep_for(20 * WEFT_MICROSECOND));
        await_state(state_waits, (struct weft_fiber){atomic_load(&e->waiter)});
        close_file(e->fd[0]);
        close_file(e->fd[1]);
    }
    OK(weft_shield_end(&shield));
}

/* --- a plain call that blocks the worker until the others have written ------------------------ */

static bool make_blocked(struct program *p, struct op *op) { return p->rescues && make_ends(p, op); }

static void run_blocked(struct party *p) {
    struct ends *e = p->op->data;
    char byte = 0;
    if (p->role == 0) {
        OK(pipe2(e->fd, O_CLOEXEC));
        OK(weft_latch_count_down(&e->open, 1));
        for (unsigned i = 1; i < p->op->parties; i++)
            while (read(e->fd[0], &byte, 1) != 1) WANT(errno, EINTR);
        OK(close(e->fd[0]));
        OK(close(e->fd[1]));
        return;
    }
    OK(insist(p, wait_for_latch, &e->open));
    pause_a_bit(p);
    WANT(write(e->fd[1], &byte, 1), 1);
}

static const struct kind kinds[] = {
    {"stream", 30, BY_THREADS, 2, 2, sizeof(struct ends), make_ends, run_stream, NULL},
    {"ready", 20, BY_THREADS, 2, 2, sizeof(struct ends), make_ends, run_ready, NULL},
    {"close", 20, BY_THREADS, 2, 2, sizeof(struct ends), make_close, run_close, NULL},
    {"blocked", 15, BY_THREADS | GREEDY, 2, 4, sizeof(struct ends), make_blocked, run_blocked, NULL},
    {0},
};
const struct family family_streams = {kinds, NULL, NULL};
