/* SPDX-License-Identifier: MIT */
/*
 * The engine without a ring. It makes an attempt at once. If the call would block, the fiber waits until the descriptor
 * is ready, and makes another attempt. If the kernel cannot report readiness, a thread of the pool makes the call.
 *
 * There is one exception: after a receive that emptied the socket, the next receive waits first. An attempt would
 * nearly always find no data, and would be one system call in four of a server.
 *
 * Connections that weft has made can be registered with the poller once, so that a wait needs no system call: see
 * edge.h.
 *
 * A request never affects a descriptor that was closed since the call began, even if the number is in use again: see
 * fd_generation.h. Only a close during the first attempt itself can go wrong, as it can between threads.
 */
#define _GNU_SOURCE
#include "io/blocking.h"
#include "io/edge.h"
#include "io/engine.h"
#include "io/fd_generation.h"
#include "io/readiness.h"
#include "io/waitpid.h"

/*
 * The result of a pending connect. `again` is the result of a second connect, made when the descriptor was ready. For
 * TCP it is the result of the first, too, and it leaves the socket in the state in which a blocking call would. After
 * getsockopt of SO_ERROR alone the socket would still be connecting, and the next connect would succeed again or fail
 * for another reason. Other sockets do not accept a second connect.
 */
static ssize_t connect_result(int fd, ssize_t again) {
    int err = 0;
    socklen_t size = sizeof err;
    if (again != -EISCONN && again != -EBADFD) return again;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &size) ? -errno : -err;
}

/* Waits a little, for events that the kernel does not report: the queue of a local socket has room, or more data has
 * arrived than before. Each wait is longer than the last. */
static int epoll_look_later(uint64_t *pause) {
    *pause = *pause ? *pause * 2 : 50 * WEFT_MICROSECOND;
    if (*pause > 10 * WEFT_MILLISECOND) *pause = 10 * WEFT_MILLISECOND;
    return weft_sleep_for(*pause);
}

/* Will the request probably have to wait, so that an attempt is useless? Sets *seen if the descriptor is registered for
 * edges. */
static bool most_likely_waits(const struct weft__request *r, uint32_t *seen) {
    if (!weft__request_takes_bytes(r)) return false;
    return weft__edge_is_on(r->fd) ? weft__edge_is_drained(r->fd, seen) : weft__fd_is_drained(r->fd);
}

/* Notes how a receive ended. all_there_was: it returned less than requested, so the socket is empty. */
static void note_received(const struct weft__request *r, bool all_there_was, uint32_t seen) {
    if (!weft__edge_is_on(r->fd))
        weft__fd_note_receive(r->fd, all_there_was);
    else if (all_there_was)
        weft__edge_set_drained(r->fd, seen);
}

/* A fiber that waited without an attempt was cancelled: it still takes data that has arrived. */
static WEFT_COLD ssize_t epoll_unless_at_once(const struct weft__request *r, uint64_t generation, ssize_t ended) {
    if (ended != -ECANCELED && ended != -ETIMEDOUT) return ended;
    ssize_t n = weft__request_attempt_first(r, generation);
    return n == -EAGAIN ? ended : n;
}

/* Waits until the next attempt can succeed. */
static int await_next(const struct weft__request *r, uint64_t generation, uint32_t seen) {
    struct weft__awaited at = {r->fd, 0};
    weft__request_poll_target(r, &at);
    bool tries = at.fd == r->fd && r->code != WEFT_IO_POLL; /* a POLL returns the reported events */
    return weft__readiness_await_again(
        &(struct weft__again){at.fd, at.events, generation, seen, tries, r->other, r->other_generation});
}

static ssize_t try_until_done(const struct weft__request *asked) {
    uint64_t pause = 0;
    uint64_t generation = weft__request_generation(asked);
    uint32_t seen = weft__edge_count_reports(asked->fd);
    struct weft__request own = *asked, *r = &own;
    own.generation = asked->fd >= 0 ? generation : 0; /* also for a thread of the pool */
    bool untried = most_likely_waits(r, &seen);
    ssize_t n = untried ? -EAGAIN : weft__request_attempt_first(r, asked->generation);
    for (bool under_way = false;;
         seen = weft__edge_count_reports(r->fd), n = weft__request_attempt_again(r, generation)) {
        if (n > 0 && weft__request_takes_bytes(r)) note_received(r, (size_t)n < r->size, seen);
        if (n == -EALREADY && r->code == WEFT_IO_CONNECT) n = -EINPROGRESS; /* pending since an earlier call */
        if (unlikely(under_way) && n != -EAGAIN && n != -EINPROGRESS) return connect_result(r->fd, n);
        if (likely(n != -EAGAIN && n != -EINPROGRESS)) return n == -ENOTSUP ? weft__blocking_run(r) : n;
        under_way = n == -EINPROGRESS;
        if (r->code == WEFT_IO_CONNECT && n == -EAGAIN) {
            int err = epoll_look_later(&pause);
            if (err) return err;
        } else {
            int ready = await_next(r, generation, seen);
            if (ready == -EPERM && r->code != WEFT_IO_POLL)
                return weft__blocking_run(r); /* a file that is not in memory */
            if (ready < 0) return untried ? epoll_unless_at_once(r, generation, ready) : ready;
            untried = false;
        }
        if (unlikely(weft__fd_generation_is_stale(r->fd, generation))) return -EBADF;
    }
}

