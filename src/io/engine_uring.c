/* SPDX-License-Identifier: MIT */
/*
 * The engine with rings. A request becomes an entry of the worker's ring, and the fiber parks until it has completed.
 * See sched/rings/rings.h for the steps, driver/uring.h for the ring.
 *
 * If a request probably need not wait, the engine first makes an attempt by a plain system call. An entry of the ring
 * costs more than a system call, unless several entries are submitted by one call.
 *
 *   sends      nearly always find room. If other fibers are ready, entries will be submitted together, so sends go
 *              through the ring then
 *   reads      of a file that was read before find it in memory
 *   receives   often have to wait for the answer to the last message. The engine learns that for each descriptor:
 *              after a receive that had to wait, the next receive asks the kernel to wait first, which saves an attempt
 *              that finds nothing. Only in a crowd, and if the last receive did not wait, it makes an attempt first
 */
#define _GNU_SOURCE
#include "io/async.h"
#include "io/engine.h"
#include "io/fd_generation.h"
#include "io/file_position.h"
#include "io/odd_size.h"
#include "io/readiness.h"
#include "sched/rings/rings.h"
#include "sched/wait/block.h"

#include <fcntl.h>
#include <liburing.h>
#include <signal.h>

/* --- requests as entries --------------------------------------------------------------------------- */

static uint32_t length_of(const struct weft__request *r) {
    return (uint32_t)(r->size < WEFT_IO_MOST ? r->size : WEFT_IO_MOST);
}

static const uint8_t opcodes[WEFT_IO_CODES] = {
    [WEFT_IO_READ] = IORING_OP_READ,       [WEFT_IO_READV] = IORING_OP_READV,     [WEFT_IO_WRITE] = IORING_OP_WRITE,
    [WEFT_IO_WRITEV] = IORING_OP_WRITEV,   [WEFT_IO_OPEN] = IORING_OP_OPENAT,     [WEFT_IO_SYNC] = IORING_OP_FSYNC,
    [WEFT_IO_STAT] = IORING_OP_STATX,      [WEFT_IO_UNLINK] = IORING_OP_UNLINKAT, [WEFT_IO_RENAME] = IORING_OP_RENAMEAT,
    [WEFT_IO_MKDIR] = IORING_OP_MKDIRAT,   [WEFT_IO_ACCEPT] = IORING_OP_ACCEPT,   [WEFT_IO_CONNECT] = IORING_OP_CONNECT,
    [WEFT_IO_SEND] = IORING_OP_SEND,       [WEFT_IO_RECV] = IORING_OP_RECV,       [WEFT_IO_SENDMSG] = IORING_OP_SENDMSG,
    [WEFT_IO_RECVMSG] = IORING_OP_RECVMSG, [WEFT_IO_POLL] = IORING_OP_POLL_ADD,
};

static void uring_fill(struct io_uring_sqe *e, const struct weft__request *r) {
    e->opcode = opcodes[r->code];
    e->fd = r->fd;
    e->addr = (uint64_t)(uintptr_t)r->memory;
    e->rw_flags = (int)r->flags; /* a union with the flags of all operations */
    switch ((enum weft__code)r->code) {
    case WEFT_IO_READ:
    case WEFT_IO_READV:
    case WEFT_IO_WRITE:
    case WEFT_IO_WRITEV:
        e->len = length_of(r);
        e->off = (uint64_t)r->offset;
        break;
    case WEFT_IO_RECV:
        if (weft__request_takes_bytes(r) && weft__fd_is_drained(r->fd)) e->ioprio = IORING_RECVSEND_POLL_FIRST;
    /* fall through */
    case WEFT_IO_SEND: e->len = length_of(r); break;
    case WEFT_IO_SENDMSG:
    case WEFT_IO_RECVMSG: e->len = 1; break;
    case WEFT_IO_SYNC: e->fsync_flags = r->flags ? IORING_FSYNC_DATASYNC : 0; break;
    case WEFT_IO_OPEN:
        e->flags = IOSQE_ASYNC; /* otherwise the kernel would try O_NONBLOCK first, which opens a pipe without a peer */
    /* fall through */
    case WEFT_IO_MKDIR: e->len = (uint32_t)r->size; break;
    case WEFT_IO_STAT:
        e->len = (uint32_t)r->size;
        e->off = (uint64_t)(uintptr_t)r->extra;
        break;
    case WEFT_IO_RENAME:
        e->len = (uint32_t)r->other;
        e->off = (uint64_t)(uintptr_t)r->extra;
        break;
    case WEFT_IO_ACCEPT: e->off = (uint64_t)(uintptr_t)r->extra; break;
    case WEFT_IO_CONNECT: e->off = r->size; break;
    case WEFT_IO_POLL: e->poll32_events = r->flags; break;
    default: break;
    }
}

