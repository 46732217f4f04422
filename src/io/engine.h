/*
 * The engine: who makes a fiber's requests. There are two, with the same contract; which one it is
 * is decided once a process, when the first request is made (engine.c).
 *
 *   uring.c    hands them to the ring of the worker (driver/ring.h)
 *   epoll.c    makes them itself: at once if they do not block, else when the descriptor is ready
 *              (readiness.h), or on a thread of the pool (blocking.h)
 */
#ifndef WEFT_IO_ENGINE_H
#define WEFT_IO_ENGINE_H

#include "io/known.h"
#include "io/request.h"
#include "sched/sched.h"

/* An operation under way: what is in a struct weft_io. */
struct weft__io;
struct weft__op;

struct weft__engine {
    const char *name;

    /* Makes the request for the calling fiber, which waits: the result or a negative errno. */
    ssize_t (*run)(struct weft__fiber *me, const struct weft__request *r);

    /* The same under way; the future is done when it is. 0, or -ENOTSUP: nothing was begun, and a
     * fiber is to make it. */
    int (*start)(struct weft__io *io);
    void (*cancel)(struct weft__io *io);

    /* The descriptor is about to be closed, and has another life already: ends what is under way for it, with -EBADF.
     * NULL: whoever waits does so by readiness.h. */
    void (*closes)(int fd);

    /* For servers; -ENOTSUP: it has no such thing. Receives into memory of the ring, which the lease then names; calls
     * op->fn with each connection that comes, until it fails. */
    ssize_t (*receive)(struct weft__fiber *me, int fd, struct weft_lease *lease);
    int (*accept_all)(struct weft__op *op, int flags);

    int (*submit)(const struct io_uring_sqe *entries, int *results, unsigned n);
};

extern const struct weft__engine weft__engine_uring, weft__engine_epoll;

const struct weft__engine *weft__engine(void);

/* The life of the descriptor that the request is about. */
static inline uint32_t weft__request_life(const struct weft__request *r) {
    return likely(!r->life) ? weft__known_life(r->fd) : r->life;
}

/* The first attempt. What was begun earlier is about what was there then, like an attempt after a wait. */
static inline ssize_t weft__request_first(const struct weft__request *r, uint32_t begun) {
    return likely(!begun) ? weft__request_attempt(r) : weft__request_again(r, begun);
}

/* Is a descriptor of it another one by now? */
static inline bool weft__request_is_late(const struct weft__request *r) {
    return (r->life && weft__known_other(r->fd, r->life)) ||
           (r->other_life && weft__known_other(r->other, r->other_life));
}

/* The calling fiber; NULL: it is none, or a timer's function. */
static inline struct weft__fiber *weft__io_fiber(void) {
    struct weft__worker *w = weft__self();
    return w ? load_rlx(&w->current) : NULL;
}

/* A request that moves bytes, for an engine: its waits are that engine's. (move.c) */
ssize_t weft__move_run(const struct weft__engine *engine, struct weft__fiber *me, const struct weft__request *r);

/* For any caller: a fiber's goes to the engine, a thread makes the call. The result or a negative errno. */
ssize_t weft__io_run(const struct weft__request *r);

#endif
