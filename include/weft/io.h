/* SPDX-License-Identifier: MIT */
/*
 * Input and output. weft.h says how to read this header, but does not include it, because it needs <sys/socket.h> and
 * others.
 *
 * Most functions here are look-alikes: weft_read does what read(2) does on a blocking descriptor, whatever the flags of
 * the descriptor say, for files, pipes, terminals and sockets. Where the original blocks its thread, the look-alike
 * parks its fiber. Look-alikes return what the originals return: -1, and the error in errno. The differences:
 *
 *   - Cancellation ends a look-alike with ECANCELED, or ETIMEDOUT for the deadline of a scope. If it has read, written,
 *     accepted or opened something by then, it returns that instead of the error. When it returns, the kernel no longer
 *     touches the memory that it was given.
 *   - Look-alikes do not fail with EINTR.
 *   - A write to a socket whose peer has gone fails with EPIPE and raises no SIGPIPE. A write to a pipe without a
 *     reader raises SIGPIPE as it does for a thread: programs that write to pipes ignore it, signal(SIGPIPE, SIG_IGN).
 *   - weft_close wakes fibers that wait for the descriptor; they fail with EBADF. No call ever gets data meant for an
 *     earlier or later file with the same descriptor number.
 *   - Two fibers that read the same descriptor each get a part of the data, as threads would.
 *   - SO_RCVTIMEO and SO_SNDTIMEO have no effect. Use the _until forms, or a scope with a deadline around several
 *     calls.
 *
 * A thread that is not a fiber makes the plain system call: O_NONBLOCK descriptors give EAGAIN, the time-outs of the
 * socket apply, EINTR is possible, and neither cancellation nor weft_close wakes it.
 *
 * weft uses io_uring, one ring for each worker, where the kernel allows it, and otherwise epoll and a small pool of
 * threads. WEFT_IO=epoll in the environment asks for the latter. Calls that can only block a thread (open, stat,
 * rename, fsync, reads of files that are not in memory) are limited: 64 at a time in the pool, and 32 for each worker
 * with io_uring. Further calls queue. They all end by themselves, except the open of a FIFO whose other end is not
 * open: use O_NONBLOCK for those. docs/IO.md has the details.
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
 * Reading and writing
 *
 * Look-alikes of read(2), write(2) and their relatives. On failure they return -1 and set errno.
 * ------------------------------------------------------------------------------------------ */

/*
 * Read from a descriptor, as read, pread, readv and preadv do. They return the number of bytes, or 0 at the end of the
 * data.
 *
 * Errors: those of the original, and ENOMEM.
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE ssize_t weft_read(int fd, void *buffer, size_t size);
WEFT_MUST_USE ssize_t weft_pread(int fd, void *buffer, size_t size, off_t offset);
WEFT_MUST_USE ssize_t weft_readv(int fd, const struct iovec *parts, int n);
WEFT_MUST_USE ssize_t weft_preadv(int fd, const struct iovec *parts, int n, off_t offset);

/*
 * Write to a descriptor, as write, pwrite, writev and pwritev do. A write to a pipe or socket returns less than it was
 * given only if it is cancelled or fails after some bytes.
 *
 * Errors: those of the original, and ENOMEM.
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE ssize_t weft_write(int fd, const void *buffer, size_t size);
WEFT_MUST_USE ssize_t weft_pwrite(int fd, const void *buffer, size_t size, off_t offset);
WEFT_MUST_USE ssize_t weft_writev(int fd, const struct iovec *parts, int n);
WEFT_MUST_USE ssize_t weft_pwritev(int fd, const struct iovec *parts, int n, off_t offset);

/*
 * Read or write with a deadline for this one call. When the deadline passes they fail with ETIMEDOUT, unless some bytes
 * were transferred: then they return those.
 *
 *     ssize_t n = weft_read_until(fd, buffer, sizeof buffer, weft_now() + 5 * WEFT_SECOND);
 *
 * For several calls with one deadline, use a scope (weft/scope.h).
 *
 * Errors: those of weft_read and weft_write; EPERM if the caller is not a fiber.
 * [fiber; parks, cancel]
 */