/* May the request go through the ring? Not if it has two descriptors: the close of only one of them could end it. */
static bool goes_by_ring(const struct weft__request *r) {
    bool two = r->code == WEFT_IO_RENAME && r->other >= 0 && r->other != r->fd;
    return opcodes[r->code] && !two && !weft__request_peeks_all(r) && !weft__request_is_out_of_band(r);
}

/* --- requests that need not wait ---------------------------------------------------------------------- */

/* Are several fibers ready? Then sends go through the ring. (Echo, 64 connections: 7.2 -> 6.8 us of the server; 9,000:
 * 10.2 -> 9.3.) */
static bool is_crowded(void) {
    enum { CROWD = 3 };
    return weft__ready_length(&weft__self()->ready) >= CROWD;
}

/*
 * Has the next message probably arrived? If very many fibers are queued, the peer has probably sent it since this fiber
 * ran last. Then an attempt to receive saves an entry, a park, and a second turn for each message, for which socket and
 * stack must be loaded into the cache again. (Echo, 1,000 connections: 5.95 -> 5.65 us of the server; 10,000: 9.6 ->
 * 8.7. weft serve, 10,000: 14.6 -> 12.0.) If the attempt finds nothing, there is no further attempt until a receive by
 * the ring has not had to wait.
 */
static bool is_probably_there(const struct weft__request *r) {
    enum { QUEUE = 16 };
    return weft__ready_length(&weft__self()->ready) >= QUEUE && weft__request_takes_bytes(r) &&
           !(r->flags & MSG_WAITALL) && !weft__fd_is_drained(r->fd);
}

static bool does_not_block(int fd) {
    int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && flags & O_NONBLOCK;
}

static bool is_tried_first(const struct weft__request *r) {
    switch ((enum weft__code)r->code) {
    case WEFT_IO_READ: return r->offset != WEFT_IO_HERE || !weft__fd_reads_wait(r->fd);
    case WEFT_IO_READV: /* a ring would also wait with parts of no bytes */
    case WEFT_IO_WRITE:
    case WEFT_IO_WRITEV: return true;
    case WEFT_IO_SEND:
    case WEFT_IO_SENDMSG: return !is_crowded();
    case WEFT_IO_RECV: return is_probably_there(r) || !goes_by_ring(r);
    case WEFT_IO_ACCEPT: return does_not_block(r->fd);
    default: return !goes_by_ring(r);
    }
}

/* --- for a fiber that waits -------------------------------------------------------------------------- */

/* Pushes an entry for the request. more: a function that fills in further fields of the entry, or NULL. -ENOTSUP: the
 * kernel has no such operation. */
static int uring_push(struct weft__op *op, const struct weft__request *r, uint64_t generation,
                      int (*more)(struct weft__op *, struct weft__uring *, struct io_uring_sqe *)) {
    int err;
    struct weft__uring *ring = weft__ring_lock_own(1, &err);
    if (unlikely(!ring)) return err;
    if (unlikely(!weft__uring_supports(ring, opcodes[r->code]))) {
        weft__ring_unlock(ring);
        return -ENOTSUP;
    }
    struct io_uring_sqe *e = weft__uring_entry(ring, 0);
    uring_fill(e, r);
    if (unlikely(more && (err = more(op, ring, e)))) {
        weft__ring_unlock(ring);
        return err;
    }
    weft__ring_claim(ring, e, op);
    if (unlikely(op->fd >= 0 &&
                 weft__fd_generation_is_stale(op->fd, generation))) { /* if not, a later close finds this request */
        weft__ring_unclaim(ring, op);
        weft__ring_unlock(ring);
        return -EBADF;
    }
    weft__uring_push(ring, 1);
    weft__ring_unlock(ring);
    return 0;
}

/* For the recorder: the descriptor. */
static inline struct weft__waits_for io_what(const struct weft__op *op) {
    return weft__for(WEFT_WAITS_IO, (void *)(uintptr_t)(unsigned)op->fd);
}

