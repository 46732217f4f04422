/* SPDX-License-Identifier: MIT */
/*
 * Reading, writing and connecting. Each call first makes an attempt that does not wait. If that is not possible, it
 * asks the kernel whether the descriptor is blocking. If so, the thread parks in weft's call of the same name.
 *
 *   a socket      the attempt uses MSG_DONTWAIT
 *   others        the flags of the descriptor decide
 *   stored files  never wait for a peer, only for a disk. Threads of an unmodified program block their worker
 *                 meanwhile; the program's own fibers park
 *
 * descriptors.c remembers by number which descriptors are sockets, and whether they block.
 */
#define _GNU_SOURCE
#include "weft/io.h"
#include "threads/descriptors.h"
#include "threads/threads.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

REAL(read);
REAL(write);
REAL(readv);
REAL(writev);
REAL(recv);
REAL(send);
REAL(recvfrom);
REAL(sendto);
REAL(recvmsg);
REAL(sendmsg);
REAL(recvmmsg);
REAL(sendmmsg);
REAL(accept);
REAL(accept4);
REAL(connect);
REAL(close);
/* <bits/unistd.h> declares these only for code that is compiled with _FORTIFY_SOURCE. */
ssize_t __read_chk(int, void *, size_t, size_t);
ssize_t __recv_chk(int, void *, size_t, size_t, int);
ssize_t __recvfrom_chk(int, void *, size_t, size_t, int, struct sockaddr *, socklen_t *);
REAL(__read_chk);
REAL(__recv_chk);
REAL(__recvfrom_chk);

/* Must a call that reads or writes not park? */
static bool is_direct(int fd, uint8_t kind) {
    return kind == WEFT_DESCRIPTOR_STORED ? !weft__posix
                                          : kind == WEFT_DESCRIPTOR_UNKNOWN || weft__descriptor_is_nonblocking(fd);
}

/* --- a call that parks ----------------------------------------------------------------------------------- */

/* Runs a call of weft until it is done, its deadline passes, or a signal ends it. late: errno if the deadline
 * passes. */
#define PARK(fd, option, late, call) \
    ({ \
        struct weft__interruptible interruptible_; \
        uint64_t deadline_ = weft__descriptor_deadline(fd, option); \
        __typeof__(call) result_ = -1; \
        for (;;) { \
            weft__interrupt_begin(&interruptible_, deadline_); \
            result_ = call; \
            bool again_ = weft__interrupt_end(&interruptible_); \
            if (result_ >= 0 || !weft__interrupt_explain(deadline_, late) || !again_) break; \
        } \
        result_; \
    })

/* A call on a socket: makes an attempt, and parks if that would block. The flags do not contain MSG_DONTWAIT. */
#define SOCKET_CALL(fd, option, attempt, parked) \
    ({ \
        __typeof__(attempt) done_ = attempt; \
        if (unlikely(done_ < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) && !weft__descriptor_is_nonblocking(fd)) \
            done_ = PARK(fd, option, EAGAIN, parked); \
        done_; \
    })

/*
 * Writing to a socket or pipe that has no reader. The kernel's SIGPIPE goes to a carrier, which does not know the mask
 * of the thread. So calls on sockets use MSG_NOSIGNAL, and the thread gets its signal here. On pipes, a thread that
 * blocks the signal makes the call itself, while its carrier blocks it, too.
 */
static ssize_t note_broken(ssize_t result, int flags) {
    if (likely(result >= 0 || errno != EPIPE) || flags & MSG_NOSIGNAL || !weft__thread_self()) return result;
    weft__signals_send(&weft__thread, SIGPIPE, NULL);
    errno = EPIPE;
    return result;
}

static bool blocks_broken(void) {
    return weft__thread_self() && unlikely(load_rlx(&weft__thread.mask) & WEFT_BIT(SIGPIPE));
}
#define HOLDING_BROKEN(call) \
    ({ \
        uint64_t held_ = WEFT_BIT(SIGPIPE); \
        const struct timespec at_once_ = {0, 0}; \
        __wrap_syscall(SYS_rt_sigprocmask, SIG_BLOCK, &held_, NULL, sizeof held_); \
        ssize_t wrote_ = call; \
        int err_ = errno; \
        if (wrote_ < 0 && err_ == EPIPE) __wrap_syscall(SYS_rt_sigtimedwait, &held_, NULL, &at_once_, sizeof held_); \
        __wrap_syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &held_, NULL, sizeof held_); \
        errno = err_; \
        note_broken(wrote_, 0); \
    })
