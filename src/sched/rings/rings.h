/* SPDX-License-Identifier: MIT */
/*
 * Submits requests to the rings of workers (driver/uring.h), and makes fibers ready when their requests have completed.
 * A worker looks at its ring at home: when it has nothing to run, and once in a number of dispatches. If it is stuck,
 * another worker looks.
 *
 *   a fiber                                          the thread that takes the completion
 *   1. begins a wait; op has the fiber and ticket    1. locks the ring; writes op->result and op->done
 *   2. locks the ring of its worker; fills and       2. wins the wait, if that has not ended yet
 *      pushes an entry; unlocks                      3. unlocks; makes the fiber ready
 *   3. blocks
 *   4. if the completion has ended the wait: takes the result from op.
 *      If a cancellation or deadline has: locks the ring. If op->done, takes the result, too. Otherwise begins a
 *      second wait, which only the completion ends, and pushes a request that cancels the first; unlocks; submits;
 *      blocks
 *
 * So the op and the memory of its request are in use until the fiber has returned from a wait that the completion
 * ended, or has seen op->done under the lock.
 */
#ifndef WEFT_SCHED_RINGS_H
#define WEFT_SCHED_RINGS_H

#include "sched/core/cluster.h"

#define WEFT_RING_ENTRIES 128

/*
 * This result says that the kernel has done nothing, because the ring was closed; the request may be made again on
 * another ring. It is the result of requests that are under way when their cluster is destroyed: requests of fibers
 * that have moved to another cluster, and requests without a fiber.
 */
#define WEFT_RING_LEFT (-ERESTART)

/* Locks the ring of the calling fiber's worker and returns it, with room for n entries. Opens it if necessary. NULL:
 * *err is -EBUSY: the kernel takes no more entries now; -EINVAL: no ring has room for n; or an error of
 * weft__uring_open. */
struct weft__uring *weft__ring_lock_own(unsigned n, int *err);
void weft__ring_unlock(struct weft__uring *r);
/* Why a ring could not be opened: what the kernel lacks. NULL: the error number says it. */
extern _Atomic(const char *) weft__ring_refusal;

/* Makes entry e the request of this op: writes the entry's user_data, and counts the request. The caller has filled the
 * rest of the entry, and pushes it afterwards. Locked. */
void weft__ring_claim(struct weft__uring *r, struct io_uring_sqe *e, struct weft__op *op);
/* Undoes weft__ring_claim, for an entry that is not pushed. */
void weft__ring_unclaim(struct weft__uring *r, struct weft__op *op);

/* Asks the kernel to cancel the op's request, unless that is done. The op must still exist. */
void weft__ring_cancel(struct weft__op *op);

/* Step 4, for a fiber whose wait was ended by a cancellation or deadline. When it returns, op->result is valid. */
void weft__ring_abandon(struct weft__fiber *me, struct weft__op *op);

/* Called before a descriptor is closed: ends its requests with -ECANCELED. */
void weft__rings_close_fd(int fd);

/* Submits the entries that were pushed, and makes fibers ready whose requests have completed. Called by any worker, at
 * home. */
void weft__ring_serve(struct weft__uring *r);
static inline void weft__ring_look(struct weft__uring *r) {
    if (unlikely(load_rlx(&r->open)) && (weft__uring_needs_reap(r) || weft__uring_needs_task_run(r)))
        weft__ring_serve(r);
}

/* Called when a carrier ends: cancels the requests in its ring, and waits until they have completed. Otherwise the
 * kernel would cancel them when the thread exits, and their fibers would not learn of it. If the runtime goes on, the
 * cancelled requests have the result WEFT_RING_LEFT. */
void weft__ring_worker_ends(struct weft__worker *w);
void weft__rings_after_fork(void);

#endif
