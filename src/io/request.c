/* Requests as system calls: in a way that may block, and in one that does not. See request.h. */
#define _GNU_SOURCE
#include "io/request.h"

#include "base/sys.h"
#include "io/readiness.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- that may block ------------------------------------------------------------------------------------ */

static ssize_t read_or_write(const struct weft__request *r, int how) {
    struct iovec one = {r->memory, r->size}, *parts = &one;
    int n = 1;
    if (r->code == WEFT_IO_READV || r->code == WEFT_IO_WRITEV) parts = r->memory, n = (int)r->size;
    bool reads = r->code == WEFT_IO_READ || r->code == WEFT_IO_READV;
    return reads ? preadv2(r->fd, parts, n, r->offset, how) : pwritev2(r->fd, parts, n, r->offset, how);
}

static ssize_t poll_for_ever(const struct weft__request *r) {
    struct pollfd p = {r->fd, (short)r->flags, 0};
    if (r->fd < 0) return errno = EBADF, -1; /* poll would not look at it, and wait */
    if (poll(&p, 1, -1) < 0) return -1;
    return p.revents & POLLNVAL ? (errno = EBADF, -1) : (uint16_t)p.revents;
}

static ssize_t call(const struct weft__request *r) {
    const int flags = (int)r->flags;
    switch ((enum weft__code)r->code) {
    case WEFT_IO_READ:
        return r->offset == WEFT_IO_HERE ? read(r->fd, r->memory, r->size)
                                         : pread(r->fd, r->memory, r->size, r->offset);
    case WEFT_IO_WRITE:
        return r->offset == WEFT_IO_HERE ? write(r->fd, r->memory, r->size)
                                         : pwrite(r->fd, r->memory, r->size, r->offset);
    case WEFT_IO_READV:
    case WEFT_IO_WRITEV: return read_or_write(r, 0);
    case WEFT_IO_OPEN: return openat(r->fd, r->memory, flags, (mode_t)r->size);
    case WEFT_IO_CLOSE: return close(r->fd);
    case WEFT_IO_SYNC: return flags ? fdatasync(r->fd) : fsync(r->fd);
    case WEFT_IO_STAT: return statx(r->fd, r->memory, flags, (unsigned)r->size, r->extra);
    case WEFT_IO_UNLINK: return unlinkat(r->fd, r->memory, flags);
    case WEFT_IO_RENAME: return renameat(r->fd, r->memory, r->other, r->extra);
    case WEFT_IO_MKDIR: return mkdirat(r->fd, r->memory, (mode_t)r->size);
    case WEFT_IO_ACCEPT: return accept4(r->fd, r->memory, r->extra, flags);
    case WEFT_IO_CONNECT: return connect(r->fd, r->memory, (socklen_t)r->size);
    case WEFT_IO_SEND: return send(r->fd, r->memory, r->size, flags);
    case WEFT_IO_RECV: return recv(r->fd, r->memory, r->size, flags);
    case WEFT_IO_SENDMSG: return sendmsg(r->fd, r->memory, flags);
    case WEFT_IO_RECVMSG: return recvmsg(r->fd, r->memory, flags);
    case WEFT_IO_SHUTDOWN: return shutdown(r->fd, flags);
    case WEFT_IO_POLL: return poll_for_ever(r);
    case WEFT_IO_SPLICE: return splice(r->other, r->extra, r->fd, r->memory, r->size, r->flags);
    case WEFT_IO_SENDFILE: return sendfile(r->fd, r->other, r->extra, r->size);
    case WEFT_IO_WAIT: return waitpid(r->fd, r->memory, flags);
    case WEFT_IO_CODES: break;
    }
    return errno = ENOSYS, -1;
}

/* A close that was interrupted has closed. */
ssize_t weft__request_perform(const struct weft__request *r) {
    ssize_t n;
    do n = call(r);
    while (n < 0 && errno == EINTR && r->code != WEFT_IO_CLOSE);
    return n < 0 && !(r->code == WEFT_IO_CLOSE && errno == EINTR) ? -errno : n < 0 ? 0 : n;
}

/* --- that does not ---------------------------------------------------------------------------------------- */

short weft__request_awaits(const struct weft__request *r) {
    switch ((enum weft__code)r->code) {
    case WEFT_IO_WRITE:
    case WEFT_IO_WRITEV:
    case WEFT_IO_CONNECT:
    case WEFT_IO_SEND:
    case WEFT_IO_SENDMSG:
    case WEFT_IO_SENDFILE: return POLLOUT;
    case WEFT_IO_POLL: return (short)r->flags;
    default: return POLLIN;
    }
}

int weft__request_waits_at(const struct weft__request *r) { return r->fd; }

static ssize_t result_of(ssize_t n) { return n < 0 ? -errno : n; }

/* Terminals and such have no way to say "only if it does not block": ask first. A regular file is always ready. */
static ssize_t if_ready(const struct weft__request *r) {
    struct stat s;
    if (fstat(r->fd, &s)) return -errno;
    if (S_ISREG(s.st_mode) || S_ISDIR(s.st_mode) || S_ISBLK(s.st_mode)) return -ENOTSUP;
    int found = weft__readiness_look(r->fd, weft__request_awaits(r));
    return found < 0 ? found : found ? weft__request_perform(r) : -EAGAIN;
}

static ssize_t attempt_bytes(const struct weft__request *r) {
    ssize_t n = result_of(read_or_write(r, RWF_NOWAIT));
    return n == -EOPNOTSUPP ? if_ready(r) : n;
}

static bool set_nonblocking(int fd, bool on) {
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || !(flags & O_NONBLOCK) == !on) return false;
    fcntl(fd, F_SETFL, on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK);
    return true;
}

static ssize_t attempt_connect(const struct weft__request *r) {
    bool changed = set_nonblocking(r->fd, true);
    ssize_t n = result_of(call(r));
    if (changed) set_nonblocking(r->fd, false);
    return n == -EAGAIN ? -ENOTSUP : n; /* of a local socket: its queue is full, which cannot be waited for */
}

static ssize_t attempt_message(const struct weft__request *r) {
    struct weft__request now = *r;
    now.flags |= MSG_DONTWAIT;
    return result_of(call(&now));
}

static ssize_t attempt(const struct weft__request *r) {
    switch ((enum weft__code)r->code) {
    case WEFT_IO_READ:
    case WEFT_IO_READV:
    case WEFT_IO_WRITE:
    case WEFT_IO_WRITEV: return attempt_bytes(r);
    case WEFT_IO_SEND:
    case WEFT_IO_RECV:
    case WEFT_IO_SENDMSG:
    case WEFT_IO_RECVMSG: return attempt_message(r);
    case WEFT_IO_CONNECT: return attempt_connect(r);
    case WEFT_IO_ACCEPT: set_nonblocking(r->fd, true); return result_of(call(r));
    case WEFT_IO_POLL: {
        int found = weft__readiness_look(r->fd, (short)r->flags);
        return found ? found : -EAGAIN;
    }
    case WEFT_IO_SENDFILE: {
        int flags = fcntl(r->fd, F_GETFL);
        return flags < 0 ? -errno : flags & O_NONBLOCK ? result_of(call(r)) : -ENOTSUP;
    }
    case WEFT_IO_CLOSE:
    case WEFT_IO_SHUTDOWN: return weft__request_perform(r);
    default: return -ENOTSUP;
    }
}

ssize_t weft__request_attempt(const struct weft__request *r) {
    ssize_t n;
    do n = attempt(r);
    while (n == -EINTR);
    return n;
}
