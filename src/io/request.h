/*
 * A request: one call of the POSIX family as data, so that it can be made by a system call, handed to a
 * ring, or to another thread. What the fields mean, by code; a request is only read by whoever makes it.
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
 *   SENDTO     fd      buffer     bytes   bytes of it   -           sockaddr       MSG_...
 *   RECVFROM   fd      buffer     bytes   socklen_t *   -           sockaddr       MSG_...
 *   SHUTDOWN   fd      -          -       -             -           -              how
 *   POLL       fd      -          -       -             another     -              events; result: those found
 *   SPLICE     out     out offset bytes   -             in          in offset      SPLICE_F_...
 *   SENDFILE   out     -          bytes   -             in          in offset      -
 *   WAIT       pid     int status -       -             -           -              waitpid's
 *   SLEEP      -1      -          -       until when
 *
 * SENDTO, RECVFROM and SLEEP are for operations under way, and never come to an engine (engine.c).
 * The offsets of SPLICE and SENDFILE are off_t *, or NULL. Of a POLL whose other_life is set, a close of the other one
 * is the end as well.
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

#define WEFT_IO_HERE (-1)        /* offset: where the file's position is */
#define WEFT_IO_MOST 0x7ffff000u /* bytes: as many as one call of the kernel moves */

struct weft__request {
    uint8_t code;
    uint32_t life;       /* of fd, when the request was made (known.h); 0: it is made now */
    uint32_t other_life; /* the same of the other one, if it is a descriptor */
    int fd;
    int other;
    uint32_t flags;
    void *memory;
    size_t size;
    int64_t offset;
    void *extra;
};

/* Makes the call, and blocks if it must: the result or a negative errno. Repeated if it is interrupted. */
ssize_t weft__request_perform(const struct weft__request *r);

/* The same once: -1 and errno. Of READ ... WRITEV alone, with RWF_... */
ssize_t weft__request_call(const struct weft__request *r);
ssize_t weft__request_bytes(const struct weft__request *r, int how);

/* --- attempt.c: for fibers -------------------------------------------------------------------------------- */

/*
 * Makes the call if it can be told that it does not block: the result, a negative errno, or
 *   -EAGAIN      it would have to wait, as weft__request_waits_at says; a CONNECT: for room in a queue, which
 *                nobody tells
 *   -EINPROGRESS only for CONNECT: it is under way; when the descriptor is ready, another attempt tells
 *   -ENOTSUP     that cannot be told, or be waited for: another thread must make the call
 */
ssize_t weft__request_attempt(const struct weft__request *r);
/* The same after a wait, in that life of the one descriptor that it is about; -EBADF: it is another one (known.h). */
ssize_t weft__request_again(const struct weft__request *r, uint32_t life);

/* Does it move bytes from one descriptor to another? Then either may be waited for, and closed. */
static inline bool weft__request_moves(const struct weft__request *r) {
    return r->code == WEFT_IO_SPLICE || r->code == WEFT_IO_SENDFILE;
}

/* What to wait for before the next attempt: POLLIN or POLLOUT ... on r->fd, or on the other one of two. */
struct weft__awaited {
    int fd;
    short events;
};
short weft__request_awaits(const struct weft__request *r);
void weft__request_waits_at(const struct weft__request *r, struct weft__awaited *at);

/* Of READ ... WRITEV: how many bytes it is about. And the rest of one whose first bytes are done, made by a thread of
 * the pool; how many are done in all, also if the rest fails. */
size_t weft__request_size(const struct weft__request *r);
ssize_t weft__request_go_on(const struct weft__request *r, size_t done);

/* Of a write that was short: is its file as long as a file of this process may be (RLIMIT_FSIZE)? The next byte would
 * be answered by a signal. */
bool weft__request_is_at_limit(const struct weft__request *r);

/* Is it a write to a device that is no terminal? What it is given at once belongs together. */
bool weft__request_is_record(const struct weft__request *r);

bool weft__request_is_stream(int fd);

/* A receive that a ring would do otherwise: of what does not come with the other bytes; or of all, which are to stay,
 * and which it would put there several times. */
static inline bool weft__request_receives(const struct weft__request *r) {
    return r->code == WEFT_IO_RECV || r->code == WEFT_IO_RECVMSG;
}
static inline bool weft__request_is_aside(const struct weft__request *r) {
    return weft__request_receives(r) && r->flags & (MSG_OOB | MSG_ERRQUEUE);
}
static inline bool weft__request_peeks_all(const struct weft__request *r) {
    const uint32_t both = MSG_PEEK | MSG_WAITALL;
    return weft__request_receives(r) && r->memory && (r->flags & both) == both;
}
size_t weft__request_room(const struct msghdr *m);

#endif