/* A call on a descriptor that is no socket. */
#define PIPE_CALL(fd, direct, call, parked) \
    ({ \
        struct pollfd room_ = {.fd = fd, .events = POLLOUT}; \
        bool blocks_ = blocks_broken(); \
        if (blocks_ && !(direct)) (void)!PARK(fd, 0, EAGAIN, weft_poll(&room_, 1, -1)); \
        blocks_ ? HOLDING_BROKEN(call) : (direct) ? call : PARK(fd, 0, EAGAIN, parked); \
    })

/* May the C library make the call? */
static bool is_plain(int fd) {
    if (!weft__caller_parks()) return true;
    weft__cancel_point();
    return fd < 0;
}

WEFT_INTERPOSED ssize_t read(int fd, void *buffer, size_t size) {
    if (is_plain(fd)) return real(read)(fd, buffer, size);
    uint8_t kind = weft__descriptor_kind(fd);
    if (kind == WEFT_DESCRIPTOR_SOCKET && size) {
        ssize_t n =
            SOCKET_CALL(fd, SO_RCVTIMEO, real(recv)(fd, buffer, size, MSG_DONTWAIT), weft_read(fd, buffer, size));
        if (n >= 0 || errno != ENOTSOCK) return n;
        weft__descriptor_forget(fd);
        kind = weft__descriptor_kind(fd);
    }
    if (is_direct(fd, kind)) return real(read)(fd, buffer, size);
    return PARK(fd, 0, EAGAIN, weft_read(fd, buffer, size));
}
WEFT_INTERPOSED ssize_t write(int fd, const void *buffer, size_t size) {
    if (is_plain(fd)) return real(write)(fd, buffer, size);
    uint8_t kind = weft__descriptor_kind(fd);
    bool direct = is_direct(fd, kind);
    if (kind == WEFT_DESCRIPTOR_STORED && direct) return real(write)(fd, buffer, size);
    if (kind != WEFT_DESCRIPTOR_SOCKET)
        return PIPE_CALL(fd, direct, real(write)(fd, buffer, size), weft_write(fd, buffer, size));
    ssize_t n = direct ? real(send)(fd, buffer, size, MSG_NOSIGNAL)
                       : PARK(fd, SO_SNDTIMEO, EAGAIN, weft_write(fd, buffer, size));
    if (likely(n >= 0 || errno != ENOTSOCK)) return note_broken(n, 0);
    weft__descriptor_forget(fd);
    return write(fd, buffer, size);
}
WEFT_INTERPOSED ssize_t readv(int fd, const struct iovec *parts, int n) {
    if (is_plain(fd) || is_direct(fd, weft__descriptor_kind(fd))) return real(readv)(fd, parts, n);
    return PARK(fd, weft__descriptor_kind(fd) == WEFT_DESCRIPTOR_SOCKET ? SO_RCVTIMEO : 0, EAGAIN,
                weft_readv(fd, parts, n));
}
WEFT_INTERPOSED ssize_t writev(int fd, const struct iovec *parts, int n) {
    if (is_plain(fd)) return real(writev)(fd, parts, n);
    uint8_t kind = weft__descriptor_kind(fd);
    bool direct = is_direct(fd, kind);
    if (kind == WEFT_DESCRIPTOR_STORED && direct) return real(writev)(fd, parts, n);
    if (kind != WEFT_DESCRIPTOR_SOCKET)
        return PIPE_CALL(fd, direct, real(writev)(fd, parts, n), weft_writev(fd, parts, n));
    struct msghdr message = {.msg_iov = (struct iovec *)(uintptr_t)parts, .msg_iovlen = (size_t)n};
    ssize_t done =
        direct ? real(sendmsg)(fd, &message, MSG_NOSIGNAL) : PARK(fd, SO_SNDTIMEO, EAGAIN, weft_writev(fd, parts, n));
    if (likely(done >= 0 || errno != ENOTSOCK)) return note_broken(done, 0);
    weft__descriptor_forget(fd);
    return writev(fd, parts, n);
}
WEFT_INTERPOSED ssize_t recv(int fd, void *buffer, size_t size, int flags) {
    if (is_plain(fd) || flags & MSG_DONTWAIT) return real(recv)(fd, buffer, size, flags);
    if (flags & MSG_WAITALL && !weft__descriptor_is_nonblocking(fd))
        return PARK(fd, SO_RCVTIMEO, EAGAIN, weft_recv(fd, buffer, size, flags));
    return SOCKET_CALL(fd, SO_RCVTIMEO, real(recv)(fd, buffer, size, flags | MSG_DONTWAIT),
                       weft_recv(fd, buffer, size, flags));
}
WEFT_INTERPOSED ssize_t recvfrom(int fd, void *buffer, size_t size, int flags, struct sockaddr *from,
                                 socklen_t *length) {
    if (is_plain(fd) || flags & MSG_DONTWAIT) return real(recvfrom)(fd, buffer, size, flags, from, length);
    return SOCKET_CALL(fd, SO_RCVTIMEO, real(recvfrom)(fd, buffer, size, flags | MSG_DONTWAIT, from, length),
                       weft_recvfrom(fd, buffer, size, flags, from, length));
}
WEFT_INTERPOSED ssize_t recvmsg(int fd, struct msghdr *message, int flags) {
    ssize_t n = is_plain(fd) || flags & MSG_DONTWAIT
                    ? real(recvmsg)(fd, message, flags)
                    : SOCKET_CALL(fd, SO_RCVTIMEO, real(recvmsg)(fd, message, flags | MSG_DONTWAIT),
                                  weft_recvmsg(fd, message, flags));
    if (n >= 0 && message->msg_controllen) weft__descriptors_in(message);
    return n;
}
/* A program expects a blocking send of a stream to send all bytes. An attempt may send only a part; weft sends the
 * rest. */
