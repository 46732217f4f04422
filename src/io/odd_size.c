/* SPDX-License-Identifier: MIT */
/* See odd_size.h. */
#define _GNU_SOURCE
#include "io/odd_size.h"

#include "io/blocking.h"
#include "io/engine.h"

#include <sys/stat.h>

/* A write to a socket becomes a message, which may have to wait. */
static void as_message(struct weft__request *r) {
    int type = 0;
    socklen_t size = sizeof type;
    bool is_packet = !getsockopt(r->fd, SOL_SOCKET, SO_TYPE, &type, &size) && type == SOCK_SEQPACKET;
    r->code = WEFT_IO_SEND;
    r->flags = MSG_NOSIGNAL | (is_packet ? MSG_EOR : 0);
}

/* Asks the file. Some kinds answer at once (EINVAL, 0), others wait, as inotify does; so we make attempts and wait for
 * readiness. A write to a terminal or device may wait for another write even if it has no bytes, so a thread makes it.
 */
static ssize_t odd_size_ask(struct weft__fiber *me, const struct weft__request *r, mode_t mode) {
    if (S_ISFIFO(mode) || S_ISSOCK(mode) || S_ISDIR(mode)) return weft__request_perform(r);
    return r->code == WEFT_IO_READ ? weft__engine_epoll.run(me, r) : weft__blocking_run(r);
}

bool weft__odd_size_run(struct weft__fiber *me, struct weft__request *r, ssize_t *result) {
    struct stat s;
    if (r->size) { /* refused before any wait */
        *result = weft__request_perform(r);
        return true;
    }
    if (r->code == WEFT_IO_RECV) { /* do not wait if the stream has bytes, as a ring would */
        *result = weft__request_attempt_first(r, r->generation);
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
    *result = odd_size_ask(me, r, s.st_mode);
    return true;
}