/* Receives all requested bytes of a stream: takes what an attempt returned, and waits for the rest. */
static ssize_t receive_all(struct weft__request r) {
    size_t done = 0;
    uint64_t generation = weft__fd_generation_read(r.fd);
    for (;;) {
        ssize_t n = try_until_done(&r);
        if (n < 0) return done ? (ssize_t)done : n;
        done += (size_t)n;
        if (!n || (size_t)n >= r.size || !weft__request_is_stream(r.fd) ||
            weft__fd_generation_is_stale(r.fd, generation))
            return (ssize_t)done;
        r.memory = (char *)r.memory + n;
        r.size -= (size_t)n;
    }
}

/* Receives all requested bytes into several parts. The first attempt receives a message; the rest is received as bytes,
 * one part after the other. */
static ssize_t receive_all_parts(const struct weft__request *r) {
    const struct msghdr *m = r->memory;
    uint64_t generation = weft__fd_generation_read(r->fd);
    ssize_t n = try_until_done(r);
    if (n <= 0 || !weft__request_is_stream(r->fd)) return n;
    size_t skip = (size_t)n;
    for (size_t i = 0; i < m->msg_iovlen; i++) {
        struct iovec part = m->msg_iov[i];
        if (skip >= part.iov_len) {
            skip -= part.iov_len;
            continue;
        }
        struct weft__request rest = {.code = WEFT_IO_RECV,
                                     .fd = r->fd,
                                     .flags = r->flags,
                                     .memory = (char *)part.iov_base + skip,
                                     .size = part.iov_len - skip};
        ssize_t more = weft__fd_generation_is_stale(r->fd, generation) ? 0 : receive_all(rest);
        if (more > 0) n += more;
        if (more < (ssize_t)rest.size) break;
        skip = 0;
    }
    return n;
}

/* MSG_PEEK with MSG_WAITALL: waits until all bytes are there, or no more will come. */
static ssize_t peek_all(const struct weft__request *r) {
    uint64_t pause = 0;
    struct weft__request own = *r;
    own.generation = weft__request_generation(r);
    for (;;) {
        ssize_t n = weft__request_is_stale(&own) ? -EBADF : try_until_done(&own);
        if (n < 0 || !weft__request_is_stream(r->fd)) return n;
        size_t wanted = r->code == WEFT_IO_RECV
                            ? r->size
                            : weft__request_message_size(r->memory); /* valid: the kernel has read it */
        if ((size_t)n >= wanted) return n;
        bool ends = weft__readiness_poll(r->fd, POLLRDHUP) != 0;
        if (ends) return try_until_done(&own); /* some may have arrived before the end */
        int err = epoll_look_later(&pause);
        if (err) return n ? n : err;
    }
}

static ssize_t epoll_run(struct weft__fiber *me, const struct weft__request *r) {
    if (unlikely(weft__request_is_splice(r))) return weft__splice_run(&weft__engine_epoll, me, r);
    bool all = (r->flags & (MSG_WAITALL | MSG_PEEK)) == MSG_WAITALL;
    if (unlikely(weft__request_peeks_all(r))) return peek_all(r);
    if (unlikely(r->code == WEFT_IO_WAIT)) return weft__waitpid_run(r);
    if (unlikely(r->code == WEFT_IO_RECV && all)) return receive_all(*r);
    if (unlikely(r->code == WEFT_IO_RECVMSG && all && r->memory)) return receive_all_parts(r);
    ssize_t n = try_until_done(r);
    if (r->code == WEFT_IO_ACCEPT && n >= 0) weft__readiness_note_connection((int)n);
    if (r->code == WEFT_IO_CONNECT && !n) weft__readiness_note_connection(r->fd);
    return n;
}

static int epoll_start(struct weft__io *io) { return (void)io, -ENOTSUP; }

static ssize_t epoll_receive(struct weft__fiber *me, int fd, struct weft_lease *lease) {
    return (void)me, (void)fd, (void)lease, -ENOTSUP;
}

static int epoll_accept_all(struct weft__op *op, int flags) { return (void)op, (void)flags, -ENOTSUP; }

static int epoll_submit(const struct io_uring_sqe *entries, int *results, unsigned n) {
    return (void)entries, (void)results, (void)n, -ENOTSUP;
}

const struct weft__engine weft__engine_epoll = {"epoll", epoll_run,     epoll_start,      NULL,
                                                NULL,    epoll_receive, epoll_accept_all, epoll_submit};
