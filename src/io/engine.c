/*
 * Which engine it is, and who goes there. See engine.h. Decided by the first fiber that makes a request: by
 * WEFT_IO in the environment, or by whether the kernel lets it have a ring. Once it is decided it stays: what is
 * under way in one engine cannot be ended by the other.
 */
#define _GNU_SOURCE
#include "io/engine.h"

#include "base/san.h"
#include "base/say.h"
#include "io/known.h"
#include "io/odd.h"
#include "io/position.h"
#include "io/readiness.h"
#include "sched/rings.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Atomic(const struct weft__engine *) decided;

/* The engine and the reason for it, as "epoll: io_uring_setup: Operation not permitted". Written once, by the fiber
 * that has decided, before weft__io_name points to it. */
static char description[128];

static const struct weft__engine *decide(const struct weft__engine *engine, const char *link, const char *reason) {
    const struct weft__engine *none = NULL;
    if (cas_sc(&decided, &none, engine)) { /* pairs with close_it */
        snprintf(description, sizeof description, "%s%s%s", engine->name, link, reason);
        store_rel(&weft__io_name, description); /* pairs with weft_io_engine_why and the statistics */
    }
    return load_acq(&decided);
}

/* The kernel gives no ring, or none that is good enough. */
static const struct weft__engine *decide_without_ring(int err) {
    const char *lacks = load_rlx(&weft__ring_refusal);
    return lacks ? decide(&weft__engine_epoll, ": io_uring: ", lacks)
                 : decide(&weft__engine_epoll, ": io_uring_setup: ", weft__error(err));
}

/* Out of memory or descriptors just now: epoll for this request, and the next one asks again. */
static WEFT_COLD const struct weft__engine *choose(void) {
    const char *wish = getenv("WEFT_IO");
    int err;
    if (wish && !strcmp(wish, "epoll")) return decide(&weft__engine_epoll, ": ", "WEFT_IO asks for it");
    if (wish && strcmp(wish, "uring")) weft__say("WEFT_IO=%s is ignored: it must be uring or epoll", wish);
    struct weft__uring *ring = weft__ring_lock_own(1, &err);
    if (ring) {
        bool has_bell = weft__ring_bell(ring) >= 0;
        weft__ring_unlock(ring);
        return decide(&weft__engine_uring, ", woken by ",
                      has_bell ? "eventfd: no futex wait in the ring" : "a futex wait in the ring");
    }
    if (err == -ENOMEM || err == -EMFILE || err == -ENFILE) return &weft__engine_epoll;
    if (wish && !strcmp(wish, "uring")) weft__say("WEFT_IO=uring, but this kernel gives no ring: epoll is used");
    return decide_without_ring(err);
}

const struct weft__engine *weft__engine(void) {
    const struct weft__engine *engine = load_acq(&decided); /* pairs with decide */
    return likely(engine != NULL) ? engine : choose();
}

WEFT_PUBLIC const char *weft_io_engine(void) {
    const struct weft__engine *engine = load_acq(&decided);
    return engine ? engine->name : "none";
}

WEFT_PUBLIC const char *weft_io_engine_why(void) {
    const char *text = load_acq(&weft__io_name); /* pairs with decide */
    return text ? text : "none";
}

/* See known.h. Another life first, and only then a look which engine there is: who has a request in the one that is
 * decided a moment later sees that life. */
static ssize_t close_it(const struct weft__request *r) {
    weft__readiness_closes(r->fd);
    const struct weft__engine *engine = load_sc(&decided); /* pairs with decide */
    if (likely(engine && engine->closes)) engine->closes(r->fd);
    weft__known_await(r->fd);
    san_ignore_begin(); /* ThreadSanitizer takes a close for a race with whoever waits */
    ssize_t n = weft__request_perform(r);
    san_ignore_end();
    weft__known_closed(r->fd);
    return n;
}

/* Errors and urgent bytes are there, or they are not: the kernel never waits for them. Local sockets have no such
 * errors, and datagrams nothing urgent: there it is a receive like any other. */
