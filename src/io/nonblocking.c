/* SPDX-License-Identifier: MIT */
/*
 * Requests as system calls that do not block, whatever the descriptor's flags say. See request.h.
 *
 *   bytes           RWF_NOWAIT, if the file supports it. Terminals, and pipes that were spliced, do not: polls first
 *   bytes to other  not possible: one write is one record, so it must not be cut into pieces, and not all devices can
 *   devices         say whether they are ready
 *   messages        MSG_DONTWAIT
 *   accept,         there is no such flag, only O_NONBLOCK of the file. If it is not set, it is set during the call,
 *   connect,        under a lock of weft, so that two fibers do not clear it for each other. Another process or
 *   sendfile,       thread that uses the same file might get an unexpected EAGAIN
 *   splice of
 *   a socket or
 *   a device
 *   splice of       SPLICE_F_NONBLOCK, by another thread when the pipe is ready, because the call may wait for the disk
 *   a file
 *   names, fsync    not possible
 */
#define _GNU_SOURCE
#include "io/blocking.h"
#include "io/fd_generation.h"
#include "io/readiness.h"
#include "io/request.h"

#include "base/lock.h"
#include "sched/core/layers.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static ssize_t attempt_result_of(ssize_t n) { return n < 0 ? -errno : n; }

/* --- what to wait for --------------------------------------------------------------------------------- */

short weft__request_poll_events(const struct weft__request *r) {
    switch ((enum weft__code)r->code) {
    case WEFT_IO_WRITE:
    case WEFT_IO_WRITEV:
    case WEFT_IO_CONNECT:
    case WEFT_IO_SEND:
    case WEFT_IO_SENDMSG:
    case WEFT_IO_SPLICE:
    case WEFT_IO_SENDFILE: return POLLOUT;
    case WEFT_IO_POLL: return (short)r->flags;
    default: return POLLIN;
    }
}

void weft__request_poll_target(const struct weft__request *r, struct weft__awaited *at) {
    *at = (struct weft__awaited){r->fd, weft__request_poll_events(r)};
    if (weft__request_is_splice(r) && !weft__readiness_poll(r->other, POLLIN))
        *at = (struct weft__awaited){r->other, POLLIN};
}

/* --- bytes ---------------------------------------------------------------------------------------------- */

size_t weft__request_size(const struct weft__request *r) {
    const struct iovec *parts = r->memory;
    size_t total = 0;
    if (r->code == WEFT_IO_READ || r->code == WEFT_IO_WRITE) return r->size;
    for (size_t i = 0; i < r->size; i++) total += parts[i].iov_len;
    return total;
}

/* Writes the first piece, with parts kept together. A pipe takes this much without waiting for certain, a terminal very
 * likely. */
static ssize_t write_piece(const struct weft__request *r, size_t most) {
    enum { PARTS = 32 };
    struct iovec few[PARTS];
    const struct iovec one = {r->memory, r->size}, *parts = r->code == WEFT_IO_WRITEV ? r->memory : &one;
    size_t n = r->code == WEFT_IO_WRITEV ? r->size : 1, taken = 0;
    struct weft__request piece = *r;
    for (; n && taken < PARTS && most; parts++, n--) {
        if (!parts->iov_len) continue;
        few[taken] = *parts;
        if (few[taken].iov_len > most) few[taken].iov_len = most;
        most -= few[taken++].iov_len;
    }
    piece.code = WEFT_IO_WRITEV;
    piece.memory = few;
    piece.size = taken;
    return weft__request_perform(&piece);
}

bool weft__request_is_record(const struct weft__request *r) {
    struct stat s;
    bool writes = r->code == WEFT_IO_WRITE || r->code == WEFT_IO_WRITEV;
    return writes && !fstat(r->fd, &s) && S_ISCHR(s.st_mode) && !isatty(r->fd);
}

/* The position of the next byte. With O_APPEND that is the end, whatever the offset says. Negative: no position. */
static off_t next_place(const struct weft__request *r) {
    struct stat s;
    int flags = fcntl(r->fd, F_GETFL);
    if (flags < 0 || fstat(r->fd, &s) || !(S_ISREG(s.st_mode) || S_ISBLK(s.st_mode))) return -1;
    if (flags & O_APPEND) return s.st_size;
    return r->offset == WEFT_IO_HERE ? lseek(r->fd, 0, SEEK_CUR) : r->offset;
}

