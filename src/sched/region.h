/*
 * What a fiber has open, and how cancellation finds it.
 *
 *   frame    something that a fiber has begun and not ended, in memory of its own, mostly on its stack:
 *            a region or a clean-up handler. The record's `frames` is the top of a stack of them; at its
 *            bottom is the counter that the fiber completes, or nothing.
 *   region   a frame that says what cancels the fiber: a scope that it began, a shield, or, as the lowest,
 *            its membership in the scope that it was spawned in. The innermost one is in force.
 *   cause    of a scope: why it is cancelled, and with which error. Set once; 0: it is not.
 *   told     the fiber's wait word has CANCEL: its region is cancelled, or, without one, it itself.
 *
 * Regions make a tree. A scope has a chain of the regions right below it: members, and scopes that its
 * own fiber or a member began. A shield stands in no chain, so nothing comes through it. Only the
 * innermost region of a fiber tells it; the others are `covered`.
 *
 * Who holds what:
 *   - A scope's lock: its chain, its cause, and `covered` of the scope itself and of what stands in the chain.
 *     A fiber comes to be, or ceases to be, right below a scope only under that lock, and looks at the
 *     cause then; so whoever sets the cause and then goes over the chain misses nobody.
 *   - The fiber's own lock, one byte of its record: `frames` while it has a scope or shield open (OPEN),
 *     and `requested` of the lowest one. For weft_cancel, which comes from outside with nothing but a
 *     handle. Taken before the lock of a scope.
 *   - A scope's lock before that of one in its chain.
 *
 * A child costs the scope one count up and one down at most: the fiber that began the scope takes it from a reserve
 * that was counted before (scope.c), and a child whose sibling comes next leaves its end to that one (fiber.c). It
 * stands in no chain as long as it does not wait: it is spawned with LOOK in its wait word, so its first wait comes
 * by weft__heed, which enters it.
 */
#ifndef WEFT_SCHED_REGION_H
#define WEFT_SCHED_REGION_H

#include "sched/wait.h"

enum { WEFT_FRAME_CLEANUP = 1, WEFT_FRAME_MEMBER, WEFT_FRAME_SCOPE, WEFT_FRAME_SHIELD };

struct weft__frame {
    uintptr_t below; /* what `frames` was before */
    uint8_t kind;
    /* Of regions; here because there is room. */
    bool covered;   /* not the fiber's innermost */
    bool chained;   /* stands in the chain of a scope */
    bool requested; /* the lowest scope or shield: weft_cancel has come */
    bool told;      /* the fiber was, when the region began */
};

/* A round chain. */
struct weft__circle {
    struct weft__circle *next, *before;
};

struct weft__scope;

struct weft__region {
    struct weft__frame frame;
    struct weft__fiber *fiber;  /* whose it is; NULL: it is not open */
    struct weft__scope *scope;  /* in whose chain it stands, or will */
    struct weft__region *first; /* the fiber's lowest scope or shield */
    struct weft__circle place;
};

struct weft__scope {
    struct weft__region region;
    struct weft__lock lock;
    bool timed;        /* it has a deadline, and `timer` is in use; set by the fiber that begins it */
    uint64_t deadline; /* WEFT_FOREVER: none. Does not change while the scope is open */
    _Atomic uint64_t cause;
    struct weft__circle chain;
    struct weft__circle cursor; /* how far the chain has been told */
    struct weft__scope *behind; /* which is to be told after this one */
    /* Children, the timer, and whoever goes over the chain: nobody touches the scope after its completion. */
    struct weft_counter outstanding;
    struct weft_timer timer;
    uint64_t reserve; /* children that are counted already; only the fiber that began the scope looks here */
};
_Static_assert(sizeof(struct weft__scope) <= sizeof(struct weft_scope), "the public scope has room");
_Static_assert(sizeof(struct weft__region) <= sizeof(struct weft_shield), "the public shield has room");

static inline uint64_t weft__cause(int why, int err) { return (uint64_t)(uint32_t)err << 32 | (unsigned)why; }
static inline int weft__cause_why(uint64_t cause) { return (int)(cause & 0xff); }
static inline int weft__cause_error(uint64_t cause) { return (int)(uint32_t)(cause >> 32); }
/* What a wait ends with. */
static inline int weft__cause_result(uint64_t cause) {
    return weft__cause_why(cause) == WEFT_BY_DEADLINE ? -ETIMEDOUT : -ECANCELED;
}
/* What a scope is cancelled with when the one around it is. */
static inline uint64_t weft__cause_inward(uint64_t cause) {
    return weft__cause(weft__cause_why(cause), weft__cause_result(cause));
}