WEFT_INTERPOSED ssize_t send(int fd, const void *buffer, size_t size, int flags) {
    if (is_plain(fd)) return real(send)(fd, buffer, size, flags);
    bool direct = flags & MSG_DONTWAIT || weft__descriptor_is_nonblocking(fd);
    return note_broken(direct ? real(send)(fd, buffer, size, flags | MSG_NOSIGNAL)
                              : PARK(fd, SO_SNDTIMEO, EAGAIN, weft_send(fd, buffer, size, flags)),
                       flags);
}
WEFT_INTERPOSED ssize_t sendto(int fd, const void *buffer, size_t size, int flags, const struct sockaddr *to,
                               socklen_t length) {
    if (is_plain(fd)) return real(sendto)(fd, buffer, size, flags, to, length);
    bool direct = flags & MSG_DONTWAIT || weft__descriptor_is_nonblocking(fd);
    return note_broken(direct ? real(sendto)(fd, buffer, size, flags | MSG_NOSIGNAL, to, length)
                              : PARK(fd, SO_SNDTIMEO, EAGAIN, weft_sendto(fd, buffer, size, flags, to, length)),
                       flags);
}
WEFT_INTERPOSED ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
    if (is_plain(fd)) return real(sendmsg)(fd, message, flags);
    if (message->msg_controllen) weft__descriptors_in(message);
    bool direct = flags & MSG_DONTWAIT || weft__descriptor_is_nonblocking(fd);
    return note_broken(direct ? real(sendmsg)(fd, message, flags | MSG_NOSIGNAL)
                              : PARK(fd, SO_SNDTIMEO, EAGAIN, weft_sendmsg(fd, message, flags)),
                       flags);
}

/* --- several messages ------------------------------------------------------------------------------------- */

static bool park_until_ready(int fd, short events, int option) {
    struct pollfd ready = {.fd = fd, .events = events};
    return PARK(fd, option, EAGAIN, weft_poll(&ready, 1, -1)) > 0;
}

