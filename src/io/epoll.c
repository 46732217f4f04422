/*
 * The engine without a ring. A request is tried at once; if it would have to wait, the fiber waits until
 * the descriptor is ready, and tries again; if that cannot be told, a thread of the pool makes the call.
 */
#define _GNU_SOURCE
#include "io/blocking.h"
#include "io/engine.h"
#include "io/readiness.h"

/* What came of a connection that was under way. */
static ssize_t connected(int fd) {
    int err = 0;
    socklen_t size = sizeof err;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &size)) return -errno;
    return -err;
}

static ssize_t run(struct weft__fiber *me, const struct weft__request *r) {
    (void)me;
    for (;;) {
        ssize_t n = weft__request_attempt(r);
        if (n != -EAGAIN && n != -EINPROGRESS) return n == -ENOTSUP ? weft__blocking_request(r) : n;
        int ready = weft__readiness_await(r->fd, weft__request_awaits(r));
        if (ready == -EPERM) return weft__blocking_request(r); /* a file that is not in memory */
        if (ready < 0) return ready;
        if (n == -EINPROGRESS) return connected(r->fd);
    }
}

static int start(struct weft__io *io) { return (void)io, -ENOTSUP; }

static void closes(int fd) { weft__readiness_closes(fd); }

static ssize_t receive(struct weft__fiber *me, int fd, struct weft_lease *lease) {
    return (void)me, (void)fd, (void)lease, -ENOTSUP;
}

static int accept_all(struct weft__op *op, int flags) { return (void)op, (void)flags, -ENOTSUP; }

static int submit(const struct io_uring_sqe *entries, int *results, unsigned n) {
    return (void)entries, (void)results, (void)n, -ENOTSUP;
}

const struct weft__engine weft__engine_epoll = {"epoll", run, start, NULL, closes, receive, accept_all, submit};