/* --- frames ------------------------------------------------------------------------------------- */

/*
 * `frames` is a counter, or 0; or with the tag a frame, and of which kind: so that this can be told when the frame is
 * gone.
 */
#define WEFT_FRAMES_TAG ((uintptr_t)1)
#define WEFT_FRAMES_KIND_SHIFT 1
#define WEFT_FRAMES_BITS ((uintptr_t)7)
_Static_assert(WEFT_FRAME_SHIELD - 1 <= WEFT_FRAMES_BITS >> WEFT_FRAMES_KIND_SHIFT, "a kind fits");

static inline uintptr_t weft__frames_with(struct weft__frame *f) {
    return (uintptr_t)f | (uintptr_t)(f->kind - 1) << WEFT_FRAMES_KIND_SHIFT | WEFT_FRAMES_TAG;
}
static inline struct weft__frame *weft__frame_top(uintptr_t frames) {
    return frames & WEFT_FRAMES_TAG ? (struct weft__frame *)(frames & ~WEFT_FRAMES_BITS) : NULL;
}
static inline int weft__frames_kind(uintptr_t frames) {
    return (int)((frames & WEFT_FRAMES_BITS) >> WEFT_FRAMES_KIND_SHIFT) + 1;
}
/* Has the caller opened this one, and not closed it? Found by its address: what it holds may be anything. */
static inline bool weft__frame_is_open(const struct weft__fiber *me, const struct weft__frame *frame) {
    const struct weft__frame *f = weft__frame_top(me->frames);
    while (f && f != frame) f = weft__frame_top(f->below);
    return f != NULL;
}
static inline bool weft__frame_is_region(const struct weft__frame *f) { return f->kind >= WEFT_FRAME_MEMBER; }
/* The innermost region, or NULL. */
static inline struct weft__region *weft__region_top(uintptr_t frames) {
    struct weft__frame *f = weft__frame_top(frames);
    while (f && !weft__frame_is_region(f)) f = weft__frame_top(f->below);
    return f ? container_of(f, struct weft__region, frame) : NULL;
}
/* The scope that tells whoever is in this region, and whose lock it is under; NULL: none does. */
static inline struct weft__scope *weft__region_scope(struct weft__region *r) {
    if (!r || r->frame.kind == WEFT_FRAME_SHIELD) return NULL;
    return r->frame.kind == WEFT_FRAME_SCOPE ? container_of(r, struct weft__scope, region) : r->scope;
}

/* The fiber's own lock: bit 0 of context.open; returns the rest. ROOT: see root.c. CALLS: see exit.c; it may outlast
 * the fiber, and only costs the next one a look then. */
#define WEFT_OPEN_LOCKED 1
#define WEFT_OPEN_REGIONS 2
#define WEFT_OPEN_ROOT 4
#define WEFT_OPEN_CALLS 8
static inline uint8_t weft__frames_lock(struct weft__fiber *f) {
    unsigned turn = 0;
    uint8_t open = load_rlx(&f->context.open);
    while (open & WEFT_OPEN_LOCKED || !cas_ar(&f->context.open, &open, open | WEFT_OPEN_LOCKED)) { /* with unlock */
        weft__backoff(&turn);
        open = load_rlx(&f->context.open);
    }
    return open;
}
static inline void weft__frames_unlock(struct weft__fiber *f, uint8_t open) {
    store_rel(&f->context.open, open); /* pairs with lock */
}

/* Puts a frame on top, or takes the top off. The fiber itself. */
void weft__frame_push(struct weft__fiber *me, struct weft__frame *frame);
void weft__frame_pop(struct weft__fiber *me, struct weft__frame *frame);
/* All frames of a fiber that ends. It has returned to a caller whose frame ends there, and what is below in its stack
 * is gone; NULL: it has not. (cleanup.c) */
void weft__frames_unwind(struct weft__fiber *me, void *result, const void *returned);

/* --- weft_exit (exit.c) --------------------------------------------------------------------------- */

/* The running fiber is about to end by weft_exit: one line, and abort, if it must not. */
void weft__exit_check(struct weft__worker *w, struct weft__fiber *me);
/* weft may call functions of the user's on the stack of the running fiber, by functions that are marked WEFT_CALLS. */
void weft__exit_looks(struct weft__fiber *me);
static inline void weft__exit_must_look(struct weft__fiber *me) {
    if (unlikely(!(load_rlx(&me->context.open) & WEFT_OPEN_CALLS))) weft__exit_looks(me);
}

/* --- regions (region.c) --------------------------------------------------------------------------- */

