/* SPDX-License-Identifier: MIT */
/* The look-alikes of POSIX calls. Each builds a request. This file also does what the originals do besides: it checks
 * arguments, continues short writes, and so on. */
#define _GNU_SOURCE
#include "io/engine.h"
#include "io/fd_generation.h"
#include "io/readiness.h"

#include "base/sys.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static ssize_t posix_result(ssize_t result) {
    if (likely(result >= 0)) return result;
    errno = (int)-result;
    return -1;
}

#define RUN(...) posix_result(weft__io_run(&(struct weft__request){__VA_ARGS__}))

/* --- bytes -------------------------------------------------------------------------------------------- */

/* A blocking write returns when everything is written: continue after a short write, unless the descriptor was closed
 * meanwhile and its number may be another file's. */
static ssize_t write_whole(struct weft__request r) {
    size_t done = 0;
    uint64_t generation = weft__fd_generation_read(r.fd);
    if (r.size > WEFT_IO_MOST && r.size <= SSIZE_MAX) r.size = WEFT_IO_MOST; /* no call writes more */
    for (;;) {
        ssize_t n = weft__io_run(&r);
        if (n < 0) return done ? (ssize_t)done : posix_result(n);
        done += (size_t)n;
        if (likely((size_t)n >= r.size) || !n || weft__fd_generation_is_stale(r.fd, generation)) return (ssize_t)done;
        r.memory = (char *)r.memory + n;
        r.size -= (size_t)n;
        if (r.offset != WEFT_IO_HERE) r.offset += n;
        if (weft__request_is_at_limit(&r)) return (ssize_t)done;
    }
}

/* Writes the rest of some parts of which `done` bytes are written, one part after the other; returns the total. */
static ssize_t write_rest(struct weft__request r, const struct iovec *parts, size_t n, size_t done) {
    size_t skip = done;
    uint64_t generation = weft__fd_generation_read(r.fd);
    for (; n; parts++, n--) {
        if (skip >= parts->iov_len) {
            skip -= parts->iov_len;
            continue;
        }
        if (weft__fd_generation_is_stale(r.fd, generation)) break;
        r.memory = (char *)parts->iov_base + skip;
        r.size = parts->iov_len - skip;
        skip = 0;
        ssize_t got = write_whole(r);
        if (got > 0) done += (size_t)got;
        if (got < (ssize_t)r.size) break;
        if (r.offset != WEFT_IO_HERE) r.offset += got;
    }
    return (ssize_t)done;
}

static ssize_t calls_write_parts(int fd, const struct iovec *parts, int n, off_t offset) {
    struct weft__request r = {
        .code = WEFT_IO_WRITEV, .fd = fd, .memory = (void *)parts, .size = (size_t)n, .offset = offset};
    ssize_t done = weft__io_run(&r);
    if (done <= 0) return posix_result(done);
    r.code = WEFT_IO_WRITE;
    if (offset != WEFT_IO_HERE) r.offset += done;
    if (unlikely(weft__request_is_at_limit(&r))) return done;
    return write_rest(r, parts, (size_t)n, (size_t)done);
}

WEFT_PUBLIC ssize_t weft_read(int fd, void *buffer, size_t size) {
    return RUN(.code = WEFT_IO_READ, .fd = fd, .memory = buffer, .size = size, .offset = WEFT_IO_HERE);
}

WEFT_PUBLIC ssize_t weft_write(int fd, const void *buffer, size_t size) {
    return write_whole((struct weft__request){
        .code = WEFT_IO_WRITE, .fd = fd, .memory = (void *)buffer, .size = size, .offset = WEFT_IO_HERE});
}

WEFT_PUBLIC ssize_t weft_pread(int fd, void *buffer, size_t size, off_t offset) {
    if (offset < 0) return posix_result(-EINVAL);
    return RUN(.code = WEFT_IO_READ, .fd = fd, .memory = buffer, .size = size, .offset = offset);
}

WEFT_PUBLIC ssize_t weft_pwrite(int fd, const void *buffer, size_t size, off_t offset) {
    if (offset < 0) return posix_result(-EINVAL);
    return write_whole((struct weft__request){
        .code = WEFT_IO_WRITE, .fd = fd, .memory = (void *)buffer, .size = size, .offset = offset});
}

/* Returns the kernel's error for a negative count, which depends on the descriptor. Calls syscall(), because the
 * compiler refuses the constant in the C library's function. */
static ssize_t refuse_parts(long call, int fd, const struct iovec *parts, int n) {
    return syscall(call, fd, parts, (long)n);
}