/* 0: the result is in the op. An error: nothing was done. */
static WEFT_SWITCHES int uring_once(struct weft__fiber *me, const struct weft__request *r, uint64_t generation,
                                    struct weft__op *op,
                                    int (*more)(struct weft__op *, struct weft__uring *, struct io_uring_sqe *)) {
    int err = weft__wait_begin(me, WEFT_WAIT_BY_CANCEL | WEFT_WAIT_OUTSIDE, &op->ticket);
    if (unlikely(err)) return err;
    err = uring_push(op, r, generation, more);
    if (unlikely(err)) {
        int ended = weft__wait_withdraw(me, op->ticket);
        return ended ? ended : err;
    }
    err = weft__wait_block_for(me, op->ticket, WEFT_FOREVER, io_what(op));
    if (likely(!err)) return 0;
    weft__ring_abandon(me, op);
    return op->result < 0 ? err : 0;
}

static void came_at_once(struct weft__op *op, int result, unsigned flags) {
    op->result = result;
    op->flags = flags;
}

/*
 * The same for an accept on a blocking socket, for which a plain call would block. Submits the entry at once, and takes
 * the result at once if there is one. So a fiber that accepts in a loop takes all waiting connections in one turn. If
 * it parked for each connection, that would wait for the turns of all connections accepted before: of 4,000 clients
 * that connected at the same time, the last waited for seconds.
 */
static WEFT_SWITCHES int accept_once(struct weft__fiber *me, const struct weft__request *r, uint64_t generation,
                                     struct weft__op *op) {
    op->fn = came_at_once;
    op->at_once = true;
    int err = uring_push(op, r, generation, NULL);
    if (unlikely(err)) return err;
    weft__ring_serve(op->ring);
    uint64_t ticket = 0;
    err = weft__wait_begin(me, WEFT_WAIT_BY_CANCEL | WEFT_WAIT_OUTSIDE, &ticket);
    weft__lock(&op->ring->lock);
    bool is_done = op->done;
    op->fn = NULL; /* from here on the completion ends the wait */
    op->at_once = false;
    op->ticket = ticket;
    weft__unlock(&op->ring->lock);
    if (is_done) {
        if (!err) weft__wait_withdraw(me, ticket); /* cancelled or not: the result counts */
        return 0;
    }
    if (!err) err = weft__wait_block_for(me, ticket, WEFT_FOREVER, io_what(op));
    if (likely(!err)) return 0;
    weft__ring_abandon(me, op);
    return op->result < 0 ? err : 0;
}

/* The same for a request with two descriptors: closing the other descriptor ends it, too. readiness.h waits for that
 * close, with the same ticket. */
static WEFT_SWITCHES int once_of_two(struct weft__fiber *me, const struct weft__request *r, uint64_t generation,
                                     struct weft__op *op) {
    struct weft__descriptor also = {
        .waiter = {.fiber = me}, .fd = r->other, .generation = r->other_generation, .by_close = true};
    int err = weft__wait_begin(me, WEFT_WAIT_BY_CANCEL | WEFT_WAIT_OUTSIDE, &op->ticket);
    if (unlikely(err)) return err;
    also.waiter.ticket = op->ticket;
    if (unlikely((err = weft__readiness_enter(&also)))) {
        weft__wait_withdraw(me, op->ticket);
        return err;
    }
    int refused = uring_push(op, r, generation, NULL);
    err =
        refused ? weft__wait_withdraw(me, op->ticket) : weft__wait_block_for(me, op->ticket, WEFT_FOREVER, io_what(op));
    bool is_closed = weft__readiness_leave(&also);
    if (unlikely(!refused && (err || is_closed))) weft__ring_abandon(me, op);
    if (unlikely(is_closed)) return -EBADF;
    if (unlikely(refused)) return err ? err : refused;
    return err && op->result < 0 ? err : 0;
}

/* The error that the system call would return. A ring may return another error, because it reads some arguments before
 * it checks the descriptor or the flags. */
