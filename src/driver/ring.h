/*
 * The ring: an io_uring of a worker. It takes requests, says which have completed, and never calls the
 * scheduler. What a request is, and who waits for it, is known above (sched/rings.c, io/uring.c).
 *
 * Who may do what:
 *
 *   fill entries, take completions   whoever holds the lock: the worker, or another in its stead
 *   enter the kernel                 carriers of the worker's cluster, without the lock: the kernel has its own
 *   sleep                            the worker's carrier
 *
 * An entry is the kernel's as soon as it was filled and the tail was moved; the next one to enter, for
 * whatever reason, hands it over. The worker enters once for all that came together between two looks.
 *
 * What the kernel does for a request it does in the context of the thread that handed it over, when that
 * one enters, sleeps, or is interrupted (cooperative task running). Without that it would interrupt the
 * thread for each completion: up to a third more in all. With it, a carrier that computes delays its
 * completions by a tick of the kernel at most. Deferred running is cheaper still, but then only one
 * thread may enter, and nobody could stand in for a worker that is stuck.
 *
 * Sleep: the carrier sleeps in the ring, and wakes for a completion or because a waker woke it. The waker wakes the
 * futex that is the driver's state. A wait for that futex is one of the ring's requests, handed over by the same call
 * that sleeps:
 *
 *   the worker                                       a waker
 *   1. state -> ASLEEP                               1. state -> AWAKE
 *   2. no wait for the futex is under way: fill one  2. it was ASLEEP: wake the futex
 *      for the value ASLEEP
 *   3. enter, until there is one completion
 *
 * The wait stays under way when the worker wakes for another reason, and serves its next sleep. As long
 * as it is, the worker must sleep here: a wake of the futex wakes one waiter, and that must be this one.
 *
 * Kernels before 6.7 have no wait for a futex in a ring. There the ring has an event descriptor, the bell, and a read
 * of it takes the place of that wait:
 *
 *   the worker                                       a waker
 *   1. state -> AT_BELL                              1. state -> AWAKE
 *   2. no read of the bell is under way: fill one    2. it was AT_BELL: write to the bell
 *   3. enter, until there is one completion
 *
 * The bell keeps what was written until it is read, so a read that is handed over late completes at once. A write that
 * comes late, after the worker woke for another reason, ends the next sleep early, and that is all. Which of the two
 * ways it is, is decided when the ring is opened.
 */
#ifndef WEFT_DRIVER_RING_H
#define WEFT_DRIVER_RING_H

#include "base/lock.h"

struct io_uring;
struct io_uring_sqe;
struct weft__fiber;
struct weft__list;
struct weft__uring;

/* What a kernel may lack, besides operations. A test may take it away. */
enum {
    WEFT_LACKS_COOP_TASKRUN = 1, /* the set-up of such a ring fails with EINVAL */
    WEFT_LACKS_EXT_ARG = 2,
    WEFT_LACKS_SYNC_CANCEL = 4, /* cancellation by a call: an entry asks for it */
    WEFT_LACKS_BUFFERS = 8
};

struct weft__ring_wish {
    unsigned entries;
    uint64_t without; /* operations that are taken away, a bit each */
    unsigned lacks;
};

/* A request that a ring has; in the memory of whoever made it. Its address is what names it. */
struct weft__op {
    /* NULL: end the wait. Else called when it has completed, perhaps several times: WEFT_COMPLETION_MORE. */
    void (*fn)(struct weft__op *op, int result, unsigned flags);
    bool at_once;              /* under the ring's lock, so that one call has returned before the next */
    struct weft__fiber *fiber; /* who waits, and its ticket */
    uint64_t ticket;
    struct weft__uring *ring;
    int fd; /* that it is about; -1: none */
    int result;
    unsigned flags; /* of the completion */
    bool done;      /* under the ring's lock: the result is there, and the ring has forgotten it */
};

struct weft__uring {
    struct weft__lock lock;
    _Atomic bool open;  /* written under the lock */
    _Atomic bool armed; /* the wait for the futex, or the read of the bell, is under way; written under the lock */
    _Atomic unsigned in_flight; /* requests that have not completed; written under the lock */
    bool leaves;    /* its cluster is given up, and what it has under way is made elsewhere; under the lock */
    uint64_t known; /* operations that the kernel has, a bit each; since it was opened */
    struct io_uring *kernel;
    int bell;                /* event descriptor that wakers write to; -1: they wake the futex */
    unsigned lacks;          /* WEFT_LACKS_... */
    uint64_t rung;           /* what the kernel reads from the bell */
    struct weft__lent *lent; /* NULL: none was asked for yet */
};