/* Begins a scope or a shield, whose kind is set. */
void weft__region_enter(struct weft__fiber *me, struct weft__region *r);
/* Ends it. False: somebody has come to a scope just now, and it is not over. */
bool weft__region_leave(struct weft__fiber *me, struct weft__region *r);
/* 0: it is open, the caller's, and its innermost; or the error. */
int weft__region_check(struct weft__region *r, struct weft__fiber *me);

/*
 * The caller acts for somebody who was in that scope, and is waited for before that one leaves it: from now on
 * the scope tells the caller, too, until the end. For whoever runs a stolen task. It has no region of its own.
 */
struct weft__scope *weft__scope_here(void);
void weft__scope_inherit(struct weft__region *member, struct weft__fiber *me, struct weft__scope *scope);
void weft__scope_disinherit(struct weft__region *member, struct weft__fiber *me);

/* 0, or what the caller's waits end with. Unlike a wait it enters no chain, so it may be asked often. */
int weft__told_slow(struct weft__fiber *me);
static inline int weft__told(struct weft__fiber *me) {
    uint64_t word = load_acq(&me->wait); /* pairs with cancel */
    return likely(!(word & (WEFT_WAIT_CANCEL | WEFT_WAIT_LOOK))) ? 0 : weft__told_slow(me);
}

/* --- roots (root.c) -------------------------------------------------------------------------------- */

struct weft__deque;
/* What tells a call that the running fiber forks now: a scope that it has begun; SHIELDED: nothing does; NULL: its
 * root. */
#define WEFT_SHIELDED ((void *)1)
void *weft__fork_scope(void);
/* The scope that tells the running fiber, as long as it has begun neither a scope nor a shield itself. */
struct weft__scope *weft__base_scope(void);
/* What a call inherits that was taken from the deque and forked under `what`. NULL: nothing. */
struct weft__scope *weft__call_scope(struct weft__deque *d, void *what);
/* The root of the deque's owner, which is opened if need be, in that scope. For whoever runs a call of it that is not
 * done. */
struct weft__scope *weft__root_of(struct weft__deque *d, struct weft__scope *around);
/* The owner, before it forgets the last call that others ran. */
void weft__root_close(struct weft__deque *d);
/* The fiber is asked to stop; it is locked. Its root, held by its count, or NULL. */
struct weft__scope *weft__root_hold(struct weft__fiber *f, uint8_t open);
/* In continue.c: the running fiber is a child, and waits for the first time. The region that it is told in. */
struct weft__region *weft__child_member(struct weft__fiber *me);

/* Tells a fiber that its region is cancelled; true: it was waiting, and must be made ready. Locked. */
bool weft__tell(struct weft__fiber *f, uint64_t cause);

/* --- scopes (scope.c) ------------------------------------------------------------------------------ */

/* Cancels it; false: it was cancelled before. The caller sees to it that the scope stays. */
bool weft__scope_stop(struct weft__scope *s, int why, int err);

/* The region of a child leaves the scope's chain; a failure cancels the scope. */
void weft__member_end(struct weft__fiber *me, struct weft__region *member, int result);
void *weft__child_main(void *arg);

/* Of a thread that is no carrier, which looks after the deadlines of its own scopes while it waits: the earliest of
 * those that are not cancelled; and cancels those whose deadline has passed. */
uint64_t weft__scopes_deadline(const struct weft__fiber *me);
void weft__scopes_expire(struct weft__fiber *me);

/* In fiber.c: spawns a child; on failure nothing was done. */
int weft__spawn_child(struct weft__scope *s, const struct weft_attr *attr, int (*fn)(void *), void *arg,
                      const char *where);

/* In counter.c: n less are outstanding. -EINVAL: not so many were. */
int weft__counter_lower(struct weft_counter *counter, uint64_t n);
/* Waits until at most n are outstanding, whatever comes. */
int weft__counter_wait_always(struct weft_counter *counter, uint64_t n);
static inline bool weft__counter_at_rest(struct weft_counter *counter) {
    return !load_acq((_Atomic uint64_t *)&counter->queue.word); /* pairs with complete */
}

/* --- circles ---------------------------------------------------------------------------------------- */

static inline void weft__circle_init(struct weft__circle *r) { r->next = r->before = r; }
static inline void weft__circle_insert(struct weft__circle *after, struct weft__circle *r) {
    r->before = after;
    r->next = after->next;
    after->next->before = r;
    after->next = r;
}
static inline void weft__circle_remove(struct weft__circle *r) {
    r->before->next = r->next;
    r->next->before = r->before;
}

#endif
