/*
 * weft: input and output. How to read it stands in weft.h, which does not include it, because it needs what the
 * calls need, <sys/socket.h> and others.
 *
 * The look-alikes do what their originals do on a descriptor that blocks, whatever its flags say, and
 * for files, pipes, terminals and sockets alike: but a fiber that has to wait parks, and its worker goes
 * on. They return what the originals return, and set errno. What is different:
 *
 *   - They are cancellation points. Cancelled, a call ends with ECANCELED (ETIMEDOUT: the scope's
 *     deadline). Whatever the kernel had done by then counts: a call that has read, written, accepted
 *     or opened something returns that, and not the error. When it returns, the kernel does not touch
 *     the memory that it was given any more.
 *   - They do not end with EINTR.
 *   - weft_close wakes those who wait for the descriptor; they get EBADF. Nobody ever gets what was
 *     meant for an earlier or later user of the same number.
 *   - Two fibers that read one descriptor, or two that write one, each get or write a piece of it, as
 *     threads would.
 *   - SO_RCVTIMEO and SO_SNDTIMEO are not looked at: such a socket waits as long as any other. What is to end in
 *     time is done in a scope with a deadline, which holds for every call in it.
 *
 * A thread that is no fiber just makes the call: an O_NONBLOCK descriptor gives EAGAIN, the socket's time-outs hold,
 * EINTR is possible, and neither a cancellation nor weft_close wakes it.
 *
 * What can be waited for only by a thread that blocks is bounded: 64 calls a process in the pool, and with io_uring 32
 * a worker in the kernel; calls beyond wait in line. These are calls with names (open, stat, rename ...), fsync, and
 * files that are not in memory. All of them end by themselves, but the open of a FIFO whose other end nobody opens: do
 * not have as many of these at a time, or open it with O_NONBLOCK.
 *
 * How it is done: by io_uring, a ring a worker, where the kernel allows it; else by epoll and a small
 * pool of threads. WEFT_IO=epoll in the environment asks for the latter. See docs/IO.md.
 */
#ifndef WEFT_IO_H
#define WEFT_IO_H

#include "weft.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>

struct addrinfo;
struct statx;
struct io_uring_sqe;

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------------------
 * Look-alikes
 *
 * Besides the errors of the originals: ECANCELED, ETIMEDOUT, and ENOMEM. All of them:
 * [fiber thread; parks, cancel], but weft_close, which is no cancellation point.
 * ------------------------------------------------------------------------------------------ */

/* A write to a pipe or socket returns early only if it is cancelled or fails after some bytes. */
ssize_t weft_read(int fd, void *buffer, size_t size);
ssize_t weft_write(int fd, const void *buffer, size_t size);
ssize_t weft_pread(int fd, void *buffer, size_t size, off_t offset);
ssize_t weft_pwrite(int fd, const void *buffer, size_t size, off_t offset);
ssize_t weft_readv(int fd, const struct iovec *parts, int n);
ssize_t weft_writev(int fd, const struct iovec *parts, int n);
ssize_t weft_preadv(int fd, const struct iovec *parts, int n, off_t offset);
ssize_t weft_pwritev(int fd, const struct iovec *parts, int n, off_t offset);

int weft_open(const char *path, int flags, ...);            /* mode_t mode, with O_CREAT or O_TMPFILE */
int weft_openat(int dir, const char *path, int flags, ...); /* the same */
int weft_close(int fd);
int weft_fsync(int fd);
int weft_fdatasync(int fd);
int weft_statx(int dir, const char *path, int flags, unsigned mask, struct statx *result);
int weft_unlinkat(int dir, const char *path, int flags);
int weft_renameat(int from_dir, const char *from, int to_dir, const char *to);
int weft_mkdirat(int dir, const char *path, mode_t mode);

/* What weft_accept returns is closed on exec. */
int weft_accept(int fd, struct sockaddr *address, socklen_t *length);
int weft_accept4(int fd, struct sockaddr *address, socklen_t *length, int flags);
int weft_connect(int fd, const struct sockaddr *address, socklen_t length);
ssize_t weft_send(int fd, const void *buffer, size_t size, int flags);
ssize_t weft_recv(int fd, void *buffer, size_t size, int flags);
ssize_t weft_sendto(int fd, const void *buffer, size_t size, int flags, const struct sockaddr *to, socklen_t length);
ssize_t weft_recvfrom(int fd, void *buffer, size_t size, int flags, struct sockaddr *from, socklen_t *length);
ssize_t weft_sendmsg(int fd, const struct msghdr *message, int flags);
ssize_t weft_recvmsg(int fd, struct msghdr *message, int flags);
int weft_shutdown(int fd, int how);

/* A negative timeout: none. */
int weft_poll(struct pollfd *fds, nfds_t n, int milliseconds);

/* A close of either descriptor ends it with EBADF; so it does weft_sendfile. */
ssize_t weft_splice(int in, off_t *in_offset, int out, off_t *out_offset, size_t size, unsigned flags);

