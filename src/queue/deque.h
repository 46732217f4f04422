/*
 * Deques of forked calls. The owner pushes and pops at the head, the youngest; thieves take at the
 * tail, the oldest. The calls themselves lie in an array, one place after the other:
 *
 *      calls                 tail           split                head            calls + WEFT_DEQUE_MOST
 *        |  taken by others    |    public    |     private        |   free            |
 *
 * A call is known by its place. Who may run it is decided by the kind of deque, this contract:
 *
 *   push(d, c)     owner; c is d->calls + n after n pushes that were not popped. The call is written. A kind
 *                  that has no room for it keeps it private: nobody steals it, and pop says true.
 *   pop(d, c)      owner; c is the youngest that was pushed and not popped. True: it is the owner's again;
 *                  false: somebody has taken it, or is doing so at this moment and will succeed.
 *   forget(d, c)   owner, after a pop that said false, when the taken call has run: its place is free.
 *   reset(d)       owner, when it is empty and goes to somebody else. NULL: not needed.
 *   steal(d)       anybody, at any time, also with a pointer to a deque that is another fiber's by now:
 *                  the oldest, which is the caller's from then on; or NULL: none, or somebody was quicker.
 *                  Reads nothing of a call. A call is handed out once, by pop or by steal.
 *   press(d, now)  anybody who found nothing to steal: asks the owner to be more generous, and does more
 *                  if it was asked long ago. NULL: not needed.
 *   ready(d)       anybody: would a steal find something now? A guess; that of the split deque reads no line
 *                  the owner writes.
 *   several(d)     any thread: would two? A guess. NULL: unknown.
 *   some(d)        anybody: are there calls that could be taken, public or after some pressing? A guess,
 *                  but exact after a full fence while the owner does nothing.
 *   yield(d)       owner: make all public, it goes away for a while. NULL: they are.
 *   trim(d)        when it is empty and nobody has it: gives back what it has grown by. NULL: it does not grow.
 *
 * The default, the split deque (split.c), does without fences and locked instructions as long as
 * nobody asks for work: its owner's fast paths are inline, in weft/task.h, and end in push and pop
 * only when the call is outside [low, low + span), or below in.split. Other kinds keep in.span at 0 and
 * in.split at the end, so that everything goes through here.
 *
 * A call that was stolen is run by a fiber made for it. What the two sides say to each other about it is
 * call->state, see sched/tasks.c. Invariant: it is 0 in every place that is free or private, so a
 * fork need not store it.
 *
 * Deques are never unmapped (type-stable): a thief may look at any that it has ever seen.
 */
#ifndef WEFT_QUEUE_DEQUE_H
#define WEFT_QUEUE_DEQUE_H

#include "weft.h"

#include "base/lock.h"

#define WEFT_DEQUE_MOST (UINT32_C(1) << 22) /* calls; address space, committed as it is touched */
#define WEFT_DEQUE_FIRST 1024               /* more than so many: counted, and given back one day */

struct weft__deque;
struct weft__deque_kind {
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
    int (*make)(struct weft__deque *d); /* once a deque; may be NULL. -ENOMEM */
};

/* Calls from this place on were forked while that was in force for their owner; see sched/tasks.c. Never above the head
 * after a join: those of calls below the floor, the place of the innermost mark or the base, come to pop. */
#define WEFT_DEQUE_MARKS 32
struct weft__deque_mark {
    uint32_t place;
    void *what;
};

struct weft__deque {
    struct weft_deque in; /* what is used inline */
    /* The owner's. */
    const struct weft__deque_kind *kind WEFT_ALIGNED;
    void *memory;             /* the mapping that it lies in */
    struct weft_call *calls;  /* the first place */
    uint32_t used;            /* places that were perhaps touched since they were last given back; see touch */
    bool lags;                /* split: tail and split are above the head, where all that lay there was taken */
    bool eager;               /* split: forks come by when there are twice as many as the last time */
    unsigned entered;         /* frames that hold a pointer to it */
    _Atomic unsigned holes;   /* calls that were joined before younger ones; see weft__deque_holes */
    struct weft_call *floor;  /* written under the lock; the first place when it is empty */
    struct weft_call *base;   /* where the innermost typed frame that was entered begins: the head stays above */
    void *owner;              /* the fiber that forks */
    struct weft_call *stolen; /* what that fiber was made for */
    bool joining;             /* that fiber is parked in a join */
    struct weft__deque *next; /* in a pool or a cache; of a child that runs: its parent's (sched/continue.c) */
    void *more;               /* of the kind */
    /* Everybody's. */
    _Atomic uint64_t public WEFT_ALIGNED; /* split: 63..32 tail, 31..0 split */
    struct weft__lock lock;               /* split: held to move it */
    _Atomic uint64_t asked;               /* when span became 0 */
    struct weft__deque *after, *before;   /* among the suspended ones, under their lock */
    void *home;                           /* the worker that its fiber was suspended on */
    bool listed;
    _Atomic bool rooted;       /* the root is open; see sched/root.c, as the next three */
    struct weft_scope root;    /* tells those that run calls of the owner */
    void *around;              /* the scope that tells the owner, if it has begun none itself; NULL: none does */
    struct weft_shield member; /* continuation stealing: of a child that waits */
    unsigned marks;            /* above the lowest; those beyond the room are not kept. Written under the lock */
    struct weft__deque_mark mark[WEFT_DEQUE_MARKS];
};

