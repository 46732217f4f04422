/*
 * The pools of free stacks: for each memory node and class one of stacks that have a guard of their own, and one of
 * bare ones (arena.h). A free stack stands in one of three ages (aged.h), or is idle in its arena. See stack.h.
 */
#ifndef WEFT_MEM_STACKS_H
#define WEFT_MEM_STACKS_H

#include "base/lock.h"
#include "mem/arena.h"
#include "mem/node.h"

enum { WEFT_GUARDED, WEFT_UNGUARDED, WEFT_KINDS };

/* Takes up to so many as a chain; those that have pages first. Returns how many. */
unsigned weft__stacks_take(uint8_t node, unsigned kind, unsigned class, unsigned most, struct weft__link **chain);
/* Puts a chain of stacks that came from one pool. */
void weft__stacks_put(struct weft__link *first, struct weft__link *last);
bool weft__stacks_none(uint8_t node, unsigned kind, unsigned class);

/* Makes more for a node, bare ones if no others can be had. They are idle in their pool. */
int weft__stacks_make(uint8_t node, unsigned class);

/* A period has ended. False: nothing is left that could grow older. */
bool weft__stacks_turn(void);
/* Gives some of what is old back to the kernel, for a tenth of a millisecond or so; false: nothing was left to do. */
bool weft__stacks_trim(void);
/* So many free stacks have pages, besides those in caches. Takes time: it counts. */
size_t weft__stacks_pooled(void);
void weft__stacks_forked(void); /* see weft__stack_forked */

/* weft__arenas_sweep, and no arena is unmapped meanwhile. */
const struct weft__stack *weft__stacks_sweep(void);
/* Has this stack been overrun? It may be another fiber's by now, or its arena may be unmapped. */
bool weft__stacks_overrun(const struct weft__stack *s);

/* Gives back the address space of every arena that is not used, however short ago it was: for another class. When this
 * returns, no stack is in the hands of a trim that went on meanwhile. */
void weft__stacks_reclaim(void);

static inline struct weft__stack *weft__stack_of_link(struct weft__link *l) {
    return container_of(l, struct weft__stack, link);
}

#endif