/* Sends all of it, unless the file ends before. Without any copy or hand-over if `out` is a socket, a pipe or a
 * terminal; but what is not in memory is read while the worker waits. Else a thread of the pool does it. */
ssize_t weft_sendfile(int out, int in, off_t *offset, size_t size);

pid_t weft_waitpid(pid_t pid, int *status, int options);

/* The seconds that are left, if it was cancelled. */
unsigned weft_sleep(unsigned seconds);
int weft_usleep(unsigned microseconds);
int weft_nanosleep(const struct timespec *time, struct timespec *left);

/* ---------------------------------------------------------------------------------------------
 * Asynchronous: the same operations, under way while the caller goes on
 *
 *     struct weft_io a, b;
 *     weft_io_read(&a, fd, buffer, sizeof buffer);
 *     weft_io_accept(&b, listener, NULL, NULL, 0);
 *     ...
 *     ssize_t n = weft_io_wait(&a);
 *
 * `future` is done when the operation is: weft_future_any, weft_select and the others wait for it; its
 * value is the result (as intptr_t), or its error the negative errno. The memory of the struct, and all
 * that the operation was given, must stay until weft_io_wait has returned, or a wait for the future
 * has seen it done. A write may write less than it was given. An operation under way keeps the runtime
 * running, as a fiber does.
 *
 * To start one: 0; -EINVAL: io NULL; -ENOMEM; what else is wrong is told by the operation's result.
 * [fiber; a thread: -EPERM]
 * ------------------------------------------------------------------------------------------ */

struct weft_io {
    struct weft_future future;
    void *opaque[24];
};
#define WEFT_IO_INIT \
    { \
        WEFT_FUTURE_INIT, { NULL } \
    }

int weft_io_read(struct weft_io *io, int fd, void *buffer, size_t size);
int weft_io_write(struct weft_io *io, int fd, const void *buffer, size_t size);
int weft_io_pread(struct weft_io *io, int fd, void *buffer, size_t size, off_t offset);
int weft_io_pwrite(struct weft_io *io, int fd, const void *buffer, size_t size, off_t offset);
int weft_io_readv(struct weft_io *io, int fd, const struct iovec *parts, int n);
int weft_io_writev(struct weft_io *io, int fd, const struct iovec *parts, int n);
int weft_io_preadv(struct weft_io *io, int fd, const struct iovec *parts, int n, off_t offset);
int weft_io_pwritev(struct weft_io *io, int fd, const struct iovec *parts, int n, off_t offset);
int weft_io_openat(struct weft_io *io, int dir, const char *path, int flags, mode_t mode);
int weft_io_close(struct weft_io *io, int fd);
int weft_io_fsync(struct weft_io *io, int fd);
int weft_io_fdatasync(struct weft_io *io, int fd);
int weft_io_statx(struct weft_io *io, int dir, const char *path, int flags, unsigned mask, struct statx *result);
int weft_io_unlinkat(struct weft_io *io, int dir, const char *path, int flags);
int weft_io_renameat(struct weft_io *io, int from_dir, const char *from, int to_dir, const char *to);
int weft_io_mkdirat(struct weft_io *io, int dir, const char *path, mode_t mode);
int weft_io_accept(struct weft_io *io, int fd, struct sockaddr *address, socklen_t *length, int flags);
int weft_io_connect(struct weft_io *io, int fd, const struct sockaddr *address, socklen_t length);
int weft_io_send(struct weft_io *io, int fd, const void *buffer, size_t size, int flags);
int weft_io_recv(struct weft_io *io, int fd, void *buffer, size_t size, int flags);
int weft_io_sendto(struct weft_io *io, int fd, const void *buffer, size_t size, int flags, const struct sockaddr *to,
                   socklen_t length);
int weft_io_recvfrom(struct weft_io *io, int fd, void *buffer, size_t size, int flags, struct sockaddr *from,
                     socklen_t *length);
int weft_io_sendmsg(struct weft_io *io, int fd, const struct msghdr *message, int flags);
int weft_io_recvmsg(struct weft_io *io, int fd, struct msghdr *message, int flags);
int weft_io_shutdown(struct weft_io *io, int fd, int how);

/* Of one descriptor; the result is the events that were found. Of several: one for each, and weft_future_any. */
int weft_io_poll(struct weft_io *io, int fd, short events);
int weft_io_splice(struct weft_io *io, int in, off_t *in_offset, int out, off_t *out_offset, size_t size,
                   unsigned flags);
int weft_io_sendfile(struct weft_io *io, int out, int in, off_t *offset, size_t size);
int weft_io_waitpid(struct weft_io *io, pid_t pid, int *status, int options);
int weft_io_sleep_for(struct weft_io *io, uint64_t nanoseconds); /* for sleep, usleep and nanosleep */

/* Waits until it is done: its result, or a negative errno. If the caller is cancelled meanwhile the
 * operation is, too, and its end is waited for. -EINVAL also: io NULL, or never begun.
 * [fiber; parks, cancel] */
ssize_t weft_io_wait(struct weft_io *io);

