/*
 * The engine without a ring. A request is tried at once; if it would have to wait, the fiber waits until
 * the descriptor is ready, and tries again; if that cannot be told, a thread of the pool makes the call.
 *
 * Only a receive after one that has drained the socket does not try first: that nearly always finds nothing, and would
 * be one call in four of a server.
 *
 * Nothing is done for a descriptor that was closed since the call began, even if its number is in use again: see
 * known.h. What remains is the moment of the first attempt itself, as between threads.
 */
#define _GNU_SOURCE
#include "io/blocking.h"
#include "io/children.h"
#include "io/engine.h"
#include "io/known.h"
#include "io/readiness.h"

/*
 * What came of a connection that was under way, by a call that was made when the descriptor was ready. Of TCP it is the
 * result; and the socket is left as by a call that has waited: a getsockopt of SO_ERROR alone would leave it
 * connecting, so that the next connect succeeds once more, or fails for a reason of its own. Others do not take a
 * second call.
 */
static ssize_t connected(int fd, ssize_t again) {
    int err = 0;
    socklen_t size = sizeof err;
    if (again != -EISCONN && again != -EBADFD) return again;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &size) ? -errno : -err;
}

/* Nobody tells when there is room in a local socket's queue, or when there is more than was there: so we look again,
 * less and less often. */
static int look_later(uint64_t *pause) {
    *pause = *pause ? *pause * 2 : 50 * WEFT_MICROSECOND;
    if (*pause > 10 * WEFT_MILLISECOND) *pause = 10 * WEFT_MILLISECOND;
    return weft_sleep_for(*pause);
}

static bool most_likely_waits(const struct weft__request *r) {
    return r->code == WEFT_IO_RECV && r->size && weft__known_is_drained(r->fd);
}

/* A wait was cancelled that no attempt has come before: what is there is taken all the same. */
static WEFT_COLD ssize_t unless_at_once(const struct weft__request *r, uint32_t life, ssize_t ended) {
    if (ended != -ECANCELED && ended != -ETIMEDOUT) return ended;
    ssize_t n = weft__request_first(r, life);
    return n == -EAGAIN ? ended : n;
}

static ssize_t try_until_done(const struct weft__request *asked) {
    uint64_t pause = 0;
    struct weft__awaited at = {asked->fd, 0};
    uint32_t life = weft__request_life(asked);
    struct weft__request own = *asked, *r = &own;
    own.life = asked->fd >= 0 ? life : 0; /* also for a thread of the pool */
    bool untried = most_likely_waits(r);
    ssize_t n = untried ? -EAGAIN : weft__request_first(r, asked->life);
    for (bool under_way = false;; n = weft__request_again(r, life)) {
        if (n == -EALREADY && r->code == WEFT_IO_CONNECT) n = -EINPROGRESS; /* since a call before this one */
        if (unlikely(under_way) && n != -EAGAIN && n != -EINPROGRESS) return connected(r->fd, n);
        if (likely(n != -EAGAIN && n != -EINPROGRESS)) return n == -ENOTSUP ? weft__blocking_request(r) : n;
        under_way = n == -EINPROGRESS;
        if (r->code == WEFT_IO_CONNECT && n == -EAGAIN) {
            int err = look_later(&pause);
            if (err) return err;
        } else {
            weft__request_waits_at(r, &at);
            int ready = r->other_life ? weft__readiness_await_of_two(at.fd, at.events, life, r->other, r->other_life)
                                      : weft__readiness_await(at.fd, at.events, life);
            if (ready == -EPERM && r->code != WEFT_IO_POLL)
                return weft__blocking_request(r); /* a file, not in memory */
            if (ready < 0) return untried ? unless_at_once(r, life, ready) : ready;
            untried = false;
        }
        if (unlikely(weft__known_other(r->fd, life))) return -EBADF;
    }
}

/* A stream, of which all is wanted: what an attempt brought is taken, and the rest is waited for. */
static ssize_t receive_all(struct weft__request r) {
    size_t done = 0;
    uint32_t life = weft__known_life(r.fd);
    for (;;) {
        ssize_t n = try_until_done(&r);
        if (n < 0) return done ? (ssize_t)done : n;
        done += (size_t)n;
        if (!n || (size_t)n >= r.size || !weft__request_is_stream(r.fd) || weft__known_other(r.fd, life))
            return (ssize_t)done;
        r.memory = (char *)r.memory + n;
        r.size -= (size_t)n;
    }
}

/* The first attempt fills in whatever belongs to a message; the rest is bytes, part after part. */
static ssize_t receive_all_parts(const struct weft__request *r) {
    const struct msghdr *m = r->memory;
    uint32_t life = weft__known_life(r->fd);
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
        ssize_t more = weft__known_other(r->fd, life) ? 0 : receive_all(rest);
        if (more > 0) n += more;
        if (more < (ssize_t)rest.size) break;
        skip = 0;
    }
    return n;
}

/* All of it is to be there, and to stay there. Until then, or until no more will come. */
static ssize_t peek_all(const struct weft__request *r) {
    uint64_t pause = 0;
    struct weft__request own = *r;
    own.life = weft__request_life(r);
    for (;;) {
        ssize_t n = weft__request_is_late(&own) ? -EBADF : try_until_done(&own);
        if (n < 0 || !weft__request_is_stream(r->fd)) return n;
        size_t wanted = r->code == WEFT_IO_RECV ? r->size : weft__request_room(r->memory); /* the kernel has read it */
        if ((size_t)n >= wanted) return n;
        bool ends = weft__readiness_look(r->fd, POLLRDHUP) != 0;
        if (ends) return try_until_done(&own); /* perhaps some came before the end */
        int err = look_later(&pause);
        if (err) return n ? n : err;
    }
}

static ssize_t run(struct weft__fiber *me, const struct weft__request *r) {
    if (unlikely(weft__request_moves(r))) return weft__move_run(&weft__engine_epoll, me, r);
    bool all = (r->flags & (MSG_WAITALL | MSG_PEEK)) == MSG_WAITALL;
    if (unlikely(weft__request_peeks_all(r))) return peek_all(r);
    if (unlikely(r->code == WEFT_IO_WAIT)) return weft__children_wait(r);
    if (unlikely(r->code == WEFT_IO_RECV && all)) return receive_all(*r);
    if (unlikely(r->code == WEFT_IO_RECVMSG && all && r->memory)) return receive_all_parts(r);
    ssize_t n = try_until_done(r);
    if (r->code == WEFT_IO_RECV && n > 0 && !(r->flags & MSG_PEEK)) weft__known_received(r->fd, (size_t)n < r->size);
    return n;
}

static int start(struct weft__io *io) { return (void)io, -ENOTSUP; }

static ssize_t receive(struct weft__fiber *me, int fd, struct weft_lease *lease) {
    return (void)me, (void)fd, (void)lease, -ENOTSUP;
}

static int accept_all(struct weft__op *op, int flags) { return (void)op, (void)flags, -ENOTSUP; }

static int submit(const struct io_uring_sqe *entries, int *results, unsigned n) {
    return (void)entries, (void)results, (void)n, -ENOTSUP;
}

const struct weft__engine weft__engine_epoll = {"epoll", run, start, NULL, NULL, receive, accept_all, submit};