WEFT_PUBLIC ssize_t weft_readv(int fd, const struct iovec *parts, int n) {
    if (n < 0) return refuse_parts(SYS_readv, fd, parts, n);
    return RUN(.code = WEFT_IO_READV, .fd = fd, .memory = (void *)parts, .size = (size_t)n, .offset = WEFT_IO_HERE);
}

WEFT_PUBLIC ssize_t weft_writev(int fd, const struct iovec *parts, int n) {
    return n < 0 ? refuse_parts(SYS_writev, fd, parts, n) : calls_write_parts(fd, parts, n, WEFT_IO_HERE);
}

WEFT_PUBLIC ssize_t weft_preadv(int fd, const struct iovec *parts, int n, off_t offset) {
    if (offset < 0) return posix_result(-EINVAL);
    if (n < 0) return refuse_parts(SYS_readv, fd, parts, n);
    return RUN(.code = WEFT_IO_READV, .fd = fd, .memory = (void *)parts, .size = (size_t)n, .offset = offset);
}

WEFT_PUBLIC ssize_t weft_pwritev(int fd, const struct iovec *parts, int n, off_t offset) {
    if (offset < 0) return posix_result(-EINVAL);
    return n < 0 ? refuse_parts(SYS_writev, fd, parts, n) : calls_write_parts(fd, parts, n, offset);
}

WEFT_PUBLIC ssize_t weft_splice(int in, off_t *in_offset, int out, off_t *out_offset, size_t size, unsigned flags) {
    return RUN(.code = WEFT_IO_SPLICE, .fd = out, .other = in, .memory = out_offset, .extra = in_offset, .size = size,
               .flags = flags);
}

WEFT_PUBLIC ssize_t weft_sendfile(int out, int in, off_t *offset, size_t size) {
    struct weft__request r = {.code = WEFT_IO_SENDFILE, .fd = out, .other = in, .extra = offset, .size = size};
    const struct weft__request next = {.code = WEFT_IO_WRITE, .fd = out, .offset = WEFT_IO_HERE};
    size_t done = 0;
    r.generation = weft__fd_generation_read(out);
    r.other_generation = weft__fd_generation_read(in);
    do {
        ssize_t n = weft__io_run(&r);
        if (n < 0) return done ? (ssize_t)done : posix_result(n);
        if (!n) break;
        done += (size_t)n;
        r.size -= (size_t)n;
    } while (r.size && !weft__request_is_at_limit(&next));
    return (ssize_t)done;
}

/* --- files --------------------------------------------------------------------------------------------- */