/* Asks for its end; does not wait for it. It ends with -ECANCELED, or with what it had done. -EINVAL:
 * io NULL, or never begun. -EALREADY: it is done.  [fiber thread] */
int weft_io_cancel(struct weft_io *io);

/* ---------------------------------------------------------------------------------------------
 * Direct: submission entries of one's own
 * ------------------------------------------------------------------------------------------ */

/*
 * Submits n entries, as liburing's io_uring_prep_... fill them, in one piece and in this order, so that
 * IOSQE_IO_LINK makes a chain of them; waits until all have completed, and stores their results. The
 * entries' user_data is not used; flags that make more than one completion of an entry, or none, are
 * not allowed. If the caller is cancelled the entries are, too, and their end is waited for: then 0 is
 * returned, and the results tell.
 * -EINVAL: n is 0 or more than WEFT_URING_MOST or WEFT_RING, NULL, a flag that is not allowed. -ENOTSUP: no ring
 * here. -EPERM: no fiber. -ENOMEM.  [fiber; parks, cancel]
 */
#define WEFT_URING_MOST 64
int weft_uring(const struct io_uring_sqe *entries, int *results, unsigned n);

/* ---------------------------------------------------------------------------------------------
 * For servers
 * ------------------------------------------------------------------------------------------ */

/*
 * A listener: accepts for all fibers that ask it, in multishot where that is possible: one request to
 * the kernel for many connections. The socket listens already, and stays the caller's; `flags` as for
 * accept4. -EINVAL: NULL. -ENOMEM. -EPERM: no fiber.  [fiber]
 */
struct weft_listener {
    void *opaque[24];
};
int weft_listener_begin(struct weft_listener *listener, int fd, int flags);

/* The next connection: a descriptor, or a negative errno: what accept ends with; -ETIMEDOUT, -ECANCELED.
 * [fiber; parks, cancel] */
int weft_listener_accept(struct weft_listener *listener);

/* Ends it; connections that nobody has asked for are closed. Nobody may be in weft_listener_accept;
 * cancel them first: -EBUSY.  [fiber; parks] */
int weft_listener_end(struct weft_listener *listener);

/*
 * Receives into memory that weft lends: a connection on which nothing happens needs no buffer. *data is
 * where the bytes are, WEFT_LEASE_SIZE at most; give it back soon, because all connections of a worker
 * share a pool; when that is used up, heap memory is lent. The number of bytes, 0 at the end, or a
 * negative errno, and then there is nothing to give back; nor is there after 0.
 * -EINVAL: NULL. -ENOMEM. -ETIMEDOUT. -ECANCELED.  [fiber; parks, cancel]
 */
#define WEFT_LEASE_SIZE 4096
struct weft_lease {
    void *data;
    void *opaque[2];
};
ssize_t weft_recv_lease(int fd, struct weft_lease *lease);
void weft_lease_return(struct weft_lease *lease);

/* ---------------------------------------------------------------------------------------------
 * Calls that block
 * ------------------------------------------------------------------------------------------ */

/*
 * Runs fn(arg) on a thread of a pool of 64 at most, while the fiber waits for its end; *result (unless
 * NULL) is what it returned. A call that has begun is neither cancelled nor interrupted, so fn may use the
 * caller's memory; who is told to stop meanwhile returns when fn has. Calls beyond the bound wait for
 * their turn, and that wait can be cancelled: then fn has not run. fn is called on a thread that takes no
 * signals, and must not wait for another call that may stand in that line. A thread that calls this runs fn
 * itself. -EINVAL: fn NULL. -EAGAIN: there is no thread, and none could be made. -ECANCELED, -ETIMEDOUT.
 * [fiber thread; parks, cancel]
 */
int weft_blocking(void *(*fn)(void *), void *arg, void **result);

/*
 * The same, but a caller that is cancelled goes away at once, and fn runs on: it owns arg, heap memory
 * that destroy(arg) (unless NULL) frees when fn has ended and the caller was not there any more, or when the
 * caller was told before fn began. With -ECANCELED or -ETIMEDOUT arg must not be touched any more, and what fn
 * returned is lost: leave results in arg. With every other result arg is the caller's. weft_stop waits for calls
 * that run on. -ENOMEM, and those above.  [fiber thread; parks, cancel]
 */
int weft_blocking_owned(void *(*fn)(void *), void *arg, void (*destroy)(void *), void **result);

/* getaddrinfo, on that pool, and given up when the caller is told to stop: EAI_SYSTEM, and errno tells. Result and
 * errors as there; no thread: EAI_AGAIN.  [fiber thread; parks, cancel] */
int weft_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **result);

/* "io_uring", "epoll": what is used. "none" as long as nothing has been done.  [fiber thread] */
const char *weft_io_engine(void);

/* The same with the reason, for people: "io_uring, woken by eventfd: no futex wait in the ring",
 * "epoll: io_uring_setup: Operation not permitted". "none" as long as nothing has been done.  [fiber thread] */
const char *weft_io_engine_why(void);

#ifdef __cplusplus
}
#endif
#endif