static WEFT_COLD bool never_waits(const struct weft__request *r) {
    int domain = 0;
    socklen_t size = sizeof domain;
    if (r->flags & MSG_ERRQUEUE) return !getsockopt(r->fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) && domain != AF_UNIX;
    return weft__request_is_stream(r->fd);
}

/* The caller's word that nothing is to be waited for; of a splice, at the pipe: the call itself could wait at the other
 * end. */
static bool must_not_wait(const struct weft__request *r) {
    if (r->code < WEFT_IO_SEND || r->code > WEFT_IO_RECVMSG)
        return r->code == WEFT_IO_SPLICE && r->flags & SPLICE_F_NONBLOCK;
    if (r->flags & MSG_DONTWAIT) return true;
    return unlikely(weft__request_is_aside(r)) && never_waits(r);
}

static ssize_t at_once(const struct weft__request *r) {
    ssize_t n = weft__request_first(r, r->life);
    return n == -ENOTSUP && r->code == WEFT_IO_SPLICE ? weft__request_perform(r) : n;
}

static ssize_t make(struct weft__fiber *me, const struct weft__request *r);

/* A datagram and its address, as a message: there is one call for both directions then, and a ring has it. */
static ssize_t make_message(struct weft__fiber *me, const struct weft__request *r) {
    bool sends = r->code == WEFT_IO_SENDTO;
    socklen_t *length = sends ? NULL : (socklen_t *)(intptr_t)r->offset;
    struct iovec part = {r->memory, r->size};
    struct msghdr m = {.msg_name = r->extra, .msg_iov = &part, .msg_iovlen = 1};
    if (r->extra) m.msg_namelen = sends ? (socklen_t)r->offset : length ? *length : 0;
    struct weft__request whole = {.code = sends ? WEFT_IO_SENDMSG : WEFT_IO_RECVMSG, .fd = r->fd, .life = r->life};
    whole.memory = &m;
    whole.flags = r->flags;
    ssize_t n = make(me, &whole);
    if (n >= 0 && r->extra && length) *length = m.msg_namelen;
    return n;
}

static WEFT_COLD ssize_t make_odd(struct weft__fiber *me, const struct weft__request *r) {
    struct weft__request own = *r;
    ssize_t n;
    if (weft__odd_run(me, &own, &n)) return n;
    if (weft__position_is_likely(&own) && weft__position_run(&own, &n)) return n;
    return weft__engine()->run(me, &own);
}

static ssize_t make(struct weft__fiber *me, const struct weft__request *r) {
    ssize_t n;
    if (unlikely(r->code == WEFT_IO_SLEEP)) return weft_sleep_until((uint64_t)r->offset);
    if (unlikely(r->code == WEFT_IO_SENDTO || r->code == WEFT_IO_RECVFROM)) return make_message(me, r);
    if (unlikely(must_not_wait(r))) return at_once(r);
    if (unlikely(weft__odd_is(r))) return make_odd(me, r);
    const struct weft__engine *engine = weft__engine();
    if (weft__position_is_likely(r) && weft__position_run(r, &n)) return n;
    return engine->run(me, r);
}

/* A fiber that always finds what it asks for never parks. It lets the others in all the same, now and then. More seldom
 * if it accepts: all that were accepted before are among the others. */
static void take_turns(const struct weft__request *r) {
    enum { CALLS = 16, ACCEPTS = 256 };
    unsigned turn = r->code == WEFT_IO_ACCEPT ? ACCEPTS : CALLS;
    if (unlikely(++weft__self()->calls % turn == 0)) weft_yield();
}

ssize_t weft__io_run(const struct weft__request *r) {
    struct weft__fiber *me = weft__io_fiber();
    if (unlikely(weft__request_is_late(r))) return -EBADF;
    if (unlikely(r->code == WEFT_IO_CLOSE)) return close_it(r);
    if (unlikely(!me)) return weft__request_perform(r);
    ssize_t n = make(me, r);
    take_turns(r);
    return n;
}

WEFT_PUBLIC int weft_uring(const struct io_uring_sqe *entries, int *results, unsigned n) {
    if (!entries || !results || !n || n > WEFT_URING_MOST) return -EINVAL;
    return weft__io_fiber() ? weft__engine()->submit(entries, results, n) : -EPERM;
}