bool weft__request_is_at_limit(const struct weft__request *r) {
    struct rlimit limit;
    if (r->code > WEFT_IO_WRITEV || getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur == RLIM_INFINITY) return false;
    off_t at = next_place(r);
    return at >= 0 && (rlim_t)at >= limit.rlim_cur;
}

/* Locks that are held for the few microseconds of a call that does not block. */
enum { WEFT_FLAG_LOCKS = 256 };
static struct weft__lock locks[WEFT_FLAG_LOCKS];

/* Makes the call with O_NONBLOCK set on this descriptor. If it is set already when the lock is taken, the program has
 * set it. */
static ssize_t call_nonblocking(const struct weft__request *r, int fd) {
    struct weft__lock *lock = &locks[(unsigned)fd % WEFT_FLAG_LOCKS];
    weft__lock(lock);
    int flags = fcntl(fd, F_GETFL);
    bool is_set = flags < 0 || flags & O_NONBLOCK;
    if (is_set) weft__unlock(lock);
    if (!is_set) fcntl(fd, F_SETFL, flags | O_NONBLOCK);
    ssize_t n = attempt_result_of(weft__request_call(r));
    if (is_set) return n;
    fcntl(fd, F_SETFL, flags);
    weft__unlock(lock);
    return n;
}

static ssize_t if_ready(const struct weft__request *r) {
    struct stat s;
    bool writes = r->code == WEFT_IO_WRITE || r->code == WEFT_IO_WRITEV;
    if (fstat(r->fd, &s)) return -errno;
    if (S_ISREG(s.st_mode) || S_ISDIR(s.st_mode) || S_ISBLK(s.st_mode)) return -ENOTSUP;
    if (!weft__request_size(r)) return writes ? weft__request_perform(r) : call_nonblocking(r, r->fd);
    if (unlikely(weft__request_is_record(r))) return -ENOTSUP;
    int found = weft__readiness_poll(r->fd, weft__request_poll_events(r));
    if (found <= 0) return found ? found : -EAGAIN;
    return writes ? write_piece(r, S_ISFIFO(s.st_mode) ? PIPE_BUF : 256) : weft__request_perform(r);
}

/* A thread continues where an attempt has ended, with this part of the memory. */
static ssize_t attempt_continue(const struct weft__request *r, size_t done, void *memory, size_t size) {
    bool reads = r->code == WEFT_IO_READ || r->code == WEFT_IO_READV;
    struct weft__request rest = {
        .code = reads ? WEFT_IO_READ : WEFT_IO_WRITE, .fd = r->fd, .generation = r->generation};
    rest.memory = memory;
    rest.size = size;
    rest.offset = r->offset == WEFT_IO_HERE ? WEFT_IO_HERE : r->offset + (int64_t)done;
    return weft__blocking_run(&rest);
}

ssize_t weft__request_finish(const struct weft__request *r, size_t done) {
    bool in_parts = r->code == WEFT_IO_READV || r->code == WEFT_IO_WRITEV;
    const struct iovec one = {r->memory, r->size}, *parts = in_parts ? r->memory : &one;
    size_t n = in_parts ? r->size : 1, skip = done;
    for (size_t i = 0; i < n; i++) {
        if (skip >= parts[i].iov_len) {
            skip -= parts[i].iov_len;
            continue;
        }
        size_t size = parts[i].iov_len - skip;
        ssize_t got = attempt_continue(r, done, (char *)parts[i].iov_base + skip, size);
        if (got > 0) done += (size_t)got;
        if (got < (ssize_t)size) break;
        skip = 0;
    }
    return (ssize_t)done;
}

/* Fewer bytes than requested: if this is a regular file that does not end there, only some bytes were in memory. */
static WEFT_COLD ssize_t perhaps_more(const struct weft__request *r, size_t done) {
    struct stat s;
    if (fstat(r->fd, &s) || !S_ISREG(s.st_mode)) return (ssize_t)done;
    off_t at = r->offset == WEFT_IO_HERE ? lseek(r->fd, 0, SEEK_CUR) : r->offset + (off_t)done;
    return at < 0 || at >= s.st_size ? (ssize_t)done : weft__request_finish(r, done);
}

