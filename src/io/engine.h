/* SPDX-License-Identifier: MIT */
/*
 * The engine makes the requests of fibers. There are two engines with the same contract. The first request of a process
 * decides which is used (engine.c).
 *
 *   engine_uring.c    submits requests to the worker's ring (driver/uring.h)
 *   engine_epoll.c    makes the calls itself: at once if they do not block, otherwise when the descriptor is ready
 *                     (readiness.h), or on a thread of the pool (blocking.h)
 */
#ifndef WEFT_IO_ENGINE_H
#define WEFT_IO_ENGINE_H

#include "io/fd_generation.h"
#include "io/request.h"
#include "sched/core/self.h"

/* An operation in the background: the contents of a struct weft_io. */
struct weft__io;
struct weft__op;

struct weft__engine {
    const char *name;

    /* Makes the request for the calling fiber, which waits. Returns the result or a negative errno. */
    ssize_t (*run)(struct weft__fiber *me, const struct weft__request *r);

    /* Starts the request in the background; its future completes with it. 0, or -ENOTSUP: nothing was started, and a
     * fiber must make the request. */
    int (*start)(struct weft__io *io);
    void (*cancel)(struct weft__io *io);

    /* The descriptor is about to be closed, and its generation has changed already. Ends its pending requests with
     * -EBADF. NULL: waiters wait by readiness.h only. */
    void (*closes)(int fd);

    /* For servers; -ENOTSUP: not available. receive: receives into a buffer of the ring, which the lease then names.
     * accept_all: calls op->fn for each new connection, until an error. */
    ssize_t (*receive)(struct weft__fiber *me, int fd, struct weft_lease *lease);
    int (*accept_all)(struct weft__op *op, int flags);

    int (*submit)(const struct io_uring_sqe *entries, int *results, unsigned n);
};

extern const struct weft__engine weft__engine_uring, weft__engine_epoll;

const struct weft__engine *weft__engine(void);

/* The generation of the request's descriptor. */
static inline uint64_t weft__request_generation(const struct weft__request *r) {
    return likely(!r->generation) ? weft__fd_generation_read(r->fd) : r->generation;
}

/* Makes the first attempt. If the request was begun earlier (`begun` is not 0), the attempt must meet the file of that
 * time, as an attempt after a wait must. */
static inline ssize_t weft__request_attempt_first(const struct weft__request *r, uint64_t begun) {
    return likely(!begun) ? weft__request_attempt(r) : weft__request_attempt_again(r, begun);
}

/* Was a descriptor of the request closed since it was begun? */
static inline bool weft__request_is_stale(const struct weft__request *r) {
    return (r->generation && weft__fd_generation_is_stale(r->fd, r->generation)) ||
           (r->other_generation && weft__fd_generation_is_stale(r->other, r->other_generation));
}

/* The calling fiber; NULL: the caller is a thread or a timer's function. */
static inline struct weft__fiber *weft__io_current_fiber(void) {
    struct weft__worker *w = weft__self();
    return w ? load_rlx(&w->current) : NULL;
}

/* Runs a splice or sendfile. Its waits go through the engine. (splice.c) */
ssize_t weft__splice_run(const struct weft__engine *engine, struct weft__fiber *me, const struct weft__request *r);

/* For any caller: the engine makes a fiber's request, and a thread makes the call directly. Returns the result or a
 * negative errno. */
ssize_t weft__io_run(const struct weft__request *r);

#endif