WEFT_MUST_USE ssize_t weft_read_until(int fd, void *buffer, size_t size, uint64_t deadline);
WEFT_MUST_USE ssize_t weft_write_until(int fd, const void *buffer, size_t size, uint64_t deadline);

/*
 * Sends bytes of the file `in` to `out`, as sendfile does, but all of them unless the file ends first. If `out` is a
 * socket, a pipe or a terminal, the bytes are not copied and no other thread is needed; but the worker waits while
 * parts of the file that are not in memory are read. Otherwise a thread of the pool sends them. Closing either
 * descriptor ends the call with EBADF.
 *
 * Errors: those of sendfile(2), and ENOMEM.
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE ssize_t weft_sendfile(int out, int in, off_t *offset, size_t size);

/*
 * Moves bytes between a pipe and another descriptor, as splice does. Closing either descriptor ends the call with
 * EBADF.
 *
 * Errors: those of splice(2), and ENOMEM.
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE ssize_t weft_splice(int in, off_t *in_offset, int out, off_t *out_offset, size_t size, unsigned flags);

/* ---------------------------------------------------------------------------------------------
 * Files
 *
 * Look-alikes of calls for files and names. On failure they return -1 and set errno.
 * ------------------------------------------------------------------------------------------ */

/*
 * Open a file and return its descriptor, as open and openat do. A third or fourth argument, mode_t mode, is needed with
 * O_CREAT and O_TMPFILE.
 *
 * Errors: those of open(2), and ENOMEM.
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE int weft_open(const char *path, int flags, ...);
WEFT_MUST_USE int weft_openat(int dir, const char *path, int flags, ...);

/*
 * Closes a descriptor. Fibers that wait for it wake and fail with EBADF. Not a cancellation point: the descriptor is
 * closed afterwards.
 *
 * Errors: those of close(2).
 * [fiber thread; parks]
 */
int weft_close(int fd);

/*
 * Write the data of a file to its device, as fsync and fdatasync do.
 *
 * Errors: those of fsync(2), and ENOMEM.
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE int weft_fsync(int fd);
WEFT_MUST_USE int weft_fdatasync(int fd);

/*
 * Reads the attributes of a file, as statx does.
 *
 * Errors: those of statx(2), and ENOMEM.
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE int weft_statx(int dir, const char *path, int flags, unsigned mask, struct statx *result);

/*
 * Removes a name, as unlinkat does.
 *
 * Errors: those of unlink(2), and ENOMEM.
 * [fiber thread; parks, cancel]
 */
int weft_unlinkat(int dir, const char *path, int flags);

/*
 * Renames a file, as renameat does.
 *
 * Errors: those of rename(2), and ENOMEM.
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE int weft_renameat(int from_dir, const char *from, int to_dir, const char *to);

/*
 * Creates a directory, as mkdirat does.
 *
 * Errors: those of mkdir(2), and ENOMEM.
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE int weft_mkdirat(int dir, const char *path, mode_t mode);

/* ---------------------------------------------------------------------------------------------
 * Sockets
 *
 * Look-alikes of calls for sockets. On failure they return -1 and set errno.
 * ------------------------------------------------------------------------------------------ */

/*
 * Accept a connection and return its descriptor, as accept and accept4 do. The descriptor of weft_accept is closed on
 * exec.
 *
 * Errors: those of accept(2), and ENOMEM.
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE int weft_accept(int fd, struct sockaddr *address, socklen_t *length);
WEFT_MUST_USE int weft_accept4(int fd, struct sockaddr *address, socklen_t *length, int flags);

/*
 * Connects a socket, as connect does, and waits until the connection is made or refused.
 *
 * Errors: those of connect(2), and ENOMEM.
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE int weft_connect(int fd, const struct sockaddr *address, socklen_t length);

/*
 * Send bytes or a message, as send, sendto and sendmsg do. Never raise SIGPIPE.
 *
 * Errors: those of send(2), and ENOMEM.
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE ssize_t weft_send(int fd, const void *buffer, size_t size, int flags);
WEFT_MUST_USE ssize_t weft_sendto(int fd, const void *buffer, size_t size, int flags, const struct sockaddr *to,
                                  socklen_t length);
WEFT_MUST_USE ssize_t weft_sendmsg(int fd, const struct msghdr *message, int flags);

/*
 * Receive bytes or a message, as recv, recvfrom and recvmsg do.
 *
 * Errors: those of recv(2), and ENOMEM.
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE ssize_t weft_recv(int fd, void *buffer, size_t size, int flags);
WEFT_MUST_USE ssize_t weft_recvfrom(int fd, void *buffer, size_t size, int flags, struct sockaddr *from,
                                    socklen_t *length);
WEFT_MUST_USE ssize_t weft_recvmsg(int fd, struct msghdr *message, int flags);

/*
 * Shuts down one or both directions of a connection, as shutdown does.
 *
 * Errors: those of shutdown(2).
 * [fiber thread; parks, cancel]
 */