struct weft__completion {
    struct weft__op *op;
    int result;
    unsigned flags;
};
#define WEFT_COMPLETION_MORE 2u /* flags: there will be another one of this op */

/* Opens it for the calling carrier. -ENOSYS, -EPERM: no rings here, or none that is good enough; *why says what is
 * missing, or is NULL if the kernel refused the set-up for another reason. -ENOMEM, -EMFILE, -ENFILE. */
int weft__ring_open(struct weft__uring *r, const struct weft__ring_wish *wish, const char **why);

/* Ends all requests, and hands out the completions as reap does, until there are none left; then it may be closed.
 * False: there are some that do not end. */
bool weft__ring_end(struct weft__uring *r);
void weft__ring_close(struct weft__uring *r);
/* In a forked child: our copy goes, the parent's stays. */
void weft__ring_forget(struct weft__uring *r);

/* Has the kernel this operation? One that is taken from it, by a test, it has not. */
static inline bool weft__ring_knows(const struct weft__uring *r, uint8_t opcode) {
    return opcode < 64 && r->known >> opcode & 1;
}

/* --- with the lock --------------------------------------------------------------------------- */

/* n entries, one after the other, zeroed; false: there is no room before the kernel was entered. There is never room
 * for more than its size. */
bool weft__ring_room(struct weft__uring *r, unsigned n);
unsigned weft__ring_size(const struct weft__uring *r);
struct io_uring_sqe *weft__ring_entry(struct weft__uring *r, unsigned i);
/* Its completion will be this op's. */
void weft__ring_name(struct io_uring_sqe *e, struct weft__op *op);
/* The first n of them are the kernel's now. */
void weft__ring_push(struct weft__uring *r, unsigned n);

/* At most n completions; returns how many. */
unsigned weft__ring_reap(struct weft__uring *r, struct weft__completion *out, unsigned n);

/*
 * Memory that the kernel chooses from when something has come to be received, so that whoever waits needs none:
 * WEFT_LENT buffers of WEFT_LENT_SIZE bytes. The entry is to receive into one of them. Each such request, and then what
 * it brought, is a share in the memory, which outlives the ring if need be. NULL and *err, -ENOMEM, -ENOSYS: there are
 * none.
 */
#define WEFT_LENT 256
#define WEFT_LENT_SIZE 4096
struct weft__lent *weft__ring_lend(struct weft__uring *r, struct io_uring_sqe *e, int *err);

/* --- without ----------------------------------------------------------------------------------- */

/* Something to hand over? Takes the lock. */
bool weft__ring_is_filled(struct weft__uring *r);
/* Or to reap? */
bool weft__ring_waits(const struct weft__uring *r);
/* Or has the kernel something to finish, that only the thread can let it which handed it over? For its worker. */
bool weft__ring_must_run(const struct weft__uring *r);
bool weft__ring_has_completions(const struct weft__uring *r);

/* Hands over what there is, and lets completions come in. 0; -EAGAIN, -EBUSY, -ENOMEM ...: later. */
int weft__ring_enter(struct weft__uring *r);

/* Must its worker sleep here? */
static inline bool weft__ring_in_use(const struct weft__uring *r) {
    return load_rlx(&r->open) && (load_rlx(&r->armed) || load_rlx(&r->in_flight));
}
/* How wakers end a sleep in this ring: by its bell, or -1: by the futex. */
static inline int weft__ring_bell(const struct weft__uring *r) { return r->bell; }

/* The state is `asleep`. Until a completion is there, a waker has changed the state, or the deadline. */
void weft__ring_sleep(struct weft__uring *r, _Atomic uint32_t *state, uint32_t asleep, uint64_t deadline);

/* Ends the requests for the descriptor that the kernel has; they complete soon. The kernel does not find those that
 * it is just about to try again. True: an entry does it, because the kernel has no call for it. Then the ring must be
 * entered, and until the kernel has taken the entry the descriptor must stay open. */
bool weft__ring_cancel_fd(struct weft__uring *r, int fd);

/* Which of its buffers a completion with these flags has used; NULL: none. */
void *weft__lent_at(const struct weft__lent *lent, unsigned flags);
/* The end of a share; data: what it had, or NULL. */
void weft__lent_return(struct weft__lent *lent, void *data);

/* Fills an entry that asks for the end of a request. */
void weft__ring_fill_cancel(struct io_uring_sqe *e, const struct weft__op *op);

#endif
