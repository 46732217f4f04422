/* SPDX-License-Identifier: MIT */
/*
 * What a fiber has open, and how cancellation finds it.
 *
 *   frame       a thing that a fiber has begun and not ended: a region or a clean-up handler. Its memory is mostly on
 *               the fiber's stack. The record's `frames` is the top of a stack of frames. At the bottom is the counter
 *               that the fiber completes, or nothing.
 *
 *   region      a frame that says what cancels the fiber: a scope that it began, a shield, or, as the lowest, its
 *               membership in the scope that it was spawned in. Only the innermost region has an effect.
 *
 *   cause       of a scope: why it is cancelled, and with which error. Set once; 0: the scope is not cancelled.
 *
 *   cancelled   the fiber's wait word has CANCEL: its region is cancelled, or the fiber itself if it has no region.
 *
 * Regions form a tree. A scope has a chain of the regions directly below it: members, and scopes that its own fiber or
 * a member began. A shield is in no chain, so no cancellation passes it. Only the innermost region of a fiber cancels
 * it; the others are `covered`.
 *
 * What each lock protects:
 *   - A scope's lock: its chain, its cause, and `covered` of the scope itself and of the regions in the chain. A region
 *     enters or leaves the chain only under that lock, and reads the cause then. So a thread that sets the cause and
 *     then visits the chain misses no fiber.
 *   - The fiber's own lock, one byte of its record: `frames` while it has a scope or shield open (OPEN), and
 *     `requested` of the lowest of these. weft_cancel needs it, because it has only a handle. It is taken
 *     before the lock of a scope.
 *   - The lock of a scope is taken before the lock of a scope in its chain.
 *
 * A child costs its scope at most one count up and one down. The fiber that began the scope takes the first from a
 * reserve (scope.c), and a child that is followed by a sibling leaves the second to the sibling (fiber.c). A child is
 * in no chain as long as it does not wait: a spawn sets LOOK in its wait word, so that its first wait calls
 * weft__cancel_heed, which enters it.
 */
#ifndef WEFT_SCHED_REGION_H
#define WEFT_SCHED_REGION_H

#include "sched/wait/wait.h"

#include "base/assert.h"
enum { WEFT_FRAME_CLEANUP = 1, WEFT_FRAME_MEMBER, WEFT_FRAME_SCOPE, WEFT_FRAME_SHIELD };

struct weft__frame {
    uintptr_t below; /* what `frames` was before */
    uint8_t kind;
    /* These belong to struct weft__region. They fill the padding. */
    bool covered;       /* the fiber has a region inside this one */
    bool chained;       /* the region is in the chain of a scope */
    bool requested;     /* in the lowest scope or shield of a fiber: weft_cancel was called */
    bool was_cancelled; /* the fiber was cancelled when the region began */
};

/* A round chain. */
struct weft__circle {
    struct weft__circle *next, *before;
};

struct weft__scope;

struct weft__region {
    struct weft__frame frame;
    struct weft__fiber *fiber;  /* the fiber that opened the region; NULL: the region is not open */
    struct weft__scope *scope;  /* the scope that has the region in its chain, or will have it */
    struct weft__region *first; /* the fiber's lowest scope or shield */
    struct weft__circle link;
};

struct weft__scope {
    struct weft__region region;
    struct weft__lock lock;
    bool timed;                /* `timer` is in use; under the lock */
    _Atomic uint64_t deadline; /* WEFT_FOREVER: none; under the lock */
    _Atomic uint64_t cause;
    struct weft__circle chain;
    struct weft__circle cursor; /* how far the cancellation of the chain has come */
    struct weft__scope *behind; /* the scope to cancel after this one */
    /* Counts children, one for the timer, whether it is in use or not, and each thread that visits the chain. Nothing
     * touches the scope after the count is complete. */
    struct weft_counter outstanding;
    struct weft_timer timer;
    uint64_t reserve; /* children that are counted already; only the fiber that began the scope looks here */
};
_Static_assert(sizeof(struct weft__scope) <= sizeof(struct weft_scope), "the public scope has room");
_Static_assert(sizeof(struct weft__region) <= sizeof(struct weft_shield), "the public shield has room");

/* The scope inside the public struct, which only reserves memory for it. */
static inline struct weft__scope *weft__scope_inside(struct weft_scope *scope) {
    return (struct weft__scope *)(void *)scope;
}