int weft_shutdown(int fd, int how);

/*
 * Do what the functions without _until do, with a deadline for this one call. When it passes they fail with ETIMEDOUT,
 * unless something was transferred or accepted: then they return that. After a weft_connect_until that failed, close
 * the socket.
 *
 * Errors: those of the function without _until; EPERM if the caller is not a fiber.
 * [fiber; parks, cancel]
 */
WEFT_MUST_USE ssize_t weft_recv_until(int fd, void *buffer, size_t size, int flags, uint64_t deadline);
WEFT_MUST_USE ssize_t weft_send_until(int fd, const void *buffer, size_t size, int flags, uint64_t deadline);
WEFT_MUST_USE int weft_accept_until(int fd, struct sockaddr *address, socklen_t *length, uint64_t deadline);
WEFT_MUST_USE int weft_connect_until(int fd, const struct sockaddr *address, socklen_t length, uint64_t deadline);

/* ---------------------------------------------------------------------------------------------
 * Waiting
 *
 * Look-alikes of calls that wait for descriptors, children and time. On failure they return -1 and set errno.
 * ------------------------------------------------------------------------------------------ */

/*
 * Waits until one of n descriptors is ready, as poll does. A negative time-out means none.
 *
 * Errors: those of poll(2), and ENOMEM.
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE int weft_poll(struct pollfd *fds, nfds_t n, int milliseconds);

/*
 * Wait for a child process, as waitpid does; weft_waitpid_until fails with ETIMEDOUT when its deadline passes.
 *
 * Errors: those of waitpid(2), and ENOMEM; weft_waitpid_until also EPERM if the caller is not a fiber.
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE pid_t weft_waitpid(pid_t pid, int *status, int options);
WEFT_MUST_USE pid_t weft_waitpid_until(pid_t pid, int *status, int options, uint64_t deadline);

/*
 * Sleep, as sleep, usleep and nanosleep do. A cancelled weft_sleep returns the seconds that are left; the other two
 * fail with ECANCELED or ETIMEDOUT, and weft_nanosleep stores the time that is left.
 *
 * Errors: EINVAL if the time is out of range.
 * [fiber thread; parks, cancel]
 */
unsigned weft_sleep(unsigned seconds);
int weft_usleep(unsigned microseconds);
int weft_nanosleep(const struct timespec *time, struct timespec *left);

/* ---------------------------------------------------------------------------------------------
 * Asynchronous operations
 *
 * The same operations, running while the caller goes on:
 *
 *     struct weft_io a, b;
 *     if (weft_io_read(&a, fd, buffer, sizeof buffer) || weft_io_accept(&b, listener, NULL, NULL, 0)) return -1;
 *     prepare();
 *     ssize_t n = weft_io_wait(&a);
 *
 * The member `future` is done when the operation is: weft_future_any, weft_case_select and others can wait for it. Its
 * value is the result (as intptr_t), its error the negative errno. The struct, and all memory given to the operation,
 * must stay until weft_io_wait has returned or a wait for the future has seen it done. A write may write less than it
 * was given. An operation in flight keeps the runtime alive, as a fiber does.
 * ------------------------------------------------------------------------------------------ */

/* An operation in flight. */
struct weft_io {
    struct weft_future future;
    void *opaque[24];
};

/* Initialises a struct weft_io. Not needed before an operation is started. */
#define WEFT_IO_INIT \
    { \
        WEFT_FUTURE_INIT, { NULL } \
    }

