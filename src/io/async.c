/* SPDX-License-Identifier: MIT */
/*
 * Operations in the background. A ring runs requests directly. Requests that it cannot run, and all requests without a
 * ring, are made by a fiber that is spawned for the operation. The generation of the descriptor is read when the
 * operation begins, however late that fiber runs.
 *
 *   the canceller                                the fiber
 *   1. cancelled = true                          1. writes its handle into the operation
 *   -- fence --                                  -- fence --
 *   2. if there is a handle, cancels that fiber; 2. if `cancelled` is set, does nothing
 *      otherwise cancels the ring's request
 */
#define _GNU_SOURCE
#include "io/async.h"

#include "io/engine.h"
#include "sched/core/cluster.h"

#include <fcntl.h>

void weft__io_complete(struct weft__io *io, ssize_t result) {
    if (result < 0)
        weft_future_fail(&io->future, (int)result);
    else
        weft_future_set(&io->future, (void *)(intptr_t)result);
}

/* The fiber is detached, so after its end the handle is stale, and cancelling it does no harm. */
static void *make_it(void *arg) {
    struct weft__io *io = arg;
    store_rlx(&io->fiber, weft_self().id);
    fence_sc(); /* pairs with weft_io_cancel */
    weft__io_complete(io, load_rlx(&io->cancelled) ? -ECANCELED : weft__io_run(&io->request));
    return NULL;
}

int weft__io_spawn(struct weft__io *io) {
    const struct weft_attr attr = {.name = "io", .detached = 1, .cluster = weft__cluster_lasting()};
    return weft_spawn(NULL, &attr, make_it, io);
}

static int async_begin(struct weft_io *public, struct weft__request r) {
    struct weft__io *io = (struct weft__io *)public;
    if (!io) return -EINVAL;
    if (!weft__io_current_fiber()) return -EPERM;
    if (r.fd >= 0 && r.code != WEFT_IO_WAIT) r.generation = weft__fd_generation_read(r.fd);
    if (r.other >= 0 && (weft__request_is_splice(&r) || r.code == WEFT_IO_RENAME))
        r.other_generation = weft__fd_generation_read(r.other);
    *io = (struct weft__io){.future = WEFT_FUTURE_INIT, .request = r, .begun = true};
    int err = weft__engine()->start(io);
    if (err == -ENOTSUP) err = weft__io_spawn(io);
    if (err) io->begun = false;
    return err;
}

WEFT_PUBLIC int weft_io_cancel(struct weft_io *public) {
    struct weft__io *io = (struct weft__io *)public;
    if (!io) return -EINVAL;
    if (weft_future_try(&io->future, NULL) != -EAGAIN) return -EALREADY;
    if (!io->begun) return -EINVAL;
    store_rlx(&io->cancelled, true);
    fence_sc(); /* pairs with make_it */
    uint64_t fiber = load_rlx(&io->fiber);
    if (fiber)
        weft_cancel((struct weft_fiber){fiber});
    else if (io->op.fn)
        weft__engine()->cancel(io);
    return 0;
}

/* After a cancellation, waits for the end in a shield: until then the operation may use the caller's memory. */
WEFT_PUBLIC ssize_t weft_io_wait_until(struct weft_io *io, uint64_t deadline) {
    if (!io) return -EINVAL;
    if (!((struct weft__io *)io)->begun && weft_future_try(&io->future, NULL) == -EAGAIN) return -EINVAL;
    void *value = NULL;
    int err = weft_future_wait_until(&io->future, &value, deadline);
    if ((err == -ECANCELED || err == -ETIMEDOUT) && weft_future_try(&io->future, NULL) == -EAGAIN) {
        struct weft_shield shield;
        int cause = err;
        weft_io_cancel(io);
        weft_shield_begin(&shield);
        err = weft_future_wait(&io->future, &value);
        weft_shield_end(&shield);
        if (err == -ECANCELED) err = cause;
    }
    return err ? err : (ssize_t)(intptr_t)value;
}

WEFT_PUBLIC ssize_t weft_io_wait(struct weft_io *io) { return weft_io_wait_until(io, WEFT_FOREVER); }

/* --- one function for each operation ------------------------------------------------------------------------- */

#define BEGIN(...) async_begin(io, (struct weft__request){__VA_ARGS__})

