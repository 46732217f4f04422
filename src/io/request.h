/* SPDX-License-Identifier: MIT */
/*
 * A request: a POSIX call as data, so that it can be made by a system call, by a ring or by another thread. The meaning
 * of the fields depends on the code. A request is not changed while it is made.
 *
 *   code       fd      memory     size    offset        other       extra          flags
 *   READ       fd      buffer     bytes   or WEFT_HERE  -           -              -
 *   READV      fd      iovecs     n       or WEFT_HERE  -           -              -
 *   WRITE, WRITEV      the same
 *   OPEN       dir     path       mode    -             -           -              open's
 *   CLOSE      fd
 *   SYNC       fd      -          -       -             -           -              1: data only
 *   STAT       dir     path       mask    -             -           struct statx   AT_...
 *   UNLINK     dir     path       -       -             -           -              AT_...
 *   RENAME     dir     path       -       -             to dir      to path        -
 *   MKDIR      dir     path       mode
 *   ACCEPT     fd      sockaddr   -       -             -           socklen_t      SOCK_...
 *   CONNECT    fd      sockaddr   bytes
 *   SEND, RECV fd      buffer     bytes   -             -           -              MSG_...
 *   SENDMSG, RECVMSG   msghdr     -       -             -           -              MSG_...
 *   SENDTO     fd      buffer     bytes   address size  -           sockaddr       MSG_...
 *   RECVFROM   fd      buffer     bytes   socklen_t *   -           sockaddr       MSG_...
 *   SHUTDOWN   fd      -          -       -             -           -              how
 *   POLL       fd      -          -       -             another     -              events; result: those found
 *   SPLICE     out     out offset bytes   -             in          in offset      SPLICE_F_...
 *   SENDFILE   out     -          bytes   -             in          in offset      -
 *   WAIT       pid     int status -       -             -           -              waitpid's
 *   SLEEP      -1      -          -       deadline
 *
 * SENDTO, RECVFROM and SLEEP exist only for background operations, and never reach an engine (engine.c). The offsets of
 * SPLICE and SENDFILE are off_t * or NULL. If other_generation of a POLL is set, a close of the other descriptor ends
 * it as well.
 */
#ifndef WEFT_IO_REQUEST_H
#define WEFT_IO_REQUEST_H

#include "weft/io.h"

#include "base/base.h"

enum weft__code {
    WEFT_IO_READ,
    WEFT_IO_READV,
    WEFT_IO_WRITE,
    WEFT_IO_WRITEV,
    WEFT_IO_OPEN,
    WEFT_IO_CLOSE,
    WEFT_IO_SYNC,
    WEFT_IO_STAT,
    WEFT_IO_UNLINK,
    WEFT_IO_RENAME,
    WEFT_IO_MKDIR,
    WEFT_IO_ACCEPT,
    WEFT_IO_CONNECT,
    WEFT_IO_SEND,
    WEFT_IO_RECV,
    WEFT_IO_SENDMSG,
    WEFT_IO_RECVMSG,
    WEFT_IO_SENDTO,
    WEFT_IO_RECVFROM,
    WEFT_IO_SHUTDOWN,
    WEFT_IO_POLL,
    WEFT_IO_SPLICE,
    WEFT_IO_SENDFILE,
    WEFT_IO_WAIT,
    WEFT_IO_SLEEP,
    WEFT_IO_CODES
};

#define WEFT_IO_HERE (-1)        /* offset: the current position of the file */
#define WEFT_IO_MOST 0x7ffff000u /* bytes that one call of the kernel transfers at most */

struct weft__request {
    uint8_t code;
    uint64_t generation;       /* generation of fd when the request was begun (fd_generation.h); 0: it begins now */
    uint64_t other_generation; /* the same for `other`, if it is a descriptor */
    int fd;
    int other;
    uint32_t flags;
    void *memory;
    size_t size;
    int64_t offset;
    void *extra;
};

/* Makes the call, and blocks if necessary. Retries if interrupted. Returns the result or a negative errno. */
ssize_t weft__request_perform(const struct weft__request *r);

/* The same without a retry: -1 and errno. The second only for READ ... WRITEV, with RWF_... flags. */
ssize_t weft__request_call(const struct weft__request *r);
ssize_t weft__request_bytes(const struct weft__request *r, int how);

/* --- nonblocking.c: for fibers -------------------------------------------------------------------------------- */

/*
 * Makes the call if it is known not to block. Returns the result, a negative errno, or
 *   -EAGAIN      it would block; weft__request_poll_target tells what to wait for. A CONNECT waits for room in a
 *                queue, which the kernel does not report
 *   -EINPROGRESS only for CONNECT: it is under way; when the descriptor is ready, another attempt tells the result
 *   -ENOTSUP     unknown, or it cannot be waited for: another thread must make the call
 */
ssize_t weft__request_attempt(const struct weft__request *r);
/* The same after a wait, for that generation of the descriptor. -EBADF: it was closed (fd_generation.h). */
ssize_t weft__request_attempt_again(const struct weft__request *r, uint64_t generation);

/* Does it transfer bytes between two descriptors? Then either may have to be waited for, and may be closed. */
static inline bool weft__request_is_splice(const struct weft__request *r) {
    return r->code == WEFT_IO_SPLICE || r->code == WEFT_IO_SENDFILE;
}

/* What to wait for before the next attempt: POLLIN, POLLOUT ... on r->fd or on the other descriptor. */
struct weft__awaited {
    int fd;
    short events;
};
short weft__request_poll_events(const struct weft__request *r);
void weft__request_poll_target(const struct weft__request *r, struct weft__awaited *at);

/* For READ ... WRITEV. size: the number of bytes. finish: makes the rest of a request with `done` bytes done, on a
 * thread of the pool; returns the total, also if the rest fails. */
size_t weft__request_size(const struct weft__request *r);
ssize_t weft__request_finish(const struct weft__request *r, size_t done);

/* For a short write: has the file reached the size limit of this process (RLIMIT_FSIZE)? Then the next byte would cause
 * a signal. */
bool weft__request_is_at_limit(const struct weft__request *r);

/* Is it a write to a device that is not a terminal? Its bytes form a record and must be written by a single call. */
bool weft__request_is_record(const struct weft__request *r);

bool weft__request_is_stream(int fd);

/* Receives that a ring handles differently: out-of-band data; and MSG_PEEK with MSG_WAITALL, where a ring would store
 * the peeked bytes several times. */
static inline bool weft__request_is_receive(const struct weft__request *r) {
    return r->code == WEFT_IO_RECV || r->code == WEFT_IO_RECVMSG;
}
static inline bool weft__request_is_out_of_band(const struct weft__request *r) {
    return weft__request_is_receive(r) && r->flags & (MSG_OOB | MSG_ERRQUEUE);
}
/* A receive that takes the next bytes, whatever they are. */
static inline bool weft__request_takes_bytes(const struct weft__request *r) {
    return r->code == WEFT_IO_RECV && r->size && !(r->flags & (MSG_PEEK | MSG_OOB | MSG_ERRQUEUE));
}
static inline bool weft__request_peeks_all(const struct weft__request *r) {
    const uint32_t both = MSG_PEEK | MSG_WAITALL;
    return weft__request_is_receive(r) && r->memory && (r->flags & both) == both;
}
size_t weft__request_message_size(const struct msghdr *m);

#endif