/* Looks at the time only after a message, as the kernel does. */
WEFT_INTERPOSED int recvmmsg(int fd, struct mmsghdr *messages, unsigned n, int flags, struct timespec *time) {
    if (is_plain(fd) || flags & MSG_DONTWAIT || weft__descriptor_is_nonblocking(fd))
        return real(recvmmsg)(fd, messages, n, flags, time);
    uint64_t deadline = time ? weft__time_after(time) : WEFT_FOREVER;
    unsigned got = 0;
    while (got < n) {
        int more = real(recvmmsg)(fd, messages + got, n - got, flags | MSG_DONTWAIT, NULL);
        if (more > 0) {
            got += (unsigned)more;
            if (flags & MSG_WAITFORONE || (time && weft_now() >= deadline)) break;
        } else if ((errno != EAGAIN && errno != EWOULDBLOCK) || !park_until_ready(fd, POLLIN, SO_RCVTIMEO))
            return got ? (int)got : -1;
    }
    return (int)got;
}
WEFT_INTERPOSED int sendmmsg(int fd, struct mmsghdr *messages, unsigned n, int flags) {
    if (is_plain(fd)) return real(sendmmsg)(fd, messages, n, flags);
    bool direct = flags & MSG_DONTWAIT || weft__descriptor_is_nonblocking(fd);
    if (direct) return (int)note_broken(real(sendmmsg)(fd, messages, n, flags | MSG_NOSIGNAL), flags);
    for (unsigned i = 0; i < n; i++) {
        ssize_t size = sendmsg(fd, &messages[i].msg_hdr, flags);
        if (size < 0) return i ? (int)i : -1;
        messages[i].msg_len = (unsigned)size;
    }
    return (int)n;
}

/* --- descriptors that count --------------------------------------------------------------------------------- */

WEFT_INTERPOSED int eventfd_read(int fd, eventfd_t *value) {
    return read(fd, value, sizeof *value) == sizeof *value ? 0 : -1;
}
WEFT_INTERPOSED int eventfd_write(int fd, eventfd_t value) {
    return write(fd, &value, sizeof value) == sizeof value ? 0 : -1;
}
WEFT_INTERPOSED int accept4(int fd, struct sockaddr *address, socklen_t *length, int flags) {
    int result = is_plain(fd) || weft__descriptor_is_nonblocking(fd)
                     ? real(accept4)(fd, address, length, flags)
                     : PARK(fd, SO_RCVTIMEO, EAGAIN, weft_accept4(fd, address, length, flags));
    if (result >= 0) weft__descriptor_forget(result);
    return result;
}
WEFT_INTERPOSED int accept(int fd, struct sockaddr *address, socklen_t *length) {
    return accept4(fd, address, length, 0);
}
WEFT_INTERPOSED int connect(int fd, const struct sockaddr *address, socklen_t length) {
    if (is_plain(fd) || weft__descriptor_is_nonblocking(fd)) return real(connect)(fd, address, length);
    return PARK(fd, SO_SNDTIMEO, EINPROGRESS, weft_connect(fd, address, length));
}
/* Calls of programs that were compiled with _FORTIFY_SOURCE, which know the size of the buffer. If weft does not make
 * the call, the C library checks the size. */
WEFT_INTERPOSED ssize_t __read_chk(int fd, void *buffer, size_t size, size_t room) {
    return size > room ? real(__read_chk)(fd, buffer, size, room) : read(fd, buffer, size);
}
WEFT_INTERPOSED ssize_t __recv_chk(int fd, void *buffer, size_t size, size_t room, int flags) {
    return size > room ? real(__recv_chk)(fd, buffer, size, room, flags) : recv(fd, buffer, size, flags);
}
WEFT_INTERPOSED ssize_t __recvfrom_chk(int fd, void *buffer, size_t size, size_t room, int flags, struct sockaddr *from,
                                       socklen_t *length) {
    return size > room ? real(__recvfrom_chk)(fd, buffer, size, room, flags, from, length)
                       : recvfrom(fd, buffer, size, flags, from, length);
}

/* Ends waits of other threads for this descriptor, as weft_close does. With kernel threads they would continue. */
WEFT_INTERPOSED int close(int fd) {
    weft__descriptor_forget(fd);
    if (!weft__caller_parks()) return real(close)(fd);
    weft__cancel_point();
    weft__thread_enter();
    int result = weft_close(fd);
    weft__thread_leave();
    return result;
}
