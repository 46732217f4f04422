/* SPDX-License-Identifier: MIT */
/*
 * Deques of tasks. The owner pushes and pops at the head, the youngest call; thieves take at the tail, the oldest. The
 * calls are in an array:
 *
 *      calls                 tail           split                head            calls + WEFT_DEQUE_CAPACITY
 *        |     stolen          |    public    |     private        |   free            |
 *
 * A call is identified by its index. The variant of the deque decides which side may run it. All variants keep this
 * contract:
 *
 *   push(d, c)     owner. c is d->calls + n after n pushes that were not popped. The call is written. If the variant
 *                  has no room, the call stays private: no thief takes it, and pop returns true.
 *   pop(d, c)      owner. c is the youngest call that was pushed and not popped. True: the owner has it back.
 *                  False: a thief has taken it, or is taking it now and will succeed.
 *   forget(d, c)   owner, after a pop that returned false, when the stolen call has run: its slot is free.
 *   reset(d)       owner, when the deque is empty and goes to another owner. NULL: not needed.
 *   steal(d)       any thread, at any time, also on a deque that belongs to another fiber by now. Returns the oldest
 *                  call, which belongs to the caller then. NULL: there is none, or another thief was faster.
 *                  Reads nothing of a call. A call is returned once, by pop or by steal.
 *   press(d, now)  a thief that found nothing to steal: asks the owner to publish more, and takes stronger
 *                  measures if it asked long ago. NULL: not needed.
 *   ready(d)       any thread: would a steal succeed now? A hint. For the split deque it reads no cache line that
 *                  the owner writes.
 *   several(d)     any thread: would two steals succeed? A hint. NULL: unknown.
 *   some(d)        any thread: are there calls that could be stolen, now or after press? A hint, but exact after a
 *                  full fence while the owner does nothing.
 *   yield(d)       owner: publishes all calls, because it goes away for a while. NULL: all calls are public.
 *   trim(d)        when the deque is empty and unowned: gives back what it has grown by. NULL: it does not grow.
 *
 * The default, the split deque (deque_split.c), needs no fences and locked instructions until a thief asks for work.
 * The owner's fast paths are inline in weft/task.h. They call push and pop only if the call is outside [low, low +
 * span), or below in.split. Other variants keep in.span at 0 and in.split at the end, so that every call goes through
 * this contract.
 *
 * A stolen call runs in a fiber that is made for it. Owner and thief communicate by call->state, see
 * sched/tasks/stolen.c. Invariant: the state is 0 in every slot that is free or private, so a fork need not store it.
 *
 * Deques are never unmapped (type-stable): a thief may read any deque that it has ever seen.
 */
#ifndef WEFT_QUEUE_DEQUE_H
#define WEFT_QUEUE_DEQUE_H

#include "weft.h"

#include "base/lock.h"

#define WEFT_DEQUE_CAPACITY (UINT32_C(1) << 22) /* calls; address space, committed as it is touched */
#define WEFT_DEQUE_FIRST 1024 /* beyond this index weft counts touched slots and gives their pages back later */

struct weft__deque;
struct weft__deque_variant {
    const char *name;
    void (*push)(struct weft__deque *d, struct weft_call *c);
    bool (*pop)(struct weft__deque *d, struct weft_call *c);
    void (*forget)(struct weft__deque *d, struct weft_call *c);
    void (*reset)(struct weft__deque *d);
    struct weft_call *(*steal)(struct weft__deque *d);
    void (*press)(struct weft__deque *d, uint64_t now);
    bool (*ready)(struct weft__deque *d);
    bool (*several)(struct weft__deque *d);
    bool (*some)(struct weft__deque *d);
    void (*yield)(struct weft__deque *d);
    void (*trim)(struct weft__deque *d);
    int (*make)(struct weft__deque *d); /* once for each deque; may be NULL. -ENOMEM */
};

/* Calls from this index on were forked while the scope `what` was active for their owner; see
 * sched/tasks/task_scopes.c. No mark is above the head after a join: joins of calls below the floor go to pop. The
 * floor is the index of the innermost mark, or the base. */
#define WEFT_DEQUE_MARKS 32
struct weft__deque_mark {
    uint32_t index;
    void *what;
};

