/*
 * Arenas: pieces of address space that are divided into stacks of one class.
 *
 *      low addresses                                                        high addresses
 *      | gap: 68 KiB | usable: grows down  <---  | gap | usable | ... | gap | usable |
 *                    low                        top
 *
 * A gap that is inaccessible is a guard. Where the kernel has guard markers (Linux 6.13), or as long as there are
 * mappings enough to protect each gap, every gap is one, and an overflow faults at once. It catches frames of up to
 * 68 KiB that touch their far end first; larger ones can step over it; code compiled with
 * -fstack-clash-protection never does.
 *
 * Else an arena is bare: only one gap in so many is a guard, so that a recursion without end still faults. The others
 * are plain memory that nothing touches: a page of it that is not zero tells of an overflow. To ask for that costs a
 * system call and no memory. The scheduler asks when a fiber ends, and goes round all stacks now and then
 * (sched/overflow.c).
 *
 * An arena's record, with those of its stacks, is kept when its address space is given back, and used for the next
 * arena of that class: a fault handler can go over all arenas at any time.
 */
#ifndef WEFT_MEM_ARENA_H
#define WEFT_MEM_ARENA_H

#include "base/san.h"
#include "base/sys.h"
#include "mem/aged.h"

#define WEFT_STACK_MIN_LOG 14 /* 16 KiB */
#define WEFT_STACK_MAX_LOG 26 /* 64 MiB */
#define WEFT_STACK_CLASSES (WEFT_STACK_MAX_LOG - WEFT_STACK_MIN_LOG + 1)
#define WEFT_STACK_BARE WEFT_STACK_CLASSES /* in the place of a class: see weft__stack.cache */
#define WEFT_STACK_GUARD (68 * 1024)       /* an odd number of pages: see docs/decisions/stacks.md */

/* A stack's record lives outside it: 24 bytes, so that a free stack needs no page. */
struct weft__stack {
    union {
        struct weft__link link; /* in a cache, the pool or its arena */
        void *root;             /* in use: the scheduler's, see sched/root.c */
    };
    char *low; /* lowest usable byte */
    uint8_t class;
    uint8_t cache;        /* which takes it when it is free: that of its class, or that of bare stacks */
    uint8_t node;         /* for which it was made */
    uint8_t state;        /* WEFT_STACK_OUT ... */
    uint16_t index;       /* in its arena; never changes */
    struct weft__san san; /* one byte where no sanitizer is built in */
};

/* Out: in use, in a cache, or in one of the pool's lists. Idle: in its arena's, with pages (WARM) or without. */
enum { WEFT_STACK_OUT, WEFT_STACK_COLD, WEFT_STACK_WARM };

struct weft__arena {
    struct weft__arena *next; /* of all; the list only grows */
    _Atomic(char *) base;     /* NULL: it has no address space */
    size_t stride;
    unsigned count;    /* of stacks; a power of two */
    unsigned spacing;  /* the gap below each so many stacks is a guard, */
    unsigned guards;   /* and there are so many of these */
    unsigned mappings; /* that they cost */
    uint8_t class;
    uint8_t node;
    bool bare;
    /* The pool's, under its lock. */
    struct weft__link *idle; /* stacks */
    unsigned idle_count;
    struct weft__spot has_idle, has_warm; /* it has idle stacks; some of these may have pages */
    struct weft__arena *spare;
    struct weft__stack stack[];
};

static inline size_t weft__stack_size(unsigned class) { return (size_t)1 << (class + WEFT_STACK_MIN_LOG); }
static inline char *weft__stack_top(const struct weft__stack *s) { return s->low + weft__stack_size(s->class); }
static inline struct weft__arena *weft__arena_of(const struct weft__stack *s) {
    struct weft__stack *first = (struct weft__stack *)(uintptr_t)s - s->index;
    return container_of(first, struct weft__arena, stack);
}

/* With no guards, stacks made from now on have none, and nothing looks for overflows. */
void weft__stack_guards(bool wanted);

/* A new one, all of whose stacks are idle. NULL: no memory or address space, see *err. */
struct weft__arena *weft__arena_make(unsigned class, uint8_t node, unsigned count, int *err);
/* The same for one without address space. */
int weft__arena_map(struct weft__arena *a);
/* Gives back the address space of an arena whose stacks are all idle. */
void weft__arena_unmap(struct weft__arena *a);
/* In a forked child, of a pool that a thread was just changing: its lists are gone, and what stood in them. */
void weft__arenas_forget(unsigned class, uint8_t node, bool bare);
/* Chains up those of its stacks that are idle, in no order; see docs/decisions/stacks.md. */
void weft__arena_chain(struct weft__arena *a);
/* Gives back the pages of its idle stacks; nothing else may have these meanwhile. */
void weft__arena_discard(struct weft__arena *a);

/* --- overflows: usable in a signal handler ------------------------------------------------------- */

/* The stack in whose gap the address lies, or NULL. */
const struct weft__stack *weft__stack_of_gap(const void *address);
/* Does the address lie below this stack, in the same arena? */
bool weft__stack_is_below(const struct weft__stack *s, const void *address);
/* Has a bare stack been overrun? Of others: false. */
bool weft__stack_overrun(const struct weft__stack *s);
/* The one right above, whose overflow comes to this one; NULL: there is none. Arenas often touch each other. */
const struct weft__stack *weft__stack_above(const struct weft__stack *s);
/* Looks at a few bare stacks, the next ones at each call. One that was overrun, or NULL. One thread at a time, and no
 * arena is unmapped meanwhile. */
const struct weft__stack *weft__arenas_sweep(void);
/* Are there bare stacks? */
extern _Atomic bool weft__stack_some_bare;

#endif