static inline uint64_t weft__cause(int why, int err) { return (uint64_t)(uint32_t)err << 32 | (unsigned)why; }
static inline int weft__cause_why(uint64_t cause) { return (int)(cause & 0xff); }
static inline int weft__cause_error(uint64_t cause) { return (int)(uint32_t)(cause >> 32); }
/* The error with which a wait ends. */
static inline int weft__cause_result(uint64_t cause) {
    return weft__cause_why(cause) == WEFT_BY_DEADLINE ? -ETIMEDOUT : -ECANCELED;
}
/* The cause with which a scope is cancelled when the scope around it is cancelled. */
static inline uint64_t weft__cause_inward(uint64_t cause) {
    return weft__cause(weft__cause_why(cause), weft__cause_result(cause));
}

/* --- frames ------------------------------------------------------------------------------------- */

/*
 * `frames` points to a counter or is 0; with the tag it points to a frame, and also holds the kind of the frame. So the
 * kind is known even if the memory of the frame is gone.
 */
#define WEFT_FRAMES_TAG ((uintptr_t)1)
#define WEFT_FRAMES_KIND_SHIFT 1
#define WEFT_FRAMES_BITS ((uintptr_t)7)
_Static_assert(WEFT_FRAME_SHIELD - 1 <= WEFT_FRAMES_BITS >> WEFT_FRAMES_KIND_SHIFT, "a kind fits");

static inline uintptr_t weft__frames_with(struct weft__frame *f) {
    WEFT_ASSERT(!((uintptr_t)f & WEFT_FRAMES_BITS));
    WEFT_ASSERT(f->kind >= WEFT_FRAME_CLEANUP && f->kind <= WEFT_FRAME_SHIELD);
    return (uintptr_t)f | (uintptr_t)(f->kind - 1) << WEFT_FRAMES_KIND_SHIFT | WEFT_FRAMES_TAG;
}
static inline struct weft__frame *weft__frame_top(uintptr_t frames) {
    return frames & WEFT_FRAMES_TAG ? (struct weft__frame *)(frames & ~WEFT_FRAMES_BITS) : NULL;
}
static inline int weft__frames_kind(uintptr_t frames) {
    return (int)((frames & WEFT_FRAMES_BITS) >> WEFT_FRAMES_KIND_SHIFT) + 1;
}
/* Is this frame one of the caller's open frames? Compares addresses only: the memory may hold anything. */
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
/* The scope that cancels this region, and whose lock protects the region; NULL: there is none. */
static inline struct weft__scope *weft__region_scope(struct weft__region *r) {
    if (!r || r->frame.kind == WEFT_FRAME_SHIELD) return NULL;
    return r->frame.kind == WEFT_FRAME_SCOPE ? container_of(r, struct weft__scope, region) : r->scope;
}

/* Adds a frame on top, or removes the top frame. Only the fiber itself calls these. */
void weft__frame_push(struct weft__fiber *me, struct weft__frame *frame);
void weft__frame_pop(struct weft__fiber *me, struct weft__frame *frame);
/* Closes all frames of a fiber that ends. `returned`: the fiber's function has returned, so all stack memory below this
 * address is gone. NULL: the function has not returned. (cleanup.c) */
void weft__frames_unwind(struct weft__fiber *me, void *result, const void *returned);

/* --- weft_fiber_exit (exit_check.c) --------------------------------------------------------------------------- */

/* The running fiber is about to end by weft_fiber_exit. If it must not end here, prints a line and aborts. */
void weft__exit_check(struct weft__worker *w, struct weft__fiber *me);
/* Is a function that is marked WEFT_CALLS on the stack of the caller? Walks the stack. */
bool weft__exit_has_caller(void);
/* From now on weft may call functions of the program on the stack of the running fiber, by functions that are marked
 * WEFT_CALLS. So weft_fiber_exit must walk the stack. */
void weft__exit_looks(struct weft__fiber *me);
static inline void weft__exit_must_look(struct weft__fiber *me) {
    if (unlikely(!(load_rlx(&me->context.open) & WEFT_OPEN_CALLS))) weft__exit_looks(me);
}

/* --- regions (cancel.c) --------------------------------------------------------------------------- */

/* Begins a scope or a shield, whose kind the caller has set. */
void weft__region_enter(struct weft__fiber *me, struct weft__region *r);
/* Ends the region. False: a new child has been spawned into the scope just now, and the caller must wait for it. */
bool weft__region_leave(struct weft__fiber *me, struct weft__region *r);
/* 0 if this is the caller's innermost open region; else the error. */
int weft__region_check(struct weft__region *r, struct weft__fiber *me);