static ssize_t attempt_bytes(const struct weft__request *r) {
    if (unlikely(!r->size && r->code == WEFT_IO_READ) && !weft__fd_is_stored(r->fd))
        return if_ready(r); /* see odd_size.h */
    if (unlikely(weft__fd_guess(r->fd) & WEFT_FD_DIRECT)) return -ENOTSUP;
    ssize_t n = attempt_result_of(weft__request_bytes(r, RWF_NOWAIT));
    return unlikely(n == -EOPNOTSUPP) ? if_ready(r) : n;
}

/* --- sockets -------------------------------------------------------------------------------------------- */

bool weft__request_is_stream(int fd) {
    int type = 0;
    socklen_t size = sizeof type;
    return !getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) && type == SOCK_STREAM;
}

size_t weft__request_message_size(const struct msghdr *m) {
    size_t room = 0;
    for (size_t i = 0; i < m->msg_iovlen; i++) room += m->msg_iov[i].iov_len;
    return room;
}

static ssize_t attempt_message(const struct weft__request *r) {
    struct weft__request now = *r;
    now.flags |= MSG_DONTWAIT;
    return attempt_result_of(weft__request_call(&now));
}

/*
 * Splice and sendfile into a socket have no flag against SIGPIPE. So the thread blocks the signal during the call, and
 * removes it if it came. Servers that move many bytes ignore the signal: check from time to time whether it is ignored.
 */
static bool signal_is_ignored(void) {
    enum { EVERY = 64 };
    static __thread unsigned calls;
    static __thread bool ignored;
    struct sigaction now;
    if (calls++ % EVERY == 0) ignored = !sigaction(SIGPIPE, NULL, &now) && now.sa_handler == SIG_IGN;
    return ignored;
}

static ssize_t move_into_socket(const struct weft__request *r) {
    if (likely(signal_is_ignored())) return call_nonblocking(r, r->fd);
    const struct timespec at_once = {0, 0};
    sigset_t broken, before, pending;
    sigemptyset(&broken);
    sigaddset(&broken, SIGPIPE);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &broken, &before);
    ssize_t n = call_nonblocking(r, r->fd);
    if (!sigismember(&pending, SIGPIPE)) sigtimedwait(&broken, NULL, &at_once);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return n;
}

/* Splices from or to a descriptor that is not a pipe, for which SPLICE_F_NONBLOCK has no effect. A device may not know
 * O_NONBLOCK, so it is polled first. A file may have to wait for the disk, so a thread makes the call when the pipe is
 * ready. */
static ssize_t attempt_at_end(const struct weft__request *r, int end, mode_t kind, short events) {
    int pipe_end = end == r->fd ? r->other : r->fd;
    short pipe_events = events == POLLIN ? POLLOUT : POLLIN;
    bool is_stored = S_ISREG(kind) || S_ISBLK(kind);
    if (S_ISSOCK(kind)) return end == r->fd ? move_into_socket(r) : call_nonblocking(r, end);
    if (!is_stored && !S_ISCHR(kind)) return -ENOTSUP;
    int found = is_stored ? weft__readiness_poll(pipe_end, pipe_events) : weft__readiness_poll(end, events);
    if (found <= 0) return found ? found : -EAGAIN;
    return is_stored ? -ENOTSUP : call_nonblocking(r, end);
}

/* Does the kernel answer before it checks whether an end is ready? It does so for no bytes, unknown flags, and an
 * offset for a file without positions. */
static bool is_answered_at_once(const struct weft__request *r) {
    const uint32_t flags = SPLICE_F_MOVE | SPLICE_F_NONBLOCK | SPLICE_F_MORE | SPLICE_F_GIFT;
    if (!r->size || r->flags & ~flags) return true;
    return (r->extra && lseek(r->other, 0, SEEK_CUR) < 0) || (r->memory && lseek(r->fd, 0, SEEK_CUR) < 0);
}

