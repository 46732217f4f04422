/* SPDX-License-Identifier: MIT */
/*
 * Stacks: sizes are powers of two, called classes. Stacks are made in arenas (arena.h) and committed as they are
 * touched.
 *
 * Each class has a shared pool behind a lock, and each worker a cache that no other thread touches. A worker may put
 * the stack on which it still runs into its cache, because no other thread can take it out. Caches return surplus
 * stacks in batches. There are pools for each memory node (mem/node.h).
 *
 * The way of a free stack:
 *
 *      cache  ->  the pool's lists, by age (mem/aged.h)  ->  idle in its arena, without pages
 *                                                        ->  the arena unmapped, if all its stacks are idle
 *
 * Stacks move to the right with time: weft__stacks_end_period ends a period, weft__stacks_trim then moves old stacks, a
 * few at a time. A new fiber gets the leftmost stack available.
 *
 * While fibers wait for a stack (scarce), caches keep none, and weft__stack_get_any tries everything: address space of
 * other classes' arenas, bare stacks, larger stacks.
 */
#ifndef WEFT_MEM_STACK_H
#define WEFT_MEM_STACK_H

#include "mem/stacks.h"

#define WEFT_STACK_CACHED 64 /* half of the capacity of a worker's cache, for a class of small stacks */

struct weft__stack_cache {
    struct weft__link *free;
    unsigned room;  /* how many more fit; 0 at first: the slow path then sets it */
    uint16_t limit; /* room plus the number of cached stacks */
    uint8_t node;   /* may change at any time */
};

/* A cache for each class, and one for bare stacks. All zero at first. */
#define WEFT_STACK_CACHES (WEFT_STACK_CLASSES + 1)

/*
 * Where the first frame goes: a little below the top, by a number of cache lines that differs between stacks. All tops
 * have the same offset in their page, so without this they would share a few cache sets: with 500 fibers taking turns,
 * that doubled the cost of a switch. At most half a page, so that a small fiber needs only one page. Neighbours are 13
 * lines apart, more than the frames of a usual wait, because loads are also delayed by stores to the same offset in
 * another page.
 */
static inline char *weft__stack_start(const struct weft__stack *s) {
    uintptr_t number = (uintptr_t)s / 8 * 143; /* records are 24 bytes apart: 3 * 143 = 13 modulo 32 */
    return weft__stack_top(s) - number % 32 * 64;
}

/* The number of stacks in a cache. */
static inline unsigned weft__stack_count_cached(const struct weft__stack_cache *c) { return c->limit - c->room; }

/* The class for a size, 0 .. WEFT_STACK_CLASSES-1, or -EINVAL. */
int weft__stack_class(size_t bytes);

struct weft__stack *weft__stack_get_slow(struct weft__stack_cache *caches, unsigned class);
void weft__stack_put_slow(struct weft__stack_cache *caches, struct weft__stack *s);

/* A stack that is not bare; NULL: none is available. */
static inline struct weft__stack *weft__stack_get(struct weft__stack_cache *caches, unsigned class) {
    struct weft__stack_cache *c = &caches[class];
    struct weft__link *l = c->free;
    if (unlikely(!l)) return weft__stack_get_slow(caches, class);
    c->free = l->next;
    c->room++;
    return weft__stack_of_link(l);
}

/* A stack of this class or a larger class, perhaps bare; NULL: none is available now. */
struct weft__stack *weft__stack_get_any(struct weft__stack_cache *caches, unsigned class);

/* False: the cache is full, and nothing was done. */
static inline bool weft__stack_put_fast(struct weft__stack_cache *caches, struct weft__stack *s) {
    struct weft__stack_cache *c = &caches[s->cache];
    if (unlikely(!c->room)) return false;
    s->link.next = c->free;
    c->free = &s->link;
    c->room--;
    return true;
}

static inline void weft__stack_put(struct weft__stack_cache *caches, struct weft__stack *s) {
    if (unlikely(!weft__stack_put_fast(caches, s))) weft__stack_put_slow(caches, s);
}

/* The worker of these caches runs on this node now. */
void weft__stack_set_node(struct weft__stack_cache *caches, unsigned node);

/* Returns all but `keep` stacks of each class to the pool (fewer of large stacks); returns how many. The caller must
 * not run on any of them. */
unsigned weft__stack_flush(struct weft__stack_cache *caches, unsigned keep);

/* weft__stack_set_scarce: fibers wait for stacks, or do so no longer. weft__stack_say_scarce prints a line about it. */
void weft__stack_set_scarce(bool are);
void weft__stack_say_scarce(void);
extern _Atomic bool weft__stack_is_scarce;

/* In a forked child: drops the lists that a thread of the parent was just changing. */
void weft__stack_after_fork(void);

/* Stacks in use now, of all classes, including cached stacks; for messages and tests. */
size_t weft__stack_count_in_use(void);

#endif