/*
 * For a fiber that runs a stolen call. The call was forked in that scope, and the forker waits for the call before it
 * leaves the scope. From now on the scope cancels the calling fiber, too, until the fiber ends. The fiber has no region
 * of its own.
 */
struct weft__scope *weft__scope_here(void);
void weft__scope_inherit(struct weft__region *member, struct weft__fiber *me, struct weft__scope *scope);
void weft__scope_disinherit(struct weft__region *member, struct weft__fiber *me);

/* 0, or the error with which the caller's waits end because it is cancelled. Cheaper than a wait, because it enters no
 * chain. */
int weft__cancel_error_slow(struct weft__fiber *me);
static inline int weft__cancel_error(struct weft__fiber *me) {
    uint64_t word = load_acq(&me->wait); /* pairs with cancel */
    return likely(!(word & (WEFT_WAIT_CANCEL | WEFT_WAIT_LOOK))) ? 0 : weft__cancel_error_slow(me);
}

/* As weft__refused, for a call that has ended with `err` because the caller is cancelled, or because the deadline of
 * the call has passed. Returns err. */
int weft__refused_if_cancelled(struct weft__fiber *me, int err);

/* --- roots (cancel_root.c) -------------------------------------------------------------------------------- */

struct weft__deque;
/* The scope that cancels a call which the running fiber forks now. SHIELDED: none; NULL: the fiber's root. */
#define WEFT_SHIELDED ((void *)1)
void *weft__fork_scope(void);
/* The scope that cancels the running fiber, as long as it has begun neither a scope nor a shield itself. */
struct weft__scope *weft__base_scope(void);
/* The scope that cancels a call which was forked under `what` and taken from the deque. NULL: none. */
struct weft__scope *weft__call_scope(struct weft__deque *d, void *what);
/* The root of the deque's owner; opens it in that scope if it is not open. The caller runs a call of this deque. */
struct weft__scope *weft__root_of(struct weft__deque *d, struct weft__scope *around);
/* The owner calls this before it forgets the last call that other fibers ran. */
void weft__root_close(struct weft__deque *d);
/* The fiber is being cancelled, and locked. Returns its root, with a count that keeps it, or NULL. */
struct weft__scope *weft__root_hold(struct weft__fiber *f, uint8_t open);

/* Cancels the wait of a fiber whose region was cancelled. True: it was waiting, and must be made ready. Locked. */
bool weft__cancel_fiber(struct weft__fiber *f, uint64_t cause);

/* --- scopes (scope.c) ------------------------------------------------------------------------------ */

/* The count with which a scope begins: children are counted in advance; see life/scope_spawn.c. */
#define WEFT_SCOPE_RESERVE (UINT64_C(1) << 32)
/* Counts a child that is spawned by another fiber than the scope's own, or by a thread. */
void weft__scope_count_foreign(struct weft__scope *s);

/* Spawns a fiber that calls fn(scope). The area of life fills it in before main. */
extern int (*weft__scope_helper)(void *(*fn)(void *), struct weft__scope *scope);

/* Cancels the scope. False: it was cancelled before. The caller ensures that the scope exists meanwhile. */
bool weft__scope_stop(struct weft__scope *s, int why, int err);

/* The region of a child leaves the scope's chain; a failure cancels the scope. */
void weft__member_end(struct weft__fiber *me, struct weft__region *member, int result);
void *weft__child_main(void *arg);

/* For a thread that is no carrier, and so watches the deadlines of its own scopes while it waits. The first function
 * returns the earliest deadline of scopes that are not cancelled. The second cancels scopes that are past theirs. */
uint64_t weft__scopes_deadline(const struct weft__fiber *me);
void weft__scopes_expire(struct weft__fiber *me);

/* The same with attr->counter; in scope_counter.c. */
int weft__spawn_counted_child(struct weft__scope *s, const struct weft_attr *attr, int (*fn)(void *), void *arg,
                              const char *where);
/* In fiber.c: spawns a child; on failure nothing was done. */
int weft__spawn_child(struct weft__scope *s, const struct weft_attr *attr, int (*fn)(void *), void *arg,
                      const char *where);

/* In counter.c: lowers the counter by n. -EINVAL: it was less than n. */
int weft__counter_lower(struct weft_counter *counter, uint64_t n);
/* Waits until the counter is at most n. Neither a deadline nor a cancellation ends the wait. */
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
    WEFT_ASSERT(r->before->next == r && r->next->before == r);
    r->before->next = r->next;
    r->next->before = r->before;
}

#endif