/*
 * Start to read or write, as the functions of the same names do. Other errors are the result of the operation.
 *
 * Errors:
 *   -EINVAL   io is NULL
 *   -ENOMEM   out of memory
 *   -EPERM    the caller is not a fiber
 * [fiber]
 */
WEFT_MUST_USE int weft_io_read(struct weft_io *io, int fd, void *buffer, size_t size);
WEFT_MUST_USE int weft_io_write(struct weft_io *io, int fd, const void *buffer, size_t size);
WEFT_MUST_USE int weft_io_pread(struct weft_io *io, int fd, void *buffer, size_t size, off_t offset);
WEFT_MUST_USE int weft_io_pwrite(struct weft_io *io, int fd, const void *buffer, size_t size, off_t offset);
WEFT_MUST_USE int weft_io_readv(struct weft_io *io, int fd, const struct iovec *parts, int n);
WEFT_MUST_USE int weft_io_writev(struct weft_io *io, int fd, const struct iovec *parts, int n);
WEFT_MUST_USE int weft_io_preadv(struct weft_io *io, int fd, const struct iovec *parts, int n, off_t offset);
WEFT_MUST_USE int weft_io_pwritev(struct weft_io *io, int fd, const struct iovec *parts, int n, off_t offset);

/*
 * Start to open, close or synchronise a file, or change names, as the functions of the same names do. Other errors are
 * the result of the operation.
 *
 * Errors:
 *   -EINVAL   io is NULL
 *   -ENOMEM   out of memory
 *   -EPERM    the caller is not a fiber
 * [fiber]
 */
WEFT_MUST_USE int weft_io_openat(struct weft_io *io, int dir, const char *path, int flags, mode_t mode);
WEFT_MUST_USE int weft_io_close(struct weft_io *io, int fd);
WEFT_MUST_USE int weft_io_fsync(struct weft_io *io, int fd);
WEFT_MUST_USE int weft_io_fdatasync(struct weft_io *io, int fd);
WEFT_MUST_USE int weft_io_statx(struct weft_io *io, int dir, const char *path, int flags, unsigned mask,
                                struct statx *result);
WEFT_MUST_USE int weft_io_unlinkat(struct weft_io *io, int dir, const char *path, int flags);
WEFT_MUST_USE int weft_io_renameat(struct weft_io *io, int from_dir, const char *from, int to_dir, const char *to);
WEFT_MUST_USE int weft_io_mkdirat(struct weft_io *io, int dir, const char *path, mode_t mode);

/*
 * Start to accept, connect, send, receive or shut down, as the functions of the same names do. weft_io_accept takes the
 * flags of accept4. Other errors are the result of the operation.
 *
 * Errors:
 *   -EINVAL   io is NULL
 *   -ENOMEM   out of memory
 *   -EPERM    the caller is not a fiber
 * [fiber]
 */
WEFT_MUST_USE int weft_io_accept(struct weft_io *io, int fd, struct sockaddr *address, socklen_t *length, int flags);
WEFT_MUST_USE int weft_io_connect(struct weft_io *io, int fd, const struct sockaddr *address, socklen_t length);
WEFT_MUST_USE int weft_io_send(struct weft_io *io, int fd, const void *buffer, size_t size, int flags);
WEFT_MUST_USE int weft_io_recv(struct weft_io *io, int fd, void *buffer, size_t size, int flags);
WEFT_MUST_USE int weft_io_sendto(struct weft_io *io, int fd, const void *buffer, size_t size, int flags,
                                 const struct sockaddr *to, socklen_t length);
WEFT_MUST_USE int weft_io_recvfrom(struct weft_io *io, int fd, void *buffer, size_t size, int flags,
                                   struct sockaddr *from, socklen_t *length);
WEFT_MUST_USE int weft_io_sendmsg(struct weft_io *io, int fd, const struct msghdr *message, int flags);
WEFT_MUST_USE int weft_io_recvmsg(struct weft_io *io, int fd, struct msghdr *message, int flags);
WEFT_MUST_USE int weft_io_shutdown(struct weft_io *io, int fd, int how);

