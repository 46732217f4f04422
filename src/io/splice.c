/* SPDX-License-Identifier: MIT */
/*
 * Splice and sendfile: bytes move between two descriptors. Either may have to be waited for, and either may be closed
 * meanwhile. So both generations are checked in each wait and each attempt after a wait.
 *
 * An attempt never waits for a descriptor (nonblocking.c). If one of the two is a file, a thread of the pool makes the
 * call when the other is ready. So the thread waits only for the disk, and a fiber that waits for a descriptor can be
 * cancelled.
 */
#define _GNU_SOURCE
#include "io/blocking.h"
#include "io/engine.h"

#include <fcntl.h>

/* Makes an attempt after a wait, or for a request that was begun earlier. See weft__request_attempt_again. */
static ssize_t splice_again(const struct weft__request *r) {
    if (!weft__fd_hold(r->other, r->other_generation)) return -EBADF;
    ssize_t n = weft__request_attempt_again(r, r->generation);
    weft__fd_release(r->other);
    return n;
}

/* Waits until the descriptor that the next attempt needs is ready. Returns the events or a negative errno. */
static ssize_t splice_wait(const struct weft__engine *engine, struct weft__fiber *me, const struct weft__request *r) {
    struct weft__awaited at;
    weft__request_poll_target(r, &at);
    struct weft__request poll = {.code = WEFT_IO_POLL, .fd = at.fd, .flags = (uint16_t)at.events};
    bool is_out = at.fd == r->fd;
    poll.generation = is_out ? r->generation : r->other_generation;
    poll.other = is_out ? r->other : r->fd;
    poll.other_generation = is_out ? r->other_generation : r->generation;
    return engine->run(me, &poll);
}

ssize_t weft__splice_run(const struct weft__engine *engine, struct weft__fiber *me, const struct weft__request *asked) {
    struct weft__request r = *asked;
    r.generation = weft__request_generation(asked);
    if (!r.other_generation) r.other_generation = weft__fd_generation_read(r.other);
    if (r.code == WEFT_IO_SPLICE) r.flags |= SPLICE_F_NONBLOCK; /* also for the thread of the pool */
    for (ssize_t n = asked->generation ? splice_again(&r) : weft__request_attempt(&r);; n = splice_again(&r)) {
        int err = n == -ENOTSUP ? weft__blocking_perform(&r, &n) : 0;
        if (err) return err;
        if (n != -EAGAIN) return n;
        n = splice_wait(engine, me, &r);
        if (n < 0) return n;
    }
}