WEFT_PUBLIC int weft_io_read(struct weft_io *io, int fd, void *buffer, size_t size) {
    return BEGIN(.code = WEFT_IO_READ, .fd = fd, .memory = buffer, .size = size, .offset = WEFT_IO_HERE);
}

WEFT_PUBLIC int weft_io_write(struct weft_io *io, int fd, const void *buffer, size_t size) {
    return BEGIN(.code = WEFT_IO_WRITE, .fd = fd, .memory = (void *)buffer, .size = size, .offset = WEFT_IO_HERE);
}

WEFT_PUBLIC int weft_io_pread(struct weft_io *io, int fd, void *buffer, size_t size, off_t offset) {
    if (offset < 0) return -EINVAL;
    return BEGIN(.code = WEFT_IO_READ, .fd = fd, .memory = buffer, .size = size, .offset = offset);
}

WEFT_PUBLIC int weft_io_pwrite(struct weft_io *io, int fd, const void *buffer, size_t size, off_t offset) {
    if (offset < 0) return -EINVAL;
    return BEGIN(.code = WEFT_IO_WRITE, .fd = fd, .memory = (void *)buffer, .size = size, .offset = offset);
}

static int begin_parts(struct weft_io *io, uint8_t code, int fd, const struct iovec *parts, int n, off_t offset) {
    if (n < 0) return -EINVAL;
    return BEGIN(.code = code, .fd = fd, .memory = (void *)parts, .size = (unsigned)n, .offset = offset);
}

WEFT_PUBLIC int weft_io_preadv(struct weft_io *io, int fd, const struct iovec *parts, int n, off_t offset) {
    return offset < 0 ? -EINVAL : begin_parts(io, WEFT_IO_READV, fd, parts, n, offset);
}

WEFT_PUBLIC int weft_io_pwritev(struct weft_io *io, int fd, const struct iovec *parts, int n, off_t offset) {
    return offset < 0 ? -EINVAL : begin_parts(io, WEFT_IO_WRITEV, fd, parts, n, offset);
}

WEFT_PUBLIC int weft_io_readv(struct weft_io *io, int fd, const struct iovec *parts, int n) {
    return begin_parts(io, WEFT_IO_READV, fd, parts, n, WEFT_IO_HERE);
}

WEFT_PUBLIC int weft_io_writev(struct weft_io *io, int fd, const struct iovec *parts, int n) {
    return begin_parts(io, WEFT_IO_WRITEV, fd, parts, n, WEFT_IO_HERE);
}

WEFT_PUBLIC int weft_io_openat(struct weft_io *io, int dir, const char *path, int flags, mode_t mode) {
    return BEGIN(.code = WEFT_IO_OPEN, .fd = dir, .memory = (void *)path, .size = mode, .flags = (uint32_t)flags);
}

WEFT_PUBLIC int weft_io_close(struct weft_io *io, int fd) { return BEGIN(.code = WEFT_IO_CLOSE, .fd = fd); }

WEFT_PUBLIC int weft_io_fsync(struct weft_io *io, int fd) { return BEGIN(.code = WEFT_IO_SYNC, .fd = fd); }

WEFT_PUBLIC int weft_io_fdatasync(struct weft_io *io, int fd) {
    return BEGIN(.code = WEFT_IO_SYNC, .fd = fd, .flags = 1);
}

WEFT_PUBLIC int weft_io_statx(struct weft_io *io, int dir, const char *path, int flags, unsigned mask,
                              struct statx *result) {
    return BEGIN(.code = WEFT_IO_STAT, .fd = dir, .memory = (void *)path, .size = mask, .extra = result,
                 .flags = (uint32_t)flags);
}

WEFT_PUBLIC int weft_io_unlinkat(struct weft_io *io, int dir, const char *path, int flags) {
    return BEGIN(.code = WEFT_IO_UNLINK, .fd = dir, .memory = (void *)path, .flags = (uint32_t)flags);
}

WEFT_PUBLIC int weft_io_renameat(struct weft_io *io, int from_dir, const char *from, int to_dir, const char *to) {
    return BEGIN(.code = WEFT_IO_RENAME, .fd = from_dir, .memory = (void *)from, .other = to_dir, .extra = (void *)to);
}

WEFT_PUBLIC int weft_io_mkdirat(struct weft_io *io, int dir, const char *path, mode_t mode) {
    return BEGIN(.code = WEFT_IO_MKDIR, .fd = dir, .memory = (void *)path, .size = mode);
}

