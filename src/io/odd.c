/* See odd.h. */
#define _GNU_SOURCE
#include "io/odd.h"

#include "io/blocking.h"
#include "io/engine.h"

#include <sys/stat.h>

/* Write sends what it is given, as a message of its own, and may have to wait for that. */
static void as_message(struct weft__request *r) {
    int type = 0;
    socklen_t size = sizeof type;
    bool is_packet = !getsockopt(r->fd, SOL_SOCKET, SO_TYPE, &type, &size) && type == SOCK_SEQPACKET;
    r->code = WEFT_IO_SEND;
    r->flags = is_packet ? MSG_EOR : 0;
}

/* Some kinds answer at once (EINVAL, 0), others wait, as inotify does: attempts and readiness tell. A write to a
 * terminal or a device may wait for another one even if it has no bytes: that is for a thread. */
static ssize_t ask(struct weft__fiber *me, const struct weft__request *r, mode_t mode) {
    if (S_ISFIFO(mode) || S_ISSOCK(mode) || S_ISDIR(mode)) return weft__request_perform(r);
    return r->code == WEFT_IO_READ ? weft__engine_epoll.run(me, r) : weft__blocking_request(r);
}

bool weft__odd_run(struct weft__fiber *me, struct weft__request *r, ssize_t *result) {
    struct stat s;
    if (r->size) { /* refused before anything is waited for */
        *result = weft__request_perform(r);
        return true;
    }
    if (r->code == WEFT_IO_RECV) { /* a stream that has bytes is not waited for, as a ring would do */
        *result = weft__request_first(r, r->life);
        return *result != -EAGAIN;
    }
    if (fstat(r->fd, &s)) {
        *result = -errno;
        return true;
    }
    if (S_ISREG(s.st_mode) || S_ISBLK(s.st_mode)) return false;
    if (S_ISSOCK(s.st_mode) && r->code == WEFT_IO_WRITE && r->offset == WEFT_IO_HERE) {
        as_message(r);
        return false;
    }
    *result = ask(me, r, s.st_mode);
    return true;
}