static int open_at(int dir, const char *path, int flags, va_list args) {
    bool has_mode = (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;
    mode_t mode = has_mode ? va_arg(args, mode_t) : 0;
    return (int)RUN(.code = WEFT_IO_OPEN, .fd = dir, .memory = (void *)path, .size = mode, .flags = (uint32_t)flags);
}

WEFT_PUBLIC int weft_open(const char *path, int flags, ...) {
    va_list args;
    va_start(args, flags);
    int fd = open_at(AT_FDCWD, path, flags, args);
    va_end(args);
    return fd;
}

WEFT_PUBLIC int weft_openat(int dir, const char *path, int flags, ...) {
    va_list args;
    va_start(args, flags);
    int fd = open_at(dir, path, flags, args);
    va_end(args);
    return fd;
}

WEFT_PUBLIC int weft_close(int fd) { return (int)RUN(.code = WEFT_IO_CLOSE, .fd = fd); }

WEFT_PUBLIC int weft_fsync(int fd) { return (int)RUN(.code = WEFT_IO_SYNC, .fd = fd); }

WEFT_PUBLIC int weft_fdatasync(int fd) { return (int)RUN(.code = WEFT_IO_SYNC, .fd = fd, .flags = 1); }

WEFT_PUBLIC int weft_statx(int dir, const char *path, int flags, unsigned mask, struct statx *result) {
    return (int)RUN(.code = WEFT_IO_STAT, .fd = dir, .memory = (void *)path, .size = mask, .extra = result,
                    .flags = (uint32_t)flags);
}

WEFT_PUBLIC int weft_unlinkat(int dir, const char *path, int flags) {
    return (int)RUN(.code = WEFT_IO_UNLINK, .fd = dir, .memory = (void *)path, .flags = (uint32_t)flags);
}

WEFT_PUBLIC int weft_renameat(int from_dir, const char *from, int to_dir, const char *to) {
    return (int)RUN(.code = WEFT_IO_RENAME, .fd = from_dir, .memory = (void *)from, .other = to_dir,
                    .extra = (void *)to);
}

WEFT_PUBLIC int weft_mkdirat(int dir, const char *path, mode_t mode) {
    return (int)RUN(.code = WEFT_IO_MKDIR, .fd = dir, .memory = (void *)path, .size = mode);
}

/* --- sockets -------------------------------------------------------------------------------------------- */

WEFT_PUBLIC int weft_accept4(int fd, struct sockaddr *address, socklen_t *length, int flags) {
    return (int)RUN(.code = WEFT_IO_ACCEPT, .fd = fd, .memory = address, .extra = length, .flags = (uint32_t)flags);
}

WEFT_PUBLIC int weft_accept(int fd, struct sockaddr *address, socklen_t *length) {
    return weft_accept4(fd, address, length, SOCK_CLOEXEC);
}

WEFT_PUBLIC int weft_connect(int fd, const struct sockaddr *address, socklen_t length) {
    return (int)RUN(.code = WEFT_IO_CONNECT, .fd = fd, .memory = (void *)address, .size = length);
}

WEFT_PUBLIC ssize_t weft_send(int fd, const void *buffer, size_t size, int flags) {
    struct weft__request r = {.code = WEFT_IO_SEND,
                              .fd = fd,
                              .memory = (void *)buffer,
                              .size = size,
                              .offset = WEFT_IO_HERE,
                              .flags = (uint32_t)flags | MSG_NOSIGNAL};
    return flags & MSG_DONTWAIT ? posix_result(weft__io_run(&r)) : write_whole(r);
}

WEFT_PUBLIC ssize_t weft_recv(int fd, void *buffer, size_t size, int flags) {
    struct weft__request r = {.code = WEFT_IO_RECV, .fd = fd, .memory = buffer, .size = size, .flags = (uint32_t)flags};
    return posix_result(weft__io_run(&r));
}

WEFT_PUBLIC ssize_t weft_sendmsg(int fd, const struct msghdr *message, int flags) {
    flags |= MSG_NOSIGNAL;
    struct weft__request r = {.code = WEFT_IO_SENDMSG, .fd = fd, .memory = (void *)message, .flags = (uint32_t)flags};
    ssize_t done = weft__io_run(&r);
    if (done <= 0 || flags & MSG_DONTWAIT) return posix_result(done);
    r = (struct weft__request){.code = WEFT_IO_SEND, .fd = fd, .offset = WEFT_IO_HERE, .flags = (uint32_t)flags};
    return write_rest(r, message->msg_iov, message->msg_iovlen,
                      (size_t)done); /* only for a stream: a datagram is never written in part */
}

WEFT_PUBLIC ssize_t weft_recvmsg(int fd, struct msghdr *message, int flags) {
    struct weft__request r = {.code = WEFT_IO_RECVMSG, .fd = fd, .memory = message, .flags = (uint32_t)flags};
    return posix_result(weft__io_run(&r));
}

WEFT_PUBLIC ssize_t weft_sendto(int fd, const void *buffer, size_t size, int flags, const struct sockaddr *to,
                                socklen_t length) {
    if (!to) return weft_send(fd, buffer, size, flags);
    if (unlikely(!length || length > sizeof(struct sockaddr_storage))) { /* as a message, it would be dropped or cut */
        ssize_t n = sendto(fd, buffer, size, flags | MSG_DONTWAIT | MSG_NOSIGNAL, to, length);
        if (n >= 0 || errno != EAGAIN || flags & MSG_DONTWAIT) return n;
        return weft_send(fd, buffer, size, flags);
    }
    struct iovec part = {(void *)buffer, size};
    return weft_sendmsg(
        fd, &(struct msghdr){.msg_name = (void *)to, .msg_namelen = length, .msg_iov = &part, .msg_iovlen = 1}, flags);
}

/* Reads a length from the program's memory. -EFAULT: the pointer is bad, which a futex wait that returns at once finds
 * out. -EINVAL: the length is negative. The original reports these only after it has received. */
static int read_length(const socklen_t *length, socklen_t *value) {
    const struct timespec now = {0, 0};
    if (!length) return -EFAULT;
    if (syscall(SYS_futex, length, FUTEX_WAIT_PRIVATE, 0x5eed5eed, &now, NULL, 0) && errno == EFAULT) return -EFAULT;
    *value = *length;
    return *value > INT_MAX ? -EINVAL : 0;
}

WEFT_PUBLIC ssize_t weft_recvfrom(int fd, void *buffer, size_t size, int flags, struct sockaddr *from,
                                  socklen_t *length) {
    if (!from) return weft_recv(fd, buffer, size, flags);
    struct iovec part = {buffer, size};
    socklen_t room = 0;
    int wrong = read_length(length, &room);
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (!wrong) message.msg_name = from, message.msg_namelen = room;
    ssize_t n = weft_recvmsg(fd, &message, flags);
    if (n >= 0 && wrong) return posix_result(wrong);
    if (n >= 0) *length = message.msg_namelen;
    return n;
}

WEFT_PUBLIC int weft_shutdown(int fd, int how) {
    return (int)RUN(.code = WEFT_IO_SHUTDOWN, .fd = fd, .flags = (uint32_t)how);
}

/* --- several descriptors ------------------------------------------------------------------------------ */

/* Polls without waiting; returns how many are ready. */
static int look_at_all(struct pollfd *fds, nfds_t n) {
    int found = poll(fds, n, 0);
    return found < 0 ? errno == EINTR ? 0 : -errno : found;
}

/* For a poll that includes a file which cannot be waited for: looks again after a while. */
static int calls_look_later(uint64_t deadline) {
    uint64_t now = weft_now(), soon = now + 10 * WEFT_MILLISECOND;
    return now >= deadline ? -ETIMEDOUT : weft_sleep_until(soon < deadline ? soon : deadline);
}

/* Waits until one of the descriptors is ready, and then polls all of them, because several may be ready by then. */
static int calls_wait_for_any(struct pollfd *fds, nfds_t n, uint64_t deadline) {
    struct weft_case *cases = weft__alloc(n * sizeof *cases);
    if (!cases) return -ENOMEM;
    for (nfds_t i = 0; i < n; i++) /* poll ignores negative numbers */
        cases[i] =
            (struct weft_case)WEFT_CASE_READY(fds[i].fd < 0 ? -1 : fds[i].fd, weft__readiness_filter(fds[i].events));
    int found = 0;
    while (!found) {
        int which = weft_case_select_until(cases, (unsigned)n, deadline);
        int err = which < 0 ? which : cases[which].result;
        if (err == -EPERM) err = calls_look_later(deadline);
        if (err < 0 && err != -EBADF)
            found = err;
        else
            found = look_at_all(fds, n);
        if (!found && err == -EBADF) fds[which].revents = POLLNVAL, found = 1; /* another fiber is closing it */
    }
    weft__free(cases);
    return found;
}

WEFT_PUBLIC int weft_poll(struct pollfd *fds, nfds_t n, int milliseconds) {
    if (n > INT32_MAX / sizeof(struct weft_case)) return (int)posix_result(-EINVAL);
    if (!fds && n) return (int)posix_result(-EFAULT);
    int found = look_at_all(fds, n);
    if (found || !milliseconds) return (int)posix_result(found);
    uint64_t deadline = milliseconds < 0 ? WEFT_FOREVER : weft_now() + (uint64_t)milliseconds * WEFT_MILLISECOND;
    found = calls_wait_for_any(fds, n, deadline);
    return found == -ETIMEDOUT && weft_now() >= deadline ? 0 : (int)posix_result(found);
}

/* --- processes and time ------------------------------------------------------------------------------- */

WEFT_PUBLIC pid_t weft_waitpid(pid_t pid, int *status, int options) {
    return (pid_t)RUN(.code = WEFT_IO_WAIT, .fd = pid, .memory = status, .flags = (uint32_t)options);
}

/* Checks a time by passing it to the kernel as the limit of a wait that ends at once. 0, -EFAULT, -EINVAL. */
static int check_time(const struct timespec *time) {
    static uint32_t word;
    if (!time) return -EFAULT;
    syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 1, time, NULL, 0);
    return errno == EFAULT || errno == EINVAL ? -errno : 0;
}