/*
 * Start to wait until a descriptor is ready. The result is the events that were found. For several descriptors, start
 * one operation for each and use weft_future_any. Other errors are the result of the operation.
 *
 * Errors:
 *   -EINVAL   io is NULL
 *   -ENOMEM   out of memory
 *   -EPERM    the caller is not a fiber
 * [fiber]
 */
WEFT_MUST_USE int weft_io_poll(struct weft_io *io, int fd, short events);

/*
 * Start to splice, send a file, wait for a child, or sleep, as the functions of the same names do. Other errors are the
 * result of the operation.
 *
 * Errors:
 *   -EINVAL   io is NULL
 *   -ENOMEM   out of memory
 *   -EPERM    the caller is not a fiber
 * [fiber]
 */
WEFT_MUST_USE int weft_io_splice(struct weft_io *io, int in, off_t *in_offset, int out, off_t *out_offset, size_t size,
                                 unsigned flags);
WEFT_MUST_USE int weft_io_sendfile(struct weft_io *io, int out, int in, off_t *offset, size_t size);
WEFT_MUST_USE int weft_io_waitpid(struct weft_io *io, pid_t pid, int *status, int options);
WEFT_MUST_USE int weft_io_sleep_for(struct weft_io *io, uint64_t nanoseconds);

/*
 * Waits until an operation is done and returns its result, or a negative errno. If the caller is cancelled meanwhile,
 * the operation is cancelled too, and its end is awaited. weft_io_wait_until also cancels the operation when its
 * deadline passes, and then returns -ETIMEDOUT or what the operation had done.
 *
 * Errors:
 *   -EINVAL   io is NULL, or no operation was started
 *   -EPERM    the caller is not a fiber
 *   other     the error of the operation
 * [fiber; parks, cancel]
 */
WEFT_MUST_USE ssize_t weft_io_wait(struct weft_io *io);
WEFT_MUST_USE ssize_t weft_io_wait_until(struct weft_io *io, uint64_t deadline);

/*
 * Asks an operation to end, without waiting. It ends with -ECANCELED, or with what it had done.
 *
 * Errors:
 *   -EINVAL     io is NULL, or no operation was started
 *   -EALREADY   the operation is done
 * [fiber thread]
 */
int weft_io_cancel(struct weft_io *io);

/* ---------------------------------------------------------------------------------------------
 * Direct access to io_uring
 *
 * For operations that weft has no function for.
 * ------------------------------------------------------------------------------------------ */

/* The largest number of entries of one weft_uring call. */
#define WEFT_URING_MOST 64

/*
 * Submits n entries, filled in by liburing's io_uring_prep_... functions, as one batch in this order, and waits until
 * all have completed. IOSQE_IO_LINK makes chains of them. If the caller is cancelled, weft also cancels the entries and
 * waits for their end. The call then returns 0, and the results show which entries were cancelled.
 *
 *   entries   user_data is ignored; flags that make more or less than one completion are not allowed
 *   results   receives the result of each entry
 *
 * Errors:
 *   -EINVAL    n is 0, or above WEFT_URING_MOST or the size of the ring; a pointer is NULL; a flag is not allowed
 *   -ENOTSUP   weft does not use io_uring here
 *   -EPERM     the caller is not a fiber
 *   -ENOMEM    out of memory
 * [fiber; parks, cancel]
 */
WEFT_MUST_USE int weft_uring(const struct io_uring_sqe *entries, int *results, unsigned n);

/* ---------------------------------------------------------------------------------------------
 * Servers
 *
 * A listener accepts many connections with one request to the kernel. A lease is memory lent for a receive, so that
 * idle connections need no buffer.
 * ------------------------------------------------------------------------------------------ */

/* A listener. Its members are internal. */
struct weft_listener {
    void *opaque[24];
};

/*
 * Begins to accept connections for all fibers that call weft_listener_accept. If the kernel supports it, one multishot
 * request serves many connections.
 *
 *   fd      a listening socket; it stays the caller's
 *   flags   those of accept4
 *
 * Errors:
 *   -EINVAL   listener is NULL
 *   -ENOMEM   out of memory
 *   -EPERM    the caller is not a fiber
 * [fiber]
 */
WEFT_MUST_USE int weft_listener_begin(struct weft_listener *listener, int fd, int flags);

