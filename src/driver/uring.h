/* SPDX-License-Identifier: MIT */
/*
 * The ring: a worker's io_uring. It takes requests, reports completions, and never calls the scheduler.
 * sched/rings/rings.c and io/engine_uring.c know what a request means and which fiber waits for it.
 *
 * Which thread may do what:
 *
 *   fill entries, take completions   the holder of the lock: the worker, or another worker in its place
 *   enter the kernel                 carriers of the worker's cluster, without the lock: the kernel has its own
 *   sleep                            the worker's carrier
 *
 * An entry belongs to the kernel as soon as it is filled and the tail has moved. The next thread that enters the kernel
 * for any reason submits it. The worker enters once for all entries that were filled between two polls.
 *
 * The kernel processes completions in the context of the submitting thread, when that thread enters, sleeps or is
 * interrupted (cooperative task running). Otherwise it would interrupt the thread for each completion, which costs up
 * to a third more in total. A carrier that computes delays its completions by at most one tick of the kernel. Deferred
 * task running would be cheaper still, but allows only one thread to enter, so no other worker could take over for a
 * stuck worker.
 *
 * Sleep: the carrier sleeps in the ring and wakes for a completion or a waker. The waker wakes the futex that is the
 * driver's state. A request of the ring waits for that futex; the call that sleeps submits it:
 *
 *   the worker                                       a waker
 *   1. state -> ASLEEP                               1. state -> AWAKE
 *   2. if no futex wait is pending: fill an entry    2. the state was ASLEEP: wake the futex
 *      that waits while the state is ASLEEP
 *   3. enter, until there is a completion
 *
 * If the worker wakes for another reason, the futex wait stays pending and serves the next sleep. While it is pending,
 * the worker must sleep in the ring: a futex wake wakes a single waiter, and that must be this request.
 *
 * Kernels before 6.7 cannot wait for a futex in a ring. There the ring has an event descriptor, and a read of it
 * replaces the futex wait:
 *
 *   the worker                                       a waker
 *   1. state -> ASLEEP_ON_EVENT_FD                   1. state -> AWAKE
 *   2. if no read of the event fd is pending: fill   2. the state was ASLEEP_ON_EVENT_FD: write to it
 *      an entry
 *   3. enter, until there is a completion
 *
 * The event fd keeps its count until it is read, so a read that is submitted late completes at once. A late write,
 * after the worker woke for another reason, only ends the next sleep early. weft__uring_open chooses between the two
 * ways.
 */
#ifndef WEFT_DRIVER_URING_H
#define WEFT_DRIVER_URING_H

#include "base/lock.h"

struct io_uring;
struct io_uring_sqe;
struct weft__fiber;
struct weft__list;
struct weft__uring;

/* Features besides operations that a kernel may lack. Tests can disable them. */
enum {
    WEFT_LACKS_COOP_TASKRUN = 1, /* the set-up of a ring fails with EINVAL */
    WEFT_LACKS_EXT_ARG = 2,
    WEFT_LACKS_SYNC_CANCEL = 4, /* no synchronous cancellation: an entry requests it */
    WEFT_LACKS_BUFFERS = 8
};

struct weft__uring_options {
    unsigned entries;
    uint64_t without; /* operations that tests disable, a bit each */
    unsigned lacks;
};

/* A request in a ring, in memory of the code that made it. Its address identifies it. */
struct weft__op {
    /* NULL: the completion ends the wait. Else the completion calls fn, perhaps several times: WEFT_COMPLETION_MORE. */
    void (*fn)(struct weft__op *op, int result, unsigned flags);
    bool at_once;              /* call fn under the ring's lock, so that one call returns before the next begins */
    struct weft__fiber *fiber; /* the waiting fiber, and its ticket */
    uint64_t ticket;
    struct weft__uring *ring;
    int fd;          /* the descriptor of the request; -1: none */
    uint32_t enters; /* of the ring when the entry was filled */
    int result;
    unsigned flags; /* of the completion */
    bool done;      /* under the ring's lock: the result is set, and the ring no longer holds the request */
    bool waited;    /* with done: the call that submitted the request did not complete it */
};

struct weft__uring {
    struct weft__lock lock;
    _Atomic bool open;          /* written under the lock */
    _Atomic bool armed;         /* the futex wait or the read of the event fd is pending; written under the lock */
    _Atomic unsigned in_flight; /* requests that have not completed; written under the lock */
    _Atomic unsigned functions; /* of these, requests whose fn is called after the unlock; written under the lock */
    /* Counts calls that submit entries, and each sleep twice. Carriers that enter at the same time may count once. */
    _Atomic uint32_t enters;
    bool leaves;    /* its cluster ends, and its pending requests move to another ring; under the lock */
    uint64_t known; /* operations that the kernel supports, a bit each; constant while open */
    struct io_uring *kernel;
    int event_fd;            /* event descriptor that wakers write to; -1: they wake the futex */
    unsigned lacks;          /* WEFT_LACKS_... */
    uint64_t event_count;    /* target of the kernel's read of event_fd */
    struct weft__lent *lent; /* NULL: not requested yet */
};

