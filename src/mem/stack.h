/*
 * Stacks: sizes are powers of two, a class each. They are made in arenas (arena.h), committed as they are touched.
 *
 * Per class a shared pool behind a lock, and at each worker a cache that no other thread touches: a worker may put a
 * stack there on which it still stands, because only itself can take it out again. Caches return what they do not need
 * in batches. There are such pools for each memory node (mem/node.h).
 *
 * What becomes of a stack that is free:
 *
 *      cache  ->  the pool's lists, by age (mem/aged.h)  ->  idle in its arena, without pages
 *                                                        ->  the arena unmapped, if all of it is idle
 *
 * A step to the right is a matter of time: weft__stacks_turn ends a period, weft__stacks_trim then moves old stacks, a
 * few at a time. A fiber that begins gets the leftmost stack there is.
 *
 * While fibers wait for a stack (scarce) the caches keep none, and weft__stack_get_any tries everything: address space
 * of other classes' arenas, bare stacks, larger ones.
 */
#ifndef WEFT_MEM_STACK_H
#define WEFT_MEM_STACK_H

#include "mem/stacks.h"

#define WEFT_STACK_CACHED 64 /* at a worker, of a class of small stacks; twice that, and half goes to the pool */

struct weft__stack_cache {
    struct weft__link *free;
    unsigned room;  /* for so many more; 0 at first: the slow path then says how many */
    uint16_t limit; /* the room, and what it holds, together */
    uint8_t node;   /* may change at any time */
};

/* One for each class, and one for bare stacks. All zero at first. */
#define WEFT_STACK_CACHES (WEFT_STACK_CLASSES + 1)

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

/* So many stand in a cache. */
static inline unsigned weft__stack_cached(const struct weft__stack_cache *c) { return c->limit - c->room; }

/* The class of a size, 0 .. WEFT_STACK_CLASSES-1, or -EINVAL. */
int weft__stack_class(size_t bytes);

struct weft__stack *weft__stack_get_slow(struct weft__stack_cache *caches, unsigned class);
void weft__stack_put_slow(struct weft__stack_cache *caches, struct weft__stack *s);

/* One that is not bare; NULL: none can be had. */
static inline struct weft__stack *weft__stack_get(struct weft__stack_cache *caches, unsigned class) {
    struct weft__stack_cache *c = &caches[class];
    struct weft__link *l = c->free;
    if (unlikely(!l)) return weft__stack_get_slow(caches, class);
    c->free = l->next;
    c->room++;
    return weft__stack_of_link(l);
}

/* Of this class or a larger one, perhaps bare; NULL: no stack can be had now. */
struct weft__stack *weft__stack_get_any(struct weft__stack_cache *caches, unsigned class);

/* False: there is no room, and nothing was done. */
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

/* The caches' owner is on this node now. */
void weft__stack_on_node(struct weft__stack_cache *caches, unsigned node);

/* Returns all but so many of each class to the pool, fewer of large stacks; says how many. The caller stands on none of
 * them. */
unsigned weft__stack_flush(struct weft__stack_cache *caches, unsigned keep);

/* Fibers wait for stacks, or do so no longer; and a line that says it. */
void weft__stack_scarce(bool are);
void weft__stack_say_scarce(void);
extern _Atomic bool weft__stack_are_scarce;

/* In a forked child: what was just being changed by a thread that is not there is forgotten. */
void weft__stack_forked(void);

/* In use now, of all classes, cached ones included; for messages and tests. */
size_t weft__stack_in_use(void);

#endif