extern const struct weft__deque_kind weft__deque_split, weft__deque_chase_lev, weft__deque_abp, weft__deque_locked;

/* All kinds, by their numbers in a configuration (WEFT_DEQUE_...); then NULL. */
extern const struct weft__deque_kind *const weft__deque_kinds[];

static inline struct weft__deque *weft__deque_of(struct weft_deque *in) {
    return container_of(in, struct weft__deque, in);
}
static inline _Atomic(struct weft_call *) *weft__deque_head(struct weft__deque *d) {
    return (_Atomic(struct weft_call *) *)&d->in.head;
}
static inline _Atomic(struct weft_call *) *weft__deque_bound(struct weft__deque *d) {
    return (_Atomic(struct weft_call *) *)&d->in.split;
}
static inline _Atomic uintptr_t *weft__deque_span(struct weft__deque *d) { return (_Atomic uintptr_t *)&d->in.span; }
static inline _Atomic uint64_t *weft__call_state(struct weft_call *c) { return (_Atomic uint64_t *)&c->state; }

/* The owner's view. */
static inline uint32_t weft__deque_place(const struct weft__deque *d, const struct weft_call *c) {
    return (uint32_t)(c - d->calls);
}
static inline bool weft__deque_empty(const struct weft__deque *d) { return d->in.head == d->calls; }

/* Somebody has asked, and the owner has not answered yet. */
static inline bool weft__deque_asked(struct weft__deque *d) {
    return !load_rlx(weft__deque_span(d)) && d->kind == &weft__deque_split;
}

/* An empty one of this kind, or NULL. It belongs to the caller until it is put back, empty. */
struct weft__deque *weft__deque_get(const struct weft__deque_kind *kind);
void weft__deque_put(struct weft__deque *d);
/* In a forked child: what was just being changed by a thread that is not there is forgotten. */
void weft__deque_forked(void);
/* Gives the pages back that large ones no longer use; of those that nobody has. */
void weft__deque_trim(void);
/* The owner, when the place after c does not exist: no more can be pushed. */
static inline bool weft__deque_full(const struct weft__deque *d, const struct weft_call *c) {
    return weft__deque_place(d, c) >= WEFT_DEQUE_MOST - 1;
}

/*
 * The owner, of a call that comes to the slow path: its place counts as touched. Every kind comes by often enough: the
 * split deque's span ends with the places that were counted, the others have no fast path. False: the deque is full.
 */
bool weft__deque_touch_more(struct weft__deque *d, const struct weft_call *c);
static inline bool weft__deque_is_touched(const struct weft__deque *d, const struct weft_call *c) {
    return weft__deque_place(d, c) < d->used;
}
static inline bool weft__deque_touch(struct weft__deque *d, const struct weft_call *c) {
    return likely(weft__deque_is_touched(d, c)) || weft__deque_touch_more(d, c);
}

/* The kinds' own: everything goes through the contract. */
static inline void weft__deque_close_fast_path(struct weft__deque *d) {
    store_rlx(weft__deque_span(d), 0);
    store_rlx(weft__deque_bound(d), d->calls + WEFT_DEQUE_MOST);
}

/* The owner: joins of calls below this place, or the base, come to pop from now on. Locked. */
void weft__deque_set_floor(struct weft__deque *d, uint32_t place);
/* The owner: one hole has come (1), or gone (-1u). While there are any, the fast paths are closed, too. */
void weft__deque_holes(struct weft__deque *d, unsigned more);
/* The owner of a split deque: the youngest calls, as far as they are holes and private, are dropped. */
void weft__deque_drop_private(struct weft__deque *d);

#endif
