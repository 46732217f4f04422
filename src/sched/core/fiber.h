/* SPDX-License-Identifier: MIT */
/*
 * The record of a fiber, and the glossary of the scheduler.
 *
 *   fiber     a user thread. Its record is 128 bytes of a slab; its stack comes when it first runs.
 *   worker    a scheduling slot: ready queue, mailbox, timers, caches, statistics.
 *   carrier   the kernel thread that drives a worker. It has a stack of its own, "home", on which
 *             it searches, sleeps and shuts down, never on that of a fiber.
 *   cluster   the workers that share work, the injector and the sleepers.
 *   wanted    how many workers of a cluster run. Workers with a higher index are retired: their carriers sleep.
 *   hog       a fiber that keeps its worker: it computes, or is in a blocking call; see hog.c.
 *   stuck     a worker with a hog, while work waits for that worker; see rescue.c.
 *   spare     a worker above the configured number, which runs in place of a stuck worker.
 *   injector  the queue into which threads that are no carriers put fibers.
 *   ready     may run, and is in a queue. An unpark or a won wait makes a fiber ready.
 *   wait      the state of a parked fiber: one word in its record, see wait.h.
 *   watchman  the sleeping worker that looks at the queues now and then while others work, see idle.c.
 *
 * The states of a fiber: the owner of its stack, the queues that may hold it, what changes the state next:
 *
 *   fresh     no stack          ready queue, aside, mailbox or injector; the worker that takes it out
 *   running   its carrier       nowhere (worker->current); itself
 *   ready     itself, at rest   as fresh. on_stack may still be 1 for a moment, while the carrier
 *                               that it ran on leaves; no carrier enters it before that is 0
 *   waiting   itself, at rest   the chain of what it waits for, a timer wheel; the winner of the wait
 *   ended     none: the stack   nowhere; the joiner, or the carrier if it is detached, puts the
 *             is used again     record back
 */
#ifndef WEFT_SCHED_CORE_FIBER_H
#define WEFT_SCHED_CORE_FIBER_H

#include "arch/context.h"
#include "base/assert.h"
#include "base/lock.h"
#include "mem/slab.h"
#include "mem/stack.h"
#include "queue/list.h"
#include "weft.h"

/* What the record stands for. */
enum {
    WEFT_KIND_FIBER,
    WEFT_KIND_THREAD,    /* a thread that is no carrier; the record serves its waits */
    WEFT_KIND_ABANDONED, /* a fiber whose runtime was stopped while it was blocked: it never runs again */
};

/*
 * The join word says how far the end of a fiber and its join have come: the tag, with either of
 *
 *   - the life of the record, so that a stale handle does not match;
 *   - the joiner: the number of its record, and the low 35 bits of the epoch of its wait. The word does not point to
 *     the joiner's stack. A joiner may be cancelled and leave, and the ending fiber must not follow a dangling pointer.
 *
 *      tag < BY      63 .. life, without the last three bits of the number .. 3 | 2..0 tag
 *      tag >= BY     63 .. epoch .. 29 | 28 .. record .. 3 | 2..0 tag
 */
#define WEFT_JOIN_NOBODY UINT64_C(0) /* the fiber has not ended, and no joiner has come */
#define WEFT_JOIN_DETACHED UINT64_C(1)
#define WEFT_JOIN_ENDED UINT64_C(2)     /* the fiber has ended, and no joiner has come */
#define WEFT_JOIN_COLLECTED UINT64_C(3) /* the joiner is returning the record */
#define WEFT_JOIN_BY UINT64_C(4)        /* the fiber has not ended, and a joiner waits */
#define WEFT_JOIN_ENDED_BY UINT64_C(5)  /* the fiber has ended, and the record belongs to the joiner that waited */
#define WEFT_JOIN_TAG UINT64_C(7)

static inline uint64_t weft__join_by(uint32_t index, uint64_t ticket) {
    WEFT_ASSERT(index < UINT32_C(1) << WEFT_LIFE_INDEX_BITS);
    return ticket >> 8 << (WEFT_LIFE_INDEX_BITS + 3) | (uint64_t)index << 3 | WEFT_JOIN_BY;
}
static inline uint64_t weft__join_of(struct weft_fiber life, uint64_t tag) { return (life.id & ~WEFT_JOIN_TAG) | tag; }
static inline bool weft__join_has_ended(uint64_t join) {
    uint64_t tag = join & WEFT_JOIN_TAG;
    return tag == WEFT_JOIN_ENDED || tag == WEFT_JOIN_COLLECTED || tag == WEFT_JOIN_ENDED_BY;
}

/*
 * Where a fiber may run: context.placement. A fiber without special requirements has the same word as the
 * workers of its cluster, so on the hot path one comparison is enough.
 *
 *      31     | 30      | 29..28   | 27..22  | 21..11 | 10..0
 *      MOVING | RETURNS | priority | cluster | last   | pin: 0, or the worker's index + 1
 *
 * RETURNS: the fiber continues on the worker where it ran last, `last`, which is up to date only with this bit; or
 * where the cluster's policy puts it (policy.h).
 * MOVING: a weft_cluster_move has not yet decided whether this is the fiber that it was given. The rest of the word is
 * valid.
 */