static WEFT_COLD ssize_t error_of_call(const struct weft__request *r, int error) {
    const uint32_t flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_EMPTY_PATH | AT_STATX_SYNC_TYPE;
    int type;
    socklen_t size = sizeof type;
    if (r->code == WEFT_IO_STAT) return error == -ENOENT && r->flags & ~flags ? -EINVAL : error;
    if (error != -EFAULT && error != -EINVAL && error != -EMSGSIZE) return error;
    bool is_message = r->code == WEFT_IO_SENDMSG || r->code == WEFT_IO_RECVMSG;
    if (!is_message && r->code != WEFT_IO_CONNECT && r->code != WEFT_IO_ACCEPT) return error;
    if (!getsockopt(r->fd, SOL_SOCKET, SO_TYPE, &type, &size)) return error;
    return errno == EBADF || is_message ? -errno : error;
}

/* The result of a request. -ECANCELED although the fiber was not cancelled means that the descriptor was closed. */
static ssize_t uring_result_of(const struct weft__request *r, int result) {
    if (likely(result >= 0)) return result;
    return result == -ECANCELED ? -EBADF : error_of_call(r, result);
}

/* The fiber was cancelled before the request was submitted. If the request need not wait, it is made all the same. */
static WEFT_COLD ssize_t unless_at_once(const struct weft__request *r, int err) {
    if (r->code == WEFT_IO_CONNECT) return err; /* it would be pending, and the caller would not know */
    ssize_t n = weft__request_attempt(r);
    return n == -EAGAIN || n == -ENOTSUP ? err : n;
}

/* Does the file have a position, although the guess said that it has none (engine.c)? If it has none and there is no
 * data, notes that reads wait. */
static bool is_stored_after_all(const struct weft__request *r, ssize_t attempt) {
    bool reads = r->code == WEFT_IO_READ || r->code == WEFT_IO_READV;
    return reads && attempt == -EAGAIN ? !weft__fd_note_read_waits(r->fd) : weft__fd_is_stored(r->fd);
}

static int once_of_any(struct weft__fiber *me, const struct weft__request *r, uint64_t generation,
                       struct weft__op *op) {
    if (unlikely(r->other_generation)) return once_of_two(me, r, generation, op);
    if (unlikely(r->code == WEFT_IO_ACCEPT) && !does_not_block(r->fd)) return accept_once(me, r, generation, op);
    return uring_once(me, r, generation, op, NULL);
}

static ssize_t uring_run(struct weft__fiber *me, const struct weft__request *r) {
    if (weft__request_is_splice(r)) return weft__splice_run(&weft__engine_uring, me, r);
    uint64_t generation = weft__request_generation(r);
    int none = r->code == WEFT_IO_RECV ? weft__fd_check_socket(r->fd) : 0;
    if (unlikely(none)) return none;
    ssize_t n;
    if (unlikely(weft__request_peeks_all(r) || weft__request_is_out_of_band(r))) return weft__engine_epoll.run(me, r);
    if (is_tried_first(r)) {
        n = weft__request_attempt_first(r, r->generation);
        if (n != -EAGAIN && n != -ENOTSUP && n != -EINPROGRESS) return n;
        if (n == -EAGAIN && weft__request_takes_bytes(r)) weft__fd_note_receive(r->fd, true);
        if (weft__file_position_is_used(r) && is_stored_after_all(r, n) && weft__file_position_run(r, &n)) return n;
        bool is_record = n == -ENOTSUP && r->code <= WEFT_IO_WRITEV && weft__request_is_record(r);
        if (!goes_by_ring(r) || is_record) return weft__engine_epoll.run(me, r);
    }
    for (;;) {
        struct weft__op op = {.fiber = me, .fd = r->fd >= 0 ? r->fd : -1};
        int err = once_of_any(me, r, generation, &op);
        if (unlikely(err == -EBUSY)) {
            weft_yield();
            continue;
        }
        if (unlikely(err == -ECANCELED || err == -ETIMEDOUT)) return unless_at_once(r, err);
        if (unlikely(err)) return err == -EBADF ? err : weft__engine_epoll.run(me, r);
        if (unlikely(r->code == WEFT_IO_CONNECT && (op.result == WEFT_RING_LEFT || op.result == -EALREADY)))
            return weft__engine_epoll.run(me, r); /* the connect continues in the kernel */
        if (unlikely(op.result == WEFT_RING_LEFT)) continue;
        if (op.result > 0 && weft__request_takes_bytes(r)) weft__fd_note_receive(r->fd, op.waited);
        if (likely(op.result != -EAGAIN && op.result != -EINTR)) return uring_result_of(r, op.result);
        if (r->code == WEFT_IO_OPEN && op.result == -EINTR) continue;
        if (r->code == WEFT_IO_OPEN) return op.result; /* another process has a lease on the file */
        /* The ring has not waited, because the descriptor has O_NONBLOCK. */
        int ready = weft__readiness_await(r->fd, weft__request_poll_events(r), generation);
        if (ready < 0) return ready;
        if (unlikely(weft__fd_generation_is_stale(r->fd, generation))) return -EBADF;
    }
}

