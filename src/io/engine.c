/* SPDX-License-Identifier: MIT */
/*
 * Chooses the engine, and prepares requests for it. See engine.h. The first fiber that makes a request decides: by
 * WEFT_IO in the environment, or by whether the kernel offers a ring. The decision is final, because one engine cannot
 * end requests of the other.
 */
#define _GNU_SOURCE
#include "io/engine.h"

#include "base/message.h"
#include "base/sanitizer.h"
#include "io/fd_generation.h"
#include "io/file_position.h"
#include "io/odd_size.h"
#include "io/readiness.h"
#include "sched/observe/stats.h"
#include "sched/rings/rings.h"
#include "sched/wait/cancel.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Atomic(const struct weft__engine *) decided;

/* The engine and the reason for it, for example "epoll: io_uring_setup: Operation not permitted". Written once, by the
 * fiber that decided, before weft__io_name points to it. */
static char description[128];

static const struct weft__engine *decide_engine(const struct weft__engine *engine, const char *link,
                                                const char *reason) {
    const struct weft__engine *none = NULL;
    if (cas_sc(&decided, &none, engine)) { /* pairs with close_it */
        snprintf(description, sizeof description, "%s%s%s", engine->name, link, reason);
        store_rel(&weft__io_name, description); /* pairs with weft_io_engine_why and the statistics */
    }
    return load_acq(&decided);
}

/* The kernel offers no ring, or it lacks a feature. */
static const struct weft__engine *decide_without_ring(int err) {
    const char *lacks = load_rlx(&weft__ring_refusal);
    return lacks ? decide_engine(&weft__engine_epoll, ": io_uring: ", lacks)
                 : decide_engine(&weft__engine_epoll, ": io_uring_setup: ", weft__error_text(err));
}

/* Decides for one engine. If memory or descriptors are short at the moment, uses epoll for this request only, and the
 * next request decides. */
static WEFT_COLD const struct weft__engine *choose_engine(void) {
    const char *wish = getenv("WEFT_IO");
    int err;
    if (wish && !strcmp(wish, "epoll")) return decide_engine(&weft__engine_epoll, ": ", "WEFT_IO asks for it");
    if (wish && strcmp(wish, "uring")) weft__say("WEFT_IO=%s is ignored: it must be uring or epoll", wish);
    struct weft__uring *ring = weft__ring_lock_own(1, &err);
    if (ring) {
        bool has_bell = weft__uring_event_fd(ring) >= 0;
        weft__ring_unlock(ring);
        return decide_engine(&weft__engine_uring, ", woken by ",
                             has_bell ? "eventfd: no futex wait in the ring" : "a futex wait in the ring");
    }
    if (err == -ENOMEM || err == -EMFILE || err == -ENFILE) return &weft__engine_epoll;
    if (wish && !strcmp(wish, "uring")) weft__say("WEFT_IO=uring, but this kernel gives no ring: epoll is used");
    return decide_without_ring(err);
}

const struct weft__engine *weft__engine(void) {
    const struct weft__engine *engine = load_acq(&decided); /* pairs with decide_engine */
    return likely(engine != NULL) ? engine : choose_engine();
}

WEFT_PUBLIC const char *weft_io_engine(void) {
    const struct weft__engine *engine = load_acq(&decided);
    return engine ? engine->name : "none";
}

WEFT_PUBLIC const char *weft_io_engine_why(void) {
    const char *text = load_acq(&weft__io_name); /* pairs with decide_engine */
    return text ? text : "none";
}

/* Closes a descriptor as fd_generation.h says. It increments the generation before it reads the engine, so that a
 * request in an engine that is chosen later sees the new generation. */
static ssize_t close_it(const struct weft__request *r) {
    weft__readiness_close(r->fd);
    const struct weft__engine *engine = load_sc(&decided); /* pairs with decide_engine */
    if (likely(engine && engine->closes)) engine->closes(r->fd);
    weft__fd_await_holders(r->fd);
    san_ignore_begin(); /* ThreadSanitizer would report a race between the close and waiters */
    ssize_t n = weft__request_perform(r);
    san_ignore_end();
    weft__fd_end_close(r->fd);
    return n;
}

/* Is this a receive for which the kernel never waits: of a queued error, or of urgent data? Local sockets have no such
 * errors, and datagrams no urgent data, so there it is an ordinary receive. */
static WEFT_COLD bool never_waits(const struct weft__request *r) {
    int domain = 0;
    socklen_t size = sizeof domain;
    if (r->flags & MSG_ERRQUEUE) return !getsockopt(r->fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) && domain != AF_UNIX;
    return weft__request_is_stream(r->fd);
}

/* Has the caller asked not to wait? For a splice the flag is only about the pipe, so the call may still wait for the
 * other descriptor. */
static bool must_not_wait(const struct weft__request *r) {
    if (r->code < WEFT_IO_SEND || r->code > WEFT_IO_RECVMSG)
        return r->code == WEFT_IO_SPLICE && r->flags & SPLICE_F_NONBLOCK;
    if (r->flags & MSG_DONTWAIT) return true;
    return unlikely(weft__request_is_out_of_band(r)) && never_waits(r);
}

