/* SPDX-License-Identifier: MIT */
/* Requests as system calls that may block. See request.h; nonblocking.c makes calls that do not. */
#define _GNU_SOURCE
#include "io/request.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

ssize_t weft__request_bytes(const struct weft__request *r, int how) {
    struct iovec one = {r->memory, r->size}, *parts = &one;
    int n = 1;
    if (r->code == WEFT_IO_READV || r->code == WEFT_IO_WRITEV) parts = r->memory, n = (int)r->size;
    bool reads = r->code == WEFT_IO_READ || r->code == WEFT_IO_READV;
    return reads ? preadv2(r->fd, parts, n, r->offset, how) : pwritev2(r->fd, parts, n, r->offset, how);
}

static ssize_t poll_for_ever(const struct weft__request *r) {
    struct pollfd p = {r->fd, (short)r->flags, 0};
    if (r->fd < 0) return errno = EBADF, -1; /* poll would ignore it and wait */
    if (poll(&p, 1, -1) < 0) return -1;
    return p.revents & POLLNVAL ? (errno = EBADF, -1) : (uint16_t)p.revents;
}

/* The C library must not be passed NULL here. */
static bool lacks_memory(const struct weft__request *r) {
    switch ((enum weft__code)r->code) {
    case WEFT_IO_OPEN:
    case WEFT_IO_UNLINK:
    case WEFT_IO_MKDIR: return !r->memory;
    case WEFT_IO_STAT:
    case WEFT_IO_RENAME: return !r->memory || !r->extra;
    default: return false;
    }
}

ssize_t weft__request_call(const struct weft__request *r) {
    if (unlikely(lacks_memory(r))) return errno = EFAULT, -1;
    const int flags = (int)r->flags;
    switch ((enum weft__code)r->code) {
    case WEFT_IO_READ:
        return r->offset == WEFT_IO_HERE ? read(r->fd, r->memory, r->size)
                                         : pread(r->fd, r->memory, r->size, r->offset);
    case WEFT_IO_WRITE:
        return r->offset == WEFT_IO_HERE ? write(r->fd, r->memory, r->size)
                                         : pwrite(r->fd, r->memory, r->size, r->offset);
    case WEFT_IO_READV:
    case WEFT_IO_WRITEV: return weft__request_bytes(r, 0);
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
    case WEFT_IO_SENDTO:
    case WEFT_IO_RECVFROM:
    case WEFT_IO_SLEEP:
    case WEFT_IO_CODES: break;
    }
    return errno = ENOSYS, -1;
}

/* Does not repeat an interrupted close: the kernel has closed the descriptor. */
ssize_t weft__request_perform(const struct weft__request *r) {
    ssize_t n;
    do n = weft__request_call(r);
    while (n < 0 && errno == EINTR && r->code != WEFT_IO_CLOSE);
    return n < 0 && !(r->code == WEFT_IO_CLOSE && errno == EINTR) ? -errno : n < 0 ? 0 : n;
}