/* --- in the background -------------------------------------------------------------------------------- */

/* Completes an operation in the background. If the ring did not wait, a fiber makes the request. */
static void uring_completed(struct weft__op *op, int result, unsigned flags) {
    struct weft__io *io = container_of(op, struct weft__io, op);
    (void)flags;
    bool again = result == -EAGAIN || result == -EINTR || result == WEFT_RING_LEFT;
    bool cancelled = load_rlx(&io->cancelled); /* see async.c */
    if (unlikely(again) && !cancelled && !weft__io_spawn(io)) return;
    if (unlikely(cancelled))
        weft__io_complete(io, again ? -ECANCELED : result);
    else
        weft__io_complete(io, uring_result_of(&io->request, result));
}

static int uring_start(struct weft__io *io) {
    const struct weft__request *r = &io->request;
    if (!goes_by_ring(r) || (r->code == WEFT_IO_RECV && weft__fd_check_socket(r->fd)) || weft__request_has_odd_size(r))
        return -ENOTSUP;
    bool writes = r->code == WEFT_IO_WRITE || r->code == WEFT_IO_WRITEV;
    if (writes && weft__fd_guess_for_write(r->fd) & WEFT_FD_MESSAGES) return -ENOTSUP; /* see run_as_message */
    if (weft__file_position_is_used(r) && (weft__fd_is_stored(r->fd) || weft__request_is_record(r))) return -ENOTSUP;
    io->op = (struct weft__op){.fn = uring_completed, .fd = r->fd >= 0 ? r->fd : -1};
    if (likely(!uring_push(&io->op, r, r->generation, NULL))) return 0;
    io->op.fn = NULL; /* there is no request in the ring to cancel */
    return -ENOTSUP;
}

static void uring_cancel(struct weft__io *io) { weft__ring_cancel(&io->op); }

/* --- for servers -------------------------------------------------------------------------------------- */

struct lent_op {
    struct weft__op op;
    struct weft__lent *lent; /* a share of it; NULL: no buffers were requested */
};

static int into_lent(struct weft__op *op, struct weft__uring *ring, struct io_uring_sqe *e) {
    int err = 0;
    container_of(op, struct lent_op, op)->lent = weft__uring_lend(ring, e, &err);
    return err;
}

/* Receives into a buffer of the ring. 0: the lease names the buffer, if the kernel has taken one. It may have taken one
 * even if there are no bytes. */
static int receive_once(struct weft__fiber *me, const struct weft__request *r, struct lent_op *l,
                        struct weft_lease *lease) {
    int err = uring_once(me, r, weft__fd_generation_read(r->fd), &l->op, into_lent);
    if (!l->lent) return err;
    void *data = l->op.done ? weft__lent_at(l->lent, l->op.flags) : NULL;
    if (!err && data && l->op.result > 0)
        *lease = (struct weft_lease){.data = data, .opaque = {l->lent, NULL}};
    else
        weft__lent_return(l->lent, data);
    return err;
}

static ssize_t uring_receive(struct weft__fiber *me, int fd, struct weft_lease *lease) {
    const struct weft__request r = {.code = WEFT_IO_RECV, .fd = fd};
    struct lent_op l = {.op = {.fiber = me, .fd = fd}};
    int err = receive_once(me, &r, &l, lease), result = l.op.result;
    if (err) return err == -EBADF || err == -ECANCELED || err == -ETIMEDOUT || err == -EBUSY ? err : -ENOTSUP;
    return result == -ENOBUFS || result == -EAGAIN || result == WEFT_RING_LEFT ? -ENOTSUP : uring_result_of(&r, result);
}

static int again_and_again(struct weft__op *op, struct weft__uring *ring, struct io_uring_sqe *e) {
    (void)op, (void)ring;
    e->ioprio |= IORING_ACCEPT_MULTISHOT;
    return 0;
}

