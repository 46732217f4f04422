/* SPDX-License-Identifier: MIT */
/*
 * The rings of workers (driver/uring.h): submits requests to them, and makes the waiting fibers ready. A worker looks
 * at its ring at home: when it has nothing to run, and once in a number of dispatches. For a stuck worker another
 * worker does it.
 *
 *   a fiber                                          the thread that reaps
 *   1. begin a wait; the op has fiber and ticket     1. lock; the completion: op->result, op->done
 *   2. lock the ring of the worker; fill, push;      2. win the wait, if it is still on
 *      unlock                                        3. unlock; make the fiber ready
 *   3. block
 *   4. the wait ended by itself: the result is there
 *      by a cancellation or deadline: lock; done? the result is there. Else begin another wait, that only
 *      the completion ends, and push a request that ends the first one; unlock; enter; block
 *
 * So the op and the memory of its request are in use until the completion has ended a wait and that wait is over, or
 * until the op was seen done under the lock.
 */
#ifndef WEFT_SCHED_RINGS_H
#define WEFT_SCHED_RINGS_H

#include "sched/core/cluster.h"

#define WEFT_RING_ENTRIES 128

/*
 * A result: nothing was done, because the ring is no more, and the request may be made again elsewhere. So end those
 * that are under way when their cluster is destroyed: by fibers that have been moved away, or for no fiber.
 */
#define WEFT_RING_LEFT (-ERESTART)

/* The ring of the calling fiber's worker, locked, with room for n entries; it is opened if it is not. NULL and *err:
 * no ring to be had, as weft__uring_open says; or -EBUSY: the kernel does not take more now; or -EINVAL:
 * it never takes so many. */
struct weft__uring *weft__ring_lock_own(unsigned n, int *err);
void weft__ring_unlock(struct weft__uring *r);
/* Why the last ring was not opened: what the kernel lacks; NULL: the error says it. */
extern _Atomic(const char *) weft__ring_refusal;

/* Entry i, filled but for its user_data, is the request of this op; all of them are pushed together. Locked. */
void weft__ring_claim(struct weft__uring *r, struct io_uring_sqe *e, struct weft__op *op);
/* It is not pushed after all. */
void weft__ring_unclaim(struct weft__uring *r, struct weft__op *op);

/* Asks for its end, unless it is done. The op's memory is there. */
void weft__ring_cancel(struct weft__op *op);

/* Step 4, for a fiber after its wait has ended otherwise; when it returns, op->result is there. */
void weft__ring_abandon(struct weft__fiber *me, struct weft__op *op);

/* The descriptor is about to be closed: the requests for it end, with -ECANCELED. */
void weft__rings_close_fd(int fd);

/* Hands over what was pushed, and makes the fibers ready that waited for what has completed. Any worker, at home. */
void weft__ring_serve(struct weft__uring *r);
static inline void weft__ring_look(struct weft__uring *r) {
    if (unlikely(load_rlx(&r->open)) && (weft__uring_needs_reap(r) || weft__uring_needs_task_run(r)))
        weft__ring_serve(r);
}

/* The carrier ends: its requests are ended, and it waits for that. A thread that exits would cancel them unseen. When
 * the runtime goes on, those that were cut short end as WEFT_RING_LEFT. */
void weft__ring_worker_ends(struct weft__worker *w);
void weft__rings_after_fork(void);

#endif