WEFT_PUBLIC int weft_nanosleep(const struct timespec *time, struct timespec *left) {
    int wrong = check_time(time);
    if (wrong) return (int)posix_result(wrong);
    uint64_t start = weft_now(), until = WEFT_FOREVER;
    uint64_t whole;
    if (!__builtin_mul_overflow((uint64_t)time->tv_sec, WEFT_SECOND, &whole) &&
        !__builtin_add_overflow(whole + (uint64_t)time->tv_nsec, start, &until))
        until = start + whole + (uint64_t)time->tv_nsec;
    int err = weft_sleep_until(until);
    if (!err) return 0;
    uint64_t now = weft_now(), rest = now < until ? until - now : 0;
    if (left) *left = (struct timespec){(time_t)(rest / WEFT_SECOND), (long)(rest % WEFT_SECOND)};
    return (int)posix_result(err);
}

WEFT_PUBLIC unsigned weft_sleep(unsigned seconds) {
    struct timespec left;
    if (!weft_nanosleep(&(struct timespec){.tv_sec = seconds}, &left)) return 0;
    return (unsigned)left.tv_sec + (left.tv_nsec != 0);
}

WEFT_PUBLIC int weft_usleep(unsigned microseconds) {
    return weft_nanosleep(
        &(struct timespec){.tv_sec = microseconds / 1000000, .tv_nsec = (long)(microseconds % 1000000) * 1000}, NULL);
}