static int accept_all(struct weft__op *op, int flags) {
    return uring_push(op, &(struct weft__request){.code = WEFT_IO_ACCEPT, .fd = op->fd, .flags = (uint32_t)flags},
                      weft__fd_generation_read(op->fd), again_and_again);
}

/* --- direct ------------------------------------------------------------------------------------------- */

struct part {
    struct weft__op op;
    struct weft_counter *left;
};

static void part_completed(struct weft__op *op, int result, unsigned flags) {
    (void)flags;
    op->result =
        result == WEFT_RING_LEFT ? -ECANCELED : result; /* only the caller can tell how much of a chain was done */
    weft_counter_complete(container_of(op, struct part, op)->left);
}

/* Newer than the headers of the oldest supported systems. */
enum { OP_URING_CMD = 46, OP_READ_MULTISHOT = 49, OP_RECV_ZC = 58, TIMEOUT_MULTISHOT = 1 << 6 };

/* Allows requests with a single completion that do not delay requests of other fibers. */
static bool is_allowed(const struct io_uring_sqe *e) {
    if (e->flags & (IOSQE_CQE_SKIP_SUCCESS | IOSQE_BUFFER_SELECT | IOSQE_FIXED_FILE | IOSQE_IO_DRAIN)) return false;
    if (e->opcode == OP_URING_CMD || e->opcode == OP_READ_MULTISHOT || e->opcode == OP_RECV_ZC) return false;
    if (e->opcode == IORING_OP_TIMEOUT) return !(e->timeout_flags & TIMEOUT_MULTISHOT);
    if (e->opcode == IORING_OP_POLL_ADD) return !(e->len & IORING_POLL_ADD_MULTI);
    if (e->opcode == IORING_OP_ACCEPT) return !(e->ioprio & IORING_ACCEPT_MULTISHOT);
    if (e->opcode == IORING_OP_RECV || e->opcode == IORING_OP_RECVMSG) return !(e->ioprio & IORING_RECV_MULTISHOT);
    return e->opcode != IORING_OP_SEND_ZC && e->opcode != IORING_OP_SENDMSG_ZC;
}

static int push_parts(const struct io_uring_sqe *entries, struct part *parts, unsigned n) {
    int err;
    struct weft__uring *ring = weft__ring_lock_own(n, &err);
    if (!ring) return err;
    for (unsigned i = 0; i < n; i++) {
        struct io_uring_sqe *e = weft__uring_entry(ring, i);
        *e = entries[i];
        weft__ring_claim(ring, e, &parts[i].op);
    }
    weft__uring_push(ring, n);
    weft__ring_unlock(ring);
    return 0;
}

static int submit_parts(const struct io_uring_sqe *entries, struct part *parts, int *results, unsigned n) {
    struct weft_counter left = WEFT_COUNTER_INIT;
    weft_counter_add(&left, n);
    for (unsigned i = 0; i < n; i++)
        parts[i] = (struct part){.op = {.fn = part_completed, .fd = entries[i].fd}, .left = &left};
    int err;
    while ((err = push_parts(entries, parts, n)) == -EBUSY) weft_yield();
    if (err) return err;
    if (weft_counter_wait(&left, 0)) {
        struct weft_shield shield;
        for (unsigned i = 0; i < n; i++) weft__ring_cancel(&parts[i].op);
        weft_shield_begin(&shield);
        (void)!weft_counter_wait(&left, 0);
        weft_shield_end(&shield);
    }
    for (unsigned i = 0; i < n; i++) results[i] = parts[i].op.result;
    return 0;
}

/* An array for many parts is on the heap: it takes a page, which is much on a fiber's stack. */
static int uring_submit(const struct io_uring_sqe *entries, int *results, unsigned n) {
    enum { FEW = 8 };
    struct part few[FEW], *parts = few;
    for (unsigned i = 0; i < n; i++)
        if (!is_allowed(&entries[i])) return -EINVAL;
    if (n > FEW && !(parts = weft__alloc(n * sizeof *parts))) return -ENOMEM;
    int err = submit_parts(entries, parts, results, n);
    if (parts != few) weft__free(parts);
    return err;
}

const struct weft__engine weft__engine_uring = {"io_uring",           uring_run,     uring_start, uring_cancel,
                                                weft__rings_close_fd, uring_receive, accept_all,  uring_submit};
