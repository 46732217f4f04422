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
 * Sleep: the carrier sleeps in the ring, and wakes for a completion or because somebody woke it. The
 * wakers know nothing of rings, they wake the futex that is the driver's state. A wait for that futex is
 * one of the ring's requests, handed over by the same call that sleeps:
 *
 *   the worker                                       a waker
 *   1. state -> ASLEEP                               1. state -> AWAKE
 *   2. no wait for the futex is under way: fill one  2. it was ASLEEP: wake the futex, whoever waits there
 *      for the value ASLEEP
 *   3. enter, until there is one completion
 *
 * The wait stays under way when the worker wakes for another reason, and serves its next sleep. As long
 * as it is, the worker must sleep here: a wake of the futex wakes one, and that must not be the wrong one.
 */
#ifndef WEFT_DRIVER_RING_H
#define WEFT_DRIVER_RING_H

#include "base/lock.h"

struct io_uring;
struct io_uring_sqe;
struct weft__fiber;
struct weft__list;
struct weft__uring;

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
    _Atomic bool open;          /* written under the lock */
    _Atomic bool armed;         /* a wait for the futex is under way; written under the lock */
    _Atomic unsigned in_flight; /* requests that have not completed; written under the lock */
    bool leaves;    /* its cluster is given up, and what it has under way is made elsewhere; under the lock */
    uint64_t known; /* operations that the kernel has, a bit each; since it was opened */
    struct io_uring *kernel;
    struct weft__lent *lent; /* NULL: none was asked for yet */
};

struct weft__completion {
    struct weft__op *op;
    int result;
    unsigned flags;
};
#define WEFT_COMPLETION_MORE 2u /* flags: there will be another one of this op */

/* Opens it for the calling carrier, with room for so many entries. -ENOSYS, -EPERM: no rings here, or none that is
 * good enough. -ENOMEM, -EMFILE, -ENFILE. */
int weft__ring_open(struct weft__uring *r, unsigned entries);

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
/* state is ASLEEP. Until a completion is there, somebody has changed it, or the deadline. */
void weft__ring_sleep(struct weft__uring *r, _Atomic uint32_t *state, uint64_t deadline);

/* Ends the requests for the descriptor that the kernel has; they complete soon. It does not find those that
 * it is just about to try again. */
void weft__ring_cancel_fd(struct weft__uring *r, int fd);

/* Which of its buffers a completion with these flags has used; NULL: none. */
void *weft__lent_at(const struct weft__lent *lent, unsigned flags);
/* The end of a share; data: what it had, or NULL. */
void weft__lent_return(struct weft__lent *lent, void *data);

/* Fills an entry that asks for the end of a request. */
void weft__ring_fill_cancel(struct io_uring_sqe *e, const struct weft__op *op);

#endif
