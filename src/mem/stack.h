/*
 * Stacks: address space in large pieces, committed as it is touched, with a guard below each.
 *
 *      low addresses                                             high addresses
 *      | guard: 68 KiB, inaccessible | usable: grows down  <---  |  next stack's guard ...
 *                                    low                         top
 *
 * A guard of 68 KiB catches frames up to that size that touch their far end first. Larger frames
 * can step over it; code compiled with -fstack-clash-protection never does.
 *
 * Sizes are powers of two, a class each. Per class a shared pool behind a lock, and at each worker
 * a cache that no other thread touches: a worker may put a stack there on which it still stands,
 * because only itself can take it out again. Caches return what they do not need in batches; the
 * pool gives the pages of what nobody used for a while back to the kernel. There are such pools for
 * each memory node (mem/node.h).
 *
 * A stack's record lives outside it: 24 bytes, so that a free stack needs no page.
 */
#ifndef WEFT_MEM_STACK_H
#define WEFT_MEM_STACK_H

#include "base/lock.h"
#include "base/san.h"
#include "mem/node.h"

#define WEFT_STACK_MIN_LOG 14 /* 16 KiB */
#define WEFT_STACK_MAX_LOG 26 /* 64 MiB */
#define WEFT_STACK_CLASSES (WEFT_STACK_MAX_LOG - WEFT_STACK_MIN_LOG + 1)
#define WEFT_STACK_GUARD (68 * 1024) /* an odd number of pages: see docs/decisions/stacks.md */
#define WEFT_STACK_CACHED 64         /* of a class, at a worker; twice that, and half goes to the pool */

struct weft__stack {
    union {
        struct weft__stack *next; /* in a cache or the pool */
        void *root;               /* in use: the scheduler's, see sched/root.c */
    };
    char *low; /* lowest usable byte */
    uint8_t class;
    uint8_t node;         /* for which it was made */
    struct weft__san san; /* one byte where no sanitizer is built in */
};

struct weft__stack_cache {
    struct weft__stack *free;
    unsigned count;
    uint8_t node; /* may change at any time */
};

static inline char *weft__stack_top(const struct weft__stack *s) {
    return s->low + ((size_t)1 << (s->class + WEFT_STACK_MIN_LOG));
}

/*
 * Where the first frame goes: a little below the top, by a different number of cache lines for each
 * stack. The tops of all stacks have the same place within their page, so they would share a few
 * sets of the caches: with 500 fibers taking turns that doubled the cost of a switch. Half a page at
 * most, so that a small fiber still needs only one. Neighbours are 13 lines apart, more than the frames of
 * a usual wait: loads behind stores to the same place of another page are held up, too.
 */
static inline char *weft__stack_start(const struct weft__stack *s) {
    uintptr_t number = (uintptr_t)s / 8 * 143; /* records are 24 bytes apart: 3 * 143 = 13 modulo 32 */
    return weft__stack_top(s) - number % 32 * 64;
}

/* The class of a size, 0 .. WEFT_STACK_CLASSES-1, or -EINVAL. */
int weft__stack_class(size_t bytes);

/* With no_guards, stacks made from now on have none. */
void weft__stack_guards(bool wanted);

/* caches: WEFT_STACK_CLASSES of them. NULL when no stack can be had. */
struct weft__stack *weft__stack_get_slow(struct weft__stack_cache *caches, unsigned class);
void weft__stack_put_slow(struct weft__stack_cache *caches, struct weft__stack *s);

static inline struct weft__stack *weft__stack_get(struct weft__stack_cache *caches, unsigned class) {
    struct weft__stack_cache *c = &caches[class];
    struct weft__stack *s = c->free;
    if (unlikely(!s)) return weft__stack_get_slow(caches, class);
    c->free = s->next;
    c->count--;
    return s;
}

static inline void weft__stack_put(struct weft__stack_cache *caches, struct weft__stack *s) {
    struct weft__stack_cache *c = &caches[s->class];
    if (unlikely(c->count >= 2 * WEFT_STACK_CACHED)) {
        weft__stack_put_slow(caches, s);
        return;
    }
    s->next = c->free;
    c->free = s;
    c->count++;
}

/* The caches' owner is on this node now. */
void weft__stack_on_node(struct weft__stack_cache *caches, unsigned node);

/* Returns all but `keep` of each class to the pool. */
void weft__stack_flush(struct weft__stack_cache *caches, unsigned keep);

/* Gives the pages of some unused stacks back to the kernel; returns whether there are more. */
bool weft__stack_trim(void);

/* True when the last attempt to make stacks failed and none came back since. */
extern _Atomic bool weft__stack_none_left;
static inline bool weft__stack_exhausted(void) { return load_rlx(&weft__stack_none_left); }

/* The stack in whose guard the address lies, or NULL. Usable in a signal handler. */
const struct weft__stack *weft__stack_of_guard(const void *address);

/* In a forked child: what was just being changed by a thread that is not there is forgotten. */
void weft__stack_forked(void);

/* In use now, of all classes; for messages and tests. */
size_t weft__stack_in_use(void);

#endif
