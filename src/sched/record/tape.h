/* SPDX-License-Identifier: MIT */
/*
 * Tapes: the events of a worker in the order in which they happened. When a tape is full, the newest event overwrites
 * the oldest.
 *
 * A tape has one writer: the worker's carrier. For the tape of all other threads it is the thread that holds its lock.
 * Readers take no part: a reader copies the memory by a system call (process_vm_readv, look/tapes.c), from this process
 * or from another. Event number n is in slot n & mask; `head` is the number of events ever written.
 *
 *   the writer of event n                        a reader that has read up to event r
 *   1. fence (release)                           1. h = head
 *   2. slot[n & mask] = event                    2. copies the slots of [max(r, h - size), h)
 *   3. head = n + 1   (release)                  3. h2 = head, by another system call
 *                                                4. keeps the events above h2 - size; counts the others as lost
 *
 * Step 3 is a release, so a reader that sees head > n sees event n whole. While the reader copies, the writer may
 * overwrite slots. Suppose the copy of event n holds a byte of event n + size. Then the writer was in step 2 of event
 * n + size, so it had stored head = n + size and passed step 1. The fence orders that store before the byte, and the
 * two system calls of the reader are ordered. So h2 >= n + size, and step 4 drops event n and counts it as lost. That
 * happens when the writer has filled a whole tape between two visits of the reader.
 */
#ifndef WEFT_SCHED_RECORD_TAPE_H
#define WEFT_SCHED_RECORD_TAPE_H

#include "arch/ticks.h"
#include "base/atomic.h"
#include "base/base.h"
#include "base/lock.h"
#include "sched/core/waits_for.h"

/* What happened. The numbers are part of the format of trace files (look/trace.h), so new kinds go to the end. */
enum weft__happened {
    WEFT_HAPPENED_NOTHING,
    WEFT_HAPPENED_SPAWN,      /* fiber; a: the spawner, or 0; b: number of the string that says where */
    WEFT_HAPPENED_NAME,       /* fiber; a and b: 16 bytes of its name */
    WEFT_HAPPENED_READY,      /* fiber; a: the fiber that woke it, itself if it yields, 0: not woken by a fiber */
    WEFT_HAPPENED_RUN,        /* fiber */
    WEFT_HAPPENED_PARK,       /* fiber; a: what for (weft__what); b: its stack */
    WEFT_HAPPENED_END,        /* fiber */
    WEFT_HAPPENED_SLEEP,      /* a worker; a: until when, ns */
    WEFT_HAPPENED_WAKE,       /* a worker; a: 1: it was woken, 0: its deadline has passed */
    WEFT_HAPPENED_STEAL,      /* a: from which worker, b: how many fibers */
    WEFT_HAPPENED_HELP,       /* the same, when the thief has work of its own */
    WEFT_HAPPENED_HOG,        /* fiber; a: worker, b: 1: it blocks in C */
    WEFT_HAPPENED_RESCUE,     /* a: worker, b: 1: its fiber blocks in C */
    WEFT_HAPPENED_LATE,       /* fiber that ran too late; a: for how many ns it was ready */
    WEFT_HAPPENED_TASK_TAKEN, /* fiber: the fiber that runs the call; a: the fiber that forked it */
    WEFT_HAPPENED_TASK_JOIN,  /* fiber waits for a call that was taken; a: the call */
    WEFT_HAPPENED_TIMER,      /* fiber whose deadline has passed, or 0; a: the function of the timer, or 0 */
    WEFT_HAPPENED_IO_BEGIN,   /* fiber; a: request, b: descriptor */
    WEFT_HAPPENED_IO_END,     /* fiber; a: request, b: result */
    WEFT_HAPPENED_CONTENDED,  /* fiber found a lock taken; a: which (weft__what); b: the fiber that holds it */
    WEFT_HAPPENED_CANCEL,     /* fiber is cancelled; a: by which fiber */
    WEFT_HAPPENED_SPAN_BEGIN, /* fiber; a: name; b: the thread, if the caller is no fiber */
    WEFT_HAPPENED_SPAN_END,   /* fiber; b: as above */
    WEFT_HAPPENED_INSTANT,    /* fiber; a: name, b: a value */
    WEFT_HAPPENED_COUNT,      /* fiber; a: name, b: a value */
    WEFT_HAPPENED_ON,         /* the worker begins to record; fiber: the fiber that it runs, or 0 */
    WEFT_HAPPENED_KINDS,
};

/* What a fiber waits for: kind (enum weft__wait_object, or WEFT_WAITS_ in core/waits_for.h) and object, in a word. */
#define WEFT_WHAT_SHIFT 56
static inline uint64_t weft__what(struct weft__waits_for f) {
    return (uint64_t)f.on << WEFT_WHAT_SHIFT | ((uint64_t)(uintptr_t)f.object & ((UINT64_C(1) << WEFT_WHAT_SHIFT) - 1));
}

struct weft__event {
    uint64_t when; /* bits 63 to 56: what happened; bits 55 to 0: ticks since weft__recorder.begin */
    uint64_t fiber;
    uint64_t a, b;
};
_Static_assert(sizeof(struct weft__event) == 32, "two events are a cache line");

struct weft__walks;
struct weft__fiber;
struct weft__tape {
    _Atomic uint64_t head;
    uint64_t mask;
    struct weft__event *event;
    uint32_t cluster, worker; /* WEFT_TAPE_THREADS: the tape of all other threads */
    /* Only the writer uses the following. */
    uint32_t recording;        /* the number of the recording to which `running` and `yields` belong */
    uint64_t running;          /* the fiber that runs, according to the last event; 0: none */
    bool yields;               /* that fiber has made itself ready */
    struct weft__fiber *fiber; /* the record of that fiber */
    struct weft__walks *walks;
    struct weft__lock lock;
};
#define WEFT_TAPE_THREADS UINT32_MAX

/* Writes an event. Only the writer of the tape calls it. ticks: since weft__recorder.begin. */
static inline void weft__tape_write(struct weft__tape *t, uint64_t ticks, enum weft__happened kind, uint64_t fiber,
                                    uint64_t a, uint64_t b) {
    uint64_t n = load_rlx(&t->head);
    struct weft__event *e = &t->event[n & t->mask];
    fence_rel(); /* pairs with the reader's second look at head: see above */
    e->when = (uint64_t)kind << 56 | (ticks & ((UINT64_C(1) << 56) - 1));
    e->fiber = fiber;
    e->a = a;
    e->b = b;
    store_rel(&t->head, n + 1); /* pairs with the reader's first look at head */
}

/* When the newest event happened. Only the writer calls it, after it has written an event. */
static inline uint64_t weft__tape_newest(const struct weft__tape *t) {
    return t->event[(load_rlx(&t->head) - 1) & t->mask].when & ((UINT64_C(1) << 56) - 1);
}

/* Makes a tape and adds it to weft__recorder. It is kept for ever. NULL: no memory, or too many tapes. */
struct weft__tape *weft__tape_make(uint32_t cluster, uint32_t worker);

#endif