static ssize_t at_once(const struct weft__request *r) {
    ssize_t n = weft__request_attempt_first(r, r->generation);
    return n == -ENOTSUP && r->code == WEFT_IO_SPLICE ? weft__request_perform(r) : n;
}

static ssize_t make_request(struct weft__fiber *me, const struct weft__request *r);

/* Converts a sendto or recvfrom to a message, which a ring can send and receive. */
static ssize_t make_message(struct weft__fiber *me, const struct weft__request *r) {
    bool sends = r->code == WEFT_IO_SENDTO;
    socklen_t *length = sends ? NULL : (socklen_t *)(intptr_t)r->offset;
    struct iovec part = {r->memory, r->size};
    struct msghdr m = {.msg_name = r->extra, .msg_iov = &part, .msg_iovlen = 1};
    if (r->extra) m.msg_namelen = sends ? (socklen_t)r->offset : length ? *length : 0;
    struct weft__request whole = {
        .code = sends ? WEFT_IO_SENDMSG : WEFT_IO_RECVMSG, .fd = r->fd, .generation = r->generation};
    whole.memory = &m;
    whole.flags = r->flags;
    ssize_t n = make_request(me, &whole);
    if (n >= 0 && r->extra && length) *length = m.msg_namelen;
    return n;
}

static WEFT_COLD ssize_t make_odd(struct weft__fiber *me, const struct weft__request *r) {
    struct weft__request own = *r;
    ssize_t n;
    if (weft__odd_size_run(me, &own, &n)) return n;
    if (weft__file_position_is_likely(&own) && weft__file_position_run(&own, &n)) return n;
    return weft__engine()->run(me, &own);
}

static ssize_t make_request(struct weft__fiber *me, const struct weft__request *r) {
    ssize_t n;
    if (unlikely(r->code == WEFT_IO_SLEEP)) return weft_sleep_until((uint64_t)r->offset);
    if (unlikely(r->code == WEFT_IO_SENDTO || r->code == WEFT_IO_RECVFROM)) return make_message(me, r);
    if (unlikely(must_not_wait(r))) return at_once(r);
    if (unlikely(weft__request_has_odd_size(r))) return make_odd(me, r);
    const struct weft__engine *engine = weft__engine();
    if (weft__file_position_is_likely(r) && weft__file_position_run(r, &n)) return n;
    return engine->run(me, r);
}

/* A fiber that always finds data never parks. So it yields from time to time. It yields less often while it accepts,
 * because a yield lets the fibers of all accepted connections run. */
static void take_turns(const struct weft__request *r) {
    enum { CALLS = 16, ACCEPTS = 256 };
    unsigned turn = r->code == WEFT_IO_ACCEPT ? ACCEPTS : CALLS;
    if (unlikely(++weft__self()->io_calls % turn == 0)) weft_yield();
}

static inline bool is_plain_write(const struct weft__request *r) {
    return (r->code == WEFT_IO_WRITE || r->code == WEFT_IO_WRITEV) && r->offset == WEFT_IO_HERE;
}

/* Makes a write to a socket as a send, so that a vanished peer causes an error and no signal. False: no socket. */
static bool run_as_message(const struct weft__request *r, unsigned known, ssize_t *result) {
    struct msghdr m = {.msg_iov = r->memory, .msg_iovlen = r->size};
    struct weft__request own = *r;
    own.flags = MSG_NOSIGNAL | (known & WEFT_FD_PACKETS ? MSG_EOR : 0);
    own.code = r->code == WEFT_IO_WRITE ? WEFT_IO_SEND : WEFT_IO_SENDMSG;
    if (own.code == WEFT_IO_SENDMSG) {
        if (r->size > IOV_MAX) return false; /* other calls return other errors for that */
        own.memory = &m;
        own.size = 0;
    }
    *result = weft__io_run(&own);
    if (likely(*result != -ENOTSOCK)) return true;
    weft__fd_guess_reset(r->fd);
    return false;
}

ssize_t weft__io_run(const struct weft__request *r) {
    struct weft__fiber *me = weft__io_current_fiber();
    if (is_plain_write(r) && r->size - 1 < SSIZE_MAX) { /* other sizes: see odd_size.h */
        unsigned known = weft__fd_guess_for_write(r->fd);
        ssize_t sent;
        if (unlikely(known & WEFT_FD_MESSAGES) && run_as_message(r, known, &sent)) return sent;
    }
    if (unlikely(weft__request_is_stale(r))) return -EBADF;
    if (unlikely(r->code == WEFT_IO_CLOSE)) return close_it(r);
    if (unlikely(!me)) return weft__request_perform(r);
    ssize_t n = make_request(me, r);
    take_turns(r);
    if (unlikely(n == -ECANCELED || n == -ETIMEDOUT)) weft__refused_if_cancelled(me, (int)n);
    return n;
}

WEFT_PUBLIC int weft_uring(const struct io_uring_sqe *entries, int *results, unsigned n) {
    if (!entries || !results || !n || n > WEFT_URING_MOST) return -EINVAL;
    return weft__io_current_fiber() ? weft__engine()->submit(entries, results, n) : -EPERM;
}
