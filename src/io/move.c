/*
 * Bytes that are moved from one descriptor to another: splice and sendfile. Either of the two may have to be waited
 * for, and either may be closed meanwhile; so both lives count, in each wait and in each attempt after one.
 *
 * An attempt never waits for a descriptor (attempt.c). Where one of the two is a file, it is made by a thread of the
 * pool, when the other one is ready: so the thread waits for nothing but the disk, and a fiber that waits for a
 * descriptor can be cancelled.
 */
#define _GNU_SOURCE
#include "io/blocking.h"
#include "io/engine.h"

#include <fcntl.h>

/* After a wait, or of what was begun earlier. See weft__request_again. */
static ssize_t again(const struct weft__request *r) {
    if (!weft__known_hold(r->other, r->other_life)) return -EBADF;
    ssize_t n = weft__request_again(r, r->life);
    weft__known_release(r->other);
    return n;
}

/* Until one of them is ready. The events, or a negative errno. */
static ssize_t wait(const struct weft__engine *engine, struct weft__fiber *me, const struct weft__request *r) {
    struct weft__awaited at;
    weft__request_waits_at(r, &at);
    struct weft__request poll = {.code = WEFT_IO_POLL, .fd = at.fd, .flags = (uint16_t)at.events};
    bool is_out = at.fd == r->fd;
    poll.life = is_out ? r->life : r->other_life;
    poll.other = is_out ? r->other : r->fd;
    poll.other_life = is_out ? r->other_life : r->life;
    return engine->run(me, &poll);
}

ssize_t weft__move_run(const struct weft__engine *engine, struct weft__fiber *me, const struct weft__request *asked) {
    struct weft__request r = *asked;
    r.life = weft__request_life(asked);
    if (!r.other_life) r.other_life = weft__known_life(r.other);
    if (r.code == WEFT_IO_SPLICE) r.flags |= SPLICE_F_NONBLOCK; /* also for the thread */
    for (ssize_t n = asked->life ? again(&r) : weft__request_attempt(&r);; n = again(&r)) {
        int err = n == -ENOTSUP ? weft__blocking_make(&r, &n) : 0;
        if (err) return err;
        if (n != -EAGAIN) return n;
        n = wait(engine, me, &r);
        if (n < 0) return n;
    }
}