struct weft__deque {
    struct weft_deque in; /* the part that inline code uses */
    /* Written by the owner. */
    const struct weft__deque_variant *variant WEFT_ALIGNED;
    struct weft_call *calls; /* the first slot */
    uint32_t used;    /* number of slots that may have been touched since their pages were last given back; see touch */
    bool lags;        /* split: tail and split are above the head, in slots whose calls were all stolen */
    bool eager;       /* split: forks take the slow path when there are twice as many calls as the last time */
    unsigned entered; /* typed frames that hold a pointer to the deque */
    _Atomic unsigned holes;   /* calls that were joined before younger calls; see weft__deque_count_holes */
    struct weft_call *floor;  /* written under the lock; the first slot if the deque is empty */
    struct weft_call *base;   /* start of the innermost typed frame: the head stays at or above it */
    void *owner;              /* the fiber that forks */
    struct weft_call *stolen; /* the call that this fiber was made for */
    bool joining;             /* this fiber is parked in a join */
    struct weft__deque
        *next;  /* in a pool or cache; for a running child: its parent's deque (sched/tasks/continuation.c) */
    void *more; /* state of the variant */
    /* Shared. */
    _Atomic uint64_t public WEFT_ALIGNED; /* split: 63..32 tail, 31..0 split */
    struct weft__lock lock;               /* split: held to move the split */
    _Atomic uint64_t asked;               /* when a thief set span to 0 */
    struct weft__deque *after, *before;   /* in the list of suspended deques, under its lock */
    void *home;                           /* the worker on which its fiber was suspended */
    bool listed;
    _Atomic bool rooted;       /* the root is open; see sched/wait/cancel_root.c for this field and the next three */
    struct weft_scope root;    /* cancels fibers that run calls of the owner */
    void *around;              /* the scope that cancels the owner, if the owner has begun no scope; NULL: none */
    struct weft_shield member; /* continuation stealing: for a child that waits */
    unsigned
        marks; /* number of marks above the lowest; marks beyond the capacity are dropped. Written under the lock */
    struct weft__deque_mark mark[WEFT_DEQUE_MARKS];
};

extern const struct weft__deque_variant weft__deque_split, weft__deque_chase_lev, weft__deque_abp, weft__deque_locked;

/* All variants, indexed by WEFT_DEQUE_... of the configuration; ends with NULL. */
extern const struct weft__deque_variant *const weft__deque_variants[];

static inline struct weft__deque *weft__deque_of(struct weft_deque *in) {
    return container_of(in, struct weft__deque, in);
}
static inline _Atomic(struct weft_call *) *weft__deque_head(struct weft__deque *d) {
    return (_Atomic(struct weft_call *) *)&d->in.head;
}
static inline _Atomic(struct weft_call *) *weft__deque_split_pointer(struct weft__deque *d) {
    return (_Atomic(struct weft_call *) *)&d->in.split;
}
static inline _Atomic uintptr_t *weft__deque_span(struct weft__deque *d) { return (_Atomic uintptr_t *)&d->in.span; }
static inline _Atomic uint64_t *weft__call_state(struct weft_call *c) { return (_Atomic uint64_t *)&c->state; }

/* For the owner. */
static inline uint32_t weft__deque_index(const struct weft__deque *d, const struct weft_call *c) {
    return (uint32_t)(c - d->calls);
}
static inline bool weft__deque_is_empty(const struct weft__deque *d) { return d->in.head == d->calls; }

/* A thief has asked for work, and the owner has not answered yet. */
static inline bool weft__deque_is_asked(struct weft__deque *d) {
    return !load_rlx(weft__deque_span(d)) && d->variant == &weft__deque_split;
}

/* An empty deque of this variant, or NULL. It belongs to the caller until weft__deque_put, which needs it empty. */
struct weft__deque *weft__deque_get(const struct weft__deque_variant *variant);
void weft__deque_put(struct weft__deque *d);
/* In a forked child: drops the pools if a thread of the parent was just changing them. */
void weft__deque_after_fork(void);
/* Gives back pages that large unowned deques no longer use. */
void weft__deque_trim(void);
/* The owner: is there no slot after c? Then nothing more can be pushed. */
static inline bool weft__deque_is_full(const struct weft__deque *d, const struct weft_call *c) {
    return weft__deque_index(d, c) >= WEFT_DEQUE_CAPACITY - 1;
}

/*
 * The owner, for a call on the slow path: marks its slot as touched. Every variant comes here often enough: the span of
 * the split deque ends at the last marked slot, and the other variants have no fast path. False: the deque is full.
 */
bool weft__deque_touch_more(struct weft__deque *d, const struct weft_call *c);
static inline bool weft__deque_is_touched(const struct weft__deque *d, const struct weft_call *c) {
    return weft__deque_index(d, c) < d->used;
}
static inline bool weft__deque_touch(struct weft__deque *d, const struct weft_call *c) {
    return likely(weft__deque_is_touched(d, c)) || weft__deque_touch_more(d, c);
}

/* For variants without a fast path: every call goes through the contract. */
static inline void weft__deque_close_fast_path(struct weft__deque *d) {
    store_rlx(weft__deque_span(d), 0);
    store_rlx(weft__deque_split_pointer(d), d->calls + WEFT_DEQUE_CAPACITY);
}

/* The owner: from now on joins of calls below this index, or below the base, go to pop. Locked. */
void weft__deque_set_floor(struct weft__deque *d, uint32_t index);
/* The owner: a hole was added (1) or removed (-1u). While there are holes, the fast paths are closed. */
void weft__deque_count_holes(struct weft__deque *d, unsigned more);
/* The owner of a split deque: drops the youngest calls as far as they are private holes. */
void weft__deque_drop_private(struct weft__deque *d);

#endif