#define WEFT_PLACEMENT_PIN 0x7ffu
#define WEFT_PLACEMENT_LAST_SHIFT 11
#define WEFT_PLACEMENT_LAST (0x7ffu << WEFT_PLACEMENT_LAST_SHIFT)
#define WEFT_PLACEMENT_CLUSTER_SHIFT 22
#define WEFT_PLACEMENT_CLUSTER (0x3fu << WEFT_PLACEMENT_CLUSTER_SHIFT)
#define WEFT_PLACEMENT_PRIORITY_SHIFT 28
#define WEFT_PLACEMENT_PRIORITY (3u << WEFT_PLACEMENT_PRIORITY_SHIFT)
#define WEFT_PLACEMENT_RETURNS (1u << 30)
#define WEFT_PLACEMENT_MOVING (1u << 31)
#define WEFT_PLACEMENT_NOWHERE UINT32_MAX /* no fiber has this placement */
#define WEFT_CLUSTERS_MAX 64
_Static_assert(WEFT_WORKERS_MAX <= WEFT_PLACEMENT_PIN, "a worker's number fits");

#define WEFT_NAME_SIZE 16

struct weft__fiber {
    /* First line: what switching and waking touch. */
    struct weft__slot slot;       /* link: mailbox, injector, aside */
    struct weft__context context; /* placement: see above */
    _Atomic uint64_t wait;        /* see wait.h */
    _Atomic uint64_t join;
    /* Second line: what beginning and ending touch. */
    void *(*fn)(void *);
    union {
        void *arg;     /* until it begins */
        void *result;  /* from its end on */
        uint64_t owes; /* while a scope's child runs: how many ended siblings it reports with its own end */
    };
    struct weft__stack *stack;
    const char *where; /* the place of the spawn, file:line */
    uintptr_t frames;  /* its open scopes and shields, see cancel.h; or the counter to decrement at its end, or 0 */
    union {
        struct weft__locals *locals;
        int (*child)(void *); /* until a scope's child begins: its function */
    };
    char name[WEFT_NAME_SIZE];
};
_Static_assert(sizeof(struct weft__fiber) == 128, "a record is two cache lines");

/* All records of fibers, and of threads that wait. */
extern struct weft__slab weft__fibers;

static inline struct weft_fiber weft__handle(struct weft__fiber *f) {
    return (struct weft_fiber){load_rlx(&f->slot.life)};
}
/* The record with this number, in whatever state; NULL: there is none. */
static inline struct weft__fiber *weft__fiber_at(uint32_t index) {
    struct weft__slot *s = weft__slab_at_sized(&weft__fibers, index, sizeof(struct weft__fiber));
    return likely(s != NULL) ? container_of(s, struct weft__fiber, slot) : NULL;
}
/* The record of a live handle, or NULL. */
static inline struct weft__fiber *weft__fiber_of(struct weft_fiber handle) {
    struct weft__fiber *f = weft__fiber_at(weft__life_index(handle.id));
    return likely(f && weft__life_in_use(handle.id) && load_rlx(&f->slot.life) == handle.id) ? f : NULL;
}
/* The fiber that a list holds by this link; NULL for NULL. */
static inline struct weft__fiber *weft__fiber_of_link(struct weft__link *l) {
    return l ? container_of(container_of(l, struct weft__slot, link), struct weft__fiber, slot) : NULL;
}

/* Calls fn with every fiber that has not ended. Stops, and returns false, when fn returns false. (records.c) */
bool weft__each_live(bool (*fn)(struct weft__fiber *, void *), void *arg);

/* context.open: bit 0 is the fiber's own lock. weft__frames_lock locks it and returns the other bits, which say what
 * the fiber has: open regions (scopes and shields, cancel.h), an open root (cancel_root.c), perhaps calls that
 * weft_fiber_exit must not skip (exit_check.c), thread-local storage of its own (own_tls.c); or that it runs in the
 * background (background.c). CALLS may outlast the fiber; then the next fiber in this record makes a check in vain. */
#define WEFT_OPEN_LOCKED 1
#define WEFT_OPEN_REGIONS 2
#define WEFT_OPEN_ROOT 4
#define WEFT_OPEN_CALLS 8
#define WEFT_OPEN_OWN_TLS 16
#define WEFT_OPEN_BACKGROUND 32
static inline uint8_t weft__frames_lock(struct weft__fiber *f) {
    unsigned turn = 0;
    uint8_t open = load_rlx(&f->context.open);
    while (open & WEFT_OPEN_LOCKED || !cas_ar(&f->context.open, &open, open | WEFT_OPEN_LOCKED)) { /* see below */
        weft__backoff(&turn);
        open = load_rlx(&f->context.open);
    }
    return open;
}
static inline void weft__frames_unlock(struct weft__fiber *f, uint8_t open) {
    WEFT_ASSERT(load_rlx(&f->context.open) & WEFT_OPEN_LOCKED);
    WEFT_ASSERT(!(open & WEFT_OPEN_LOCKED));
    store_rel(&f->context.open, open); /* pairs with the swap in weft__frames_lock */
}

/* --- messages (records.c) ----------------------------------------------------------------------- */

struct weft__text {
    char text[160];
};
/* "fiber 0x... (name) spawned at file:line" */
const char *weft__describe(const struct weft__fiber *f, struct weft__text *to);
/* The same for a fiber that may have ended, by what is remembered of it. */
const char *weft__describe_as(struct weft_fiber fiber, const char *name, const char *where, struct weft__text *to);
/* The same for the calling fiber or thread. */
const char *weft__describe_caller(struct weft__text *to);

/* In a forked child, the fiber f has returned, or a timer's function if f is NULL. Nothing is left to run: ends the
 * process with a line. */
_Noreturn void weft__forked_end(const struct weft__fiber *f);
/* Calls the destructors of the fiber's local values. (local.c) */
void weft__locals_destroy(struct weft__fiber *f);

#endif