struct weft__completion {
    struct weft__op *op;
    int result;
    unsigned flags;
};
#define WEFT_COMPLETION_MORE 2u /* flags: this op will complete again */

/* Opens the ring for the calling carrier. -ENOSYS, -EPERM: io_uring is missing or lacks a feature that weft needs; *why
 * names it, or is NULL if the kernel refused the set-up for another reason. -ENOMEM, -EMFILE, -ENFILE. */
int weft__uring_open(struct weft__uring *r, const struct weft__uring_options *wish, const char **why);

/* Cancels all requests. Call it, and reap, until it returns true: then the ring may be closed. False: some requests
 * have not ended. */
bool weft__uring_cancel_all(struct weft__uring *r);
void weft__uring_close(struct weft__uring *r);
/* In a forked child: closes the child's copy. The parent's ring stays open. */
void weft__uring_close_copy(struct weft__uring *r);

/* Does the kernel support this operation? Not if a test disabled it. */
static inline bool weft__uring_supports(const struct weft__uring *r, uint8_t opcode) {
    return opcode < 64 && r->known >> opcode & 1;
}

/* --- with the lock held ------------------------------------------------------------------------ */

/* Is there room for n consecutive entries? If not, the kernel must be entered first. There is never room for more than
 * weft__uring_size. weft__uring_entry zeroes and returns entry i of these. */
bool weft__uring_has_room(struct weft__uring *r, unsigned n);
unsigned weft__uring_size(const struct weft__uring *r);
struct io_uring_sqe *weft__uring_entry(struct weft__uring *r, unsigned i);
/* The completion of this entry will name this op. */
void weft__uring_set_op(struct io_uring_sqe *e, struct weft__op *op);
/* Passes the first n of these entries to the kernel. */
void weft__uring_push(struct weft__uring *r, unsigned n);

/* Removes at most n completions; returns how many. */
unsigned weft__uring_reap(struct weft__uring *r, struct weft__completion *out, unsigned n);

/*
 * WEFT_LENT buffers of WEFT_LENT_SIZE bytes. The kernel chooses one when data arrives, so that a waiting receive needs
 * no memory. This call makes the entry use them. The request, and later its data, counts as a share of the buffers,
 * which may outlive the ring. NULL with *err = -ENOMEM or -ENOSYS: there are no buffers.
 */
#define WEFT_LENT 256
#define WEFT_LENT_SIZE 4096
struct weft__lent *weft__uring_lend(struct weft__uring *r, struct io_uring_sqe *e, int *err);

/* --- without the lock -------------------------------------------------------------------------- */

/* Are there entries to submit? Takes the lock. */
bool weft__uring_has_entries(struct weft__uring *r);
/* Are there entries to submit or completions to reap? */
bool weft__uring_needs_reap(const struct weft__uring *r);
/* Is task work pending that only the submitting thread can run? For the ring's worker. */
bool weft__uring_needs_task_run(const struct weft__uring *r);
bool weft__uring_has_completions(const struct weft__uring *r);

/* Submits the filled entries, and lets completions arrive. 0; -EAGAIN, -EBUSY, -ENOMEM and others: try later. */
int weft__uring_enter(struct weft__uring *r);

/* Must the worker sleep in the ring? */
static inline bool weft__uring_is_in_use(const struct weft__uring *r) {
    return load_rlx(&r->open) && (load_rlx(&r->armed) || load_rlx(&r->in_flight));
}
/* The event fd by which wakers end a sleep in this ring; -1: they wake the futex. */
static inline int weft__uring_event_fd(const struct weft__uring *r) { return r->event_fd; }

/* The state is `asleep`. Sleeps until a completion, a change of the state by a waker, or the deadline. */
void weft__uring_sleep(struct weft__uring *r, _Atomic uint32_t *state, uint32_t asleep, uint64_t deadline);

/* Cancels the pending requests for the descriptor; they complete soon. The kernel misses requests that it is just
 * retrying. True: an entry does it, because the kernel has no call for it. Then the ring must be entered, and the
 * descriptor must stay open until the kernel has taken the entry. */
bool weft__uring_cancel_fd(struct weft__uring *r, int fd);

/* The buffer that a completion with these flags used; NULL: none. */
void *weft__lent_at(const struct weft__lent *lent, unsigned flags);
/* Ends a share. data: its buffer, or NULL. */
void weft__lent_return(struct weft__lent *lent, void *data);

/* Fills an entry that cancels a request. */
void weft__uring_fill_cancel(struct io_uring_sqe *e, const struct weft__op *op);

#endif