WEFT_PUBLIC int weft_io_accept(struct weft_io *io, int fd, struct sockaddr *address, socklen_t *length, int flags) {
    return BEGIN(.code = WEFT_IO_ACCEPT, .fd = fd, .memory = address, .extra = length, .flags = (uint32_t)flags);
}

WEFT_PUBLIC int weft_io_connect(struct weft_io *io, int fd, const struct sockaddr *address, socklen_t length) {
    return BEGIN(.code = WEFT_IO_CONNECT, .fd = fd, .memory = (void *)address, .size = length);
}

WEFT_PUBLIC int weft_io_send(struct weft_io *io, int fd, const void *buffer, size_t size, int flags) {
    return BEGIN(.code = WEFT_IO_SEND, .fd = fd, .memory = (void *)buffer, .size = size,
                 .flags = (uint32_t)flags | MSG_NOSIGNAL);
}

WEFT_PUBLIC int weft_io_recv(struct weft_io *io, int fd, void *buffer, size_t size, int flags) {
    return BEGIN(.code = WEFT_IO_RECV, .fd = fd, .memory = buffer, .size = size, .flags = (uint32_t)flags);
}

WEFT_PUBLIC int weft_io_sendmsg(struct weft_io *io, int fd, const struct msghdr *message, int flags) {
    return BEGIN(.code = WEFT_IO_SENDMSG, .fd = fd, .memory = (void *)message, .flags = (uint32_t)flags | MSG_NOSIGNAL);
}

WEFT_PUBLIC int weft_io_recvmsg(struct weft_io *io, int fd, struct msghdr *message, int flags) {
    return BEGIN(.code = WEFT_IO_RECVMSG, .fd = fd, .memory = message, .flags = (uint32_t)flags);
}

WEFT_PUBLIC int weft_io_sendto(struct weft_io *io, int fd, const void *buffer, size_t size, int flags,
                               const struct sockaddr *to, socklen_t length) {
    return BEGIN(.code = WEFT_IO_SENDTO, .fd = fd, .memory = (void *)buffer, .size = size, .extra = (void *)to,
                 .offset = length, .flags = (uint32_t)flags | MSG_NOSIGNAL);
}

WEFT_PUBLIC int weft_io_recvfrom(struct weft_io *io, int fd, void *buffer, size_t size, int flags,
                                 struct sockaddr *from, socklen_t *length) {
    return BEGIN(.code = WEFT_IO_RECVFROM, .fd = fd, .memory = buffer, .size = size, .extra = from,
                 .offset = (int64_t)(intptr_t)length, .flags = (uint32_t)flags);
}

WEFT_PUBLIC int weft_io_shutdown(struct weft_io *io, int fd, int how) {
    return BEGIN(.code = WEFT_IO_SHUTDOWN, .fd = fd, .flags = (uint32_t)how);
}

WEFT_PUBLIC int weft_io_poll(struct weft_io *io, int fd, short events) {
    return BEGIN(.code = WEFT_IO_POLL, .fd = fd, .flags = (uint16_t)events);
}

WEFT_PUBLIC int weft_io_splice(struct weft_io *io, int in, off_t *in_offset, int out, off_t *out_offset, size_t size,
                               unsigned flags) {
    return BEGIN(.code = WEFT_IO_SPLICE, .fd = out, .other = in, .memory = out_offset, .extra = in_offset, .size = size,
                 .flags = flags);
}

WEFT_PUBLIC int weft_io_sendfile(struct weft_io *io, int out, int in, off_t *offset, size_t size) {
    return BEGIN(.code = WEFT_IO_SENDFILE, .fd = out, .other = in, .extra = offset, .size = size);
}

WEFT_PUBLIC int weft_io_waitpid(struct weft_io *io, pid_t pid, int *status, int options) {
    return BEGIN(.code = WEFT_IO_WAIT, .fd = pid, .memory = status, .flags = (uint32_t)options);
}

WEFT_PUBLIC int weft_io_sleep_for(struct weft_io *io, uint64_t nanoseconds) {
    uint64_t until;
    if (__builtin_add_overflow(weft_now(), nanoseconds, &until)) until = WEFT_FOREVER;
    return BEGIN(.code = WEFT_IO_SLEEP, .fd = -1, .offset = (int64_t)until);
}