/*
 * Waits for the next connection and returns its descriptor.
 *
 * Errors: those of accept(2), as negative numbers.
 * [fiber; parks, cancel]
 */
WEFT_MUST_USE int weft_listener_accept(struct weft_listener *listener);

/*
 * Ends a listener, and closes connections that no fiber has taken. No fiber may be in weft_listener_accept: cancel
 * those first.
 *
 * Errors: -EBUSY if a fiber is in weft_listener_accept.
 * [fiber; parks]
 */
int weft_listener_end(struct weft_listener *listener);

/* The largest number of bytes of one lease. */
#define WEFT_LEASE_SIZE 4096

/* Memory lent by weft_recv_lease. */
struct weft_lease {
    void *data; /* the received bytes */
    void *opaque[2];
};

/*
 * Waits for bytes and receives them into memory that weft lends, so that an idle connection needs no buffer. Returns
 * the number of bytes, at most WEFT_LEASE_SIZE, or 0 when the peer has ended the stream. A positive result comes with
 * memory at lease->data: give it back soon by weft_lease_return. All connections of a worker share a pool; when it is
 * exhausted, weft lends heap memory.
 *
 * Errors:
 *   -EINVAL   lease is NULL
 *   -ENOMEM   out of memory
 *   other     those of recv(2), as negative numbers
 * [fiber; parks, cancel]
 */
WEFT_MUST_USE ssize_t weft_recv_lease(int fd, struct weft_lease *lease);

/*
 * Gives leased memory back.
 *
 * Errors: none.
 * [fiber]
 */
void weft_lease_return(struct weft_lease *lease);

/* ---------------------------------------------------------------------------------------------
 * Blocking calls
 *
 * Library calls that block a thread run on a pool of threads, so that workers keep running fibers.
 * ------------------------------------------------------------------------------------------ */

/*
 * Runs fn(arg) on a thread of a pool while the fiber waits. The pool has at most 64 threads; further calls queue. While
 * a call is queued it can be cancelled; fn then does not run. Once fn has started it is neither cancelled nor
 * interrupted, and weft_blocking returns when fn has returned. So fn may use the caller's memory. It runs on a thread
 * that takes no signals, and must not wait for another call that may be queued. If a thread calls weft_blocking, fn
 * runs on that thread.
 *
 *   result   receives what fn returned; may be NULL
 *
 * Errors:
 *   -EINVAL   fn is NULL
 *   -EAGAIN   the pool is empty and no thread could be created
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE int weft_blocking(void *(*fn)(void *), void *arg, void **result);

/*
 * Does what weft_blocking does, but a cancelled caller returns at once while fn continues. Therefore fn owns arg, which
 * is heap memory. After -ECANCELED or -ETIMEDOUT the caller must not touch arg: weft calls destroy(arg) when fn has
 * ended, or at once if fn had not started, and the result of fn is lost. After any other result arg belongs to the
 * caller again. weft_stop waits for functions that still run.
 *
 *   destroy   frees arg; may be NULL
 *   result    receives what fn returned; may be NULL
 *
 * Errors:
 *   -EINVAL   fn is NULL
 *   -EAGAIN   the pool is empty and no thread could be created
 *   -ENOMEM   out of memory
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE int weft_blocking_owned(void *(*fn)(void *), void *arg, void (*destroy)(void *), void **result);

/*
 * Looks up a host name, as getaddrinfo does, on the pool of weft_blocking. A cancelled caller returns at once with
 * EAI_SYSTEM, and ECANCELED or ETIMEDOUT in errno.
 *
 * Errors: those of getaddrinfo(3); EAI_AGAIN if no thread is available.
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE int weft_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                                   struct addrinfo **result);

/*
 * Returns how weft does I/O: "io_uring", "epoll", or "none" before the first operation.
 *
 * Errors: none.
 * [fiber thread]
 */
const char *weft_io_engine(void);

/*
 * Returns how weft does I/O and why, as a text for messages: "io_uring, woken by eventfd: no futex wait in the ring",
 * or "epoll: io_uring_setup: Operation not permitted". "none" before the first operation.
 *
 * Errors: none.
 * [fiber thread]
 */
const char *weft_io_engine_why(void);

#ifdef __cplusplus
}
#endif
#endif