static ssize_t attempt_splice(const struct weft__request *r) {
    struct stat in, out;
    struct weft__request now = *r;
    if (unlikely(is_answered_at_once(r))) return attempt_result_of(weft__request_call(r));
    if (fstat(r->other, &in) || fstat(r->fd, &out)) return -errno;
    now.flags |= SPLICE_F_NONBLOCK;
    if (S_ISFIFO(in.st_mode) && S_ISFIFO(out.st_mode)) return attempt_result_of(weft__request_call(&now));
    if (S_ISFIFO(out.st_mode)) return attempt_at_end(&now, r->other, in.st_mode, POLLIN);
    if (S_ISFIFO(in.st_mode)) return attempt_at_end(&now, r->fd, out.st_mode, POLLOUT);
    return -ENOTSUP;
}

/* A sendfile into a pipe is a splice, and may have to wait for the source. Elsewhere only files can be sent. */
static ssize_t attempt_sendfile(const struct weft__request *r) {
    struct stat in, out;
    if (fstat(r->fd, &out)) return -errno;
    if (S_ISSOCK(out.st_mode)) return move_into_socket(r);
    if (S_ISCHR(out.st_mode)) {
        int found = weft__readiness_poll(r->fd, POLLOUT);
        return found < 0 ? found : found ? call_nonblocking(r, r->fd) : -EAGAIN;
    }
    if (!S_ISFIFO(out.st_mode)) return -ENOTSUP;
    if (fstat(r->other, &in)) return -errno;
    if (r->extra || !(S_ISSOCK(in.st_mode) || S_ISCHR(in.st_mode))) return call_nonblocking(r, r->fd);
    return attempt_splice(
        &(struct weft__request){.code = WEFT_IO_SPLICE, .fd = r->fd, .other = r->other, .size = r->size});
}

/* --- all of them ------------------------------------------------------------------------------------------ */

static ssize_t attempt_request(const struct weft__request *r) {
    switch ((enum weft__code)r->code) {
    case WEFT_IO_READ:
    case WEFT_IO_READV:
    case WEFT_IO_WRITE:
    case WEFT_IO_WRITEV: return attempt_bytes(r);
    case WEFT_IO_SEND:
    case WEFT_IO_RECV:
    case WEFT_IO_SENDMSG:
    case WEFT_IO_RECVMSG: return attempt_message(r);
    case WEFT_IO_ACCEPT:
    case WEFT_IO_CONNECT: return call_nonblocking(r, r->fd);
    case WEFT_IO_SPLICE: return attempt_splice(r);
    case WEFT_IO_SENDFILE: return attempt_sendfile(r);
    case WEFT_IO_POLL: {
        int found = weft__readiness_poll(r->fd, (short)r->flags);
        return found ? found : -EAGAIN;
    }
    case WEFT_IO_CLOSE:
    case WEFT_IO_SHUTDOWN: return weft__request_perform(r);
    default: return -ENOTSUP;
    }
}

static ssize_t attempt_all(const struct weft__request *r) {
    ssize_t n;
    do n = attempt_request(r);
    while (n == -EINTR);
    return n;
}

/* Adds the rest of a file, for which the call may wait. The caller holds no lock by then. */
static inline ssize_t with_the_rest(const struct weft__request *r, ssize_t n) {
    bool reads = r->code == WEFT_IO_READ || r->code == WEFT_IO_READV;
    return reads && n > 0 && (size_t)n < weft__request_size(r) ? perhaps_more(r, (size_t)n) : n;
}

ssize_t weft__request_attempt(const struct weft__request *r) { return with_the_rest(r, attempt_all(r)); }

ssize_t weft__request_attempt_again(const struct weft__request *r, uint64_t generation) {
    if (unlikely(!weft__fd_hold(r->fd, generation))) return -EBADF;
    ssize_t n = attempt_all(r);
    weft__fd_release(r->fd);
    return with_the_rest(r, n);
}

/* --- a forked child --------------------------------------------------------------------------------------- */

static void nonblocking_after_fork(void) { memset(locks, 0, sizeof locks); }

static struct weft__layer layer = {.forked = nonblocking_after_fork};
__attribute__((constructor)) static void register_nonblocking(void) { weft__layer_add(&layer); }
