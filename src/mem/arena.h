/* SPDX-License-Identifier: MIT */
/*
 * Arenas: address space that is divided into stacks of one class (size).
 *
 *      low addresses                                                        high addresses
 *      | gap: 68 KiB | usable: grows down  <---  | gap | usable | ... | gap | usable |
 *                    low                        top
 *
 * A gap that is inaccessible is a guard. If the kernel has guard markers (Linux 6.13), or while there are enough
 * mappings to protect each gap, every gap is a guard, and an overflow faults at once. A guard catches frames of up to
 * 68 KiB that touch their far end first. Larger frames can step over it, except in code compiled with
 * -fstack-clash-protection.
 *
 * Otherwise an arena is bare: only every n-th gap is a guard, so that an endless recursion still faults. The other gaps
 * are plain memory that no code touches: a page of a gap that is not zero proves an overflow. Checking that costs a
 * system call and no memory. The scheduler checks when a fiber ends, and sweeps all stacks from time to time
 * (sched/life/stack_overflow.c).
 *
 * When the address space of an arena is given back, its record and the records of its stacks stay, and serve the next
 * arena of that class. So a fault handler can go through all arenas at any time.
 */
#ifndef WEFT_MEM_ARENA_H
#define WEFT_MEM_ARENA_H

#include "base/sanitizer.h"
#include "base/sys.h"
#include "mem/aged.h"

#define WEFT_STACK_MIN_LOG 14 /* 16 KiB */
#define WEFT_STACK_MAX_LOG 26 /* 64 MiB */
#define WEFT_STACK_CLASSES (WEFT_STACK_MAX_LOG - WEFT_STACK_MIN_LOG + 1)
#define WEFT_STACK_BARE \
    WEFT_STACK_CLASSES               /* index of the cache of bare stacks, after the classes: see weft__stack.cache */
#define WEFT_STACK_GUARD (68 * 1024) /* an odd number of pages: see docs/decisions/stacks.md */

/* The record of a stack, 24 bytes. It is outside the stack, so that a free stack needs no page. */
struct weft__stack {
    union {
        struct weft__link link; /* free: in a cache, the pool or its arena */
        void *root;             /* in use: for the scheduler, see sched/wait/cancel_root.c */
    };
    char *low; /* lowest usable byte */
    uint8_t class;
    uint8_t cache;        /* the cache for this stack when it is free: of its class, or of bare stacks */
    uint8_t node;         /* the memory node for which it was made */
    uint8_t state;        /* WEFT_STACK_OUT ... */
    uint16_t index;       /* in its arena; constant */
    struct weft__san san; /* one byte without a sanitizer */
};

/* OUT: in use, in a cache, or in a list of the pool. COLD, WARM: idle in its arena, without or with pages. */
enum { WEFT_STACK_OUT, WEFT_STACK_COLD, WEFT_STACK_WARM };

struct weft__arena {
    struct weft__arena *next; /* list of all arenas, which only grows */
    _Atomic(char *) base;     /* NULL: without address space */
    size_t stride;
    unsigned count;    /* number of stacks; a power of two */
    unsigned spacing;  /* every spacing-th gap is a guard */
    unsigned guards;   /* number of guards */
    unsigned mappings; /* number of mappings that the guards cost */
    uint8_t class;
    uint8_t node;
    bool bare;
    /* Protected by the pool's lock. */
    struct weft__link *idle; /* idle stacks */
    unsigned idle_count;
    struct weft__dlink has_idle,
        has_warm; /* in the pool's lists of arenas with idle stacks, and with idle stacks that may have pages */
    struct weft__arena *spare;
    struct weft__stack stack[];
};

static inline size_t weft__stack_size(unsigned class) { return (size_t)1 << (class + WEFT_STACK_MIN_LOG); }
static inline char *weft__stack_top(const struct weft__stack *s) { return s->low + weft__stack_size(s->class); }
static inline struct weft__arena *weft__arena_of(const struct weft__stack *s) {
    struct weft__stack *first = (struct weft__stack *)(uintptr_t)s - s->index;
    return container_of(first, struct weft__arena, stack);
}

/* wanted = false: new stacks have no guards, and weft does not look for overflows. */
void weft__stack_set_guards(bool wanted);

/* A new arena with idle stacks. NULL: no memory or address space, see *err. */
struct weft__arena *weft__arena_make(unsigned class, uint8_t node, unsigned count, int *err);
/* The same for an arena without address space. */
int weft__arena_map(struct weft__arena *a);
/* Gives back the address space of an arena. All its stacks are idle. */
void weft__arena_unmap(struct weft__arena *a);
/* In a forked child, for a pool that a thread of the parent was just changing: drops its lists and the stacks in
 * them. */
void weft__arenas_forget(unsigned class, uint8_t node, bool bare);
/* Links its idle stacks in random order; see docs/decisions/stacks.md. */
void weft__arena_chain(struct weft__arena *a);
/* Gives back the pages of its idle stacks. No other thread may use these meanwhile. */
void weft__arena_discard(struct weft__arena *a);

/* --- overflows: safe in signal handlers --------------------------------------------------------- */

/* The stack with this address in its gap, or NULL. */
const struct weft__stack *weft__stack_of_gap(const void *address);
/* Is the address below this stack, in the same arena? */
bool weft__stack_is_below(const struct weft__stack *s, const void *address);
/* Was this bare stack overrun? False for stacks that are not bare. */
bool weft__stack_is_overrun(const struct weft__stack *s);
/* The stack directly above, which overflows into this stack; NULL: none. Arenas are often adjacent. */
const struct weft__stack *weft__stack_above(const struct weft__stack *s);
/* Checks a few bare stacks, continuing at each call. Returns an overrun stack, or NULL. One thread at a time; no arena
 * may be unmapped meanwhile. */
const struct weft__stack *weft__arenas_sweep(void);
/* Are there bare stacks? */
extern _Atomic bool weft__stack_has_bare;

#endif
