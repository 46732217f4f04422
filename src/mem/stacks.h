/* SPDX-License-Identifier: MIT */
/*
 * The pools of free stacks: for each memory node and class, a pool of guarded stacks and a pool of bare stacks
 * (arena.h). A free stack is in a list of its age (aged.h), or idle in its arena. See stack.h.
 */
#ifndef WEFT_MEM_STACKS_H
#define WEFT_MEM_STACKS_H

#include "base/lock.h"
#include "mem/arena.h"
#include "mem/node.h"

enum { WEFT_GUARDED, WEFT_UNGUARDED, WEFT_KINDS };

/* Takes up to `most` stacks as a chain, stacks with pages first. Returns how many. */
unsigned weft__stacks_take(uint8_t node, unsigned kind, unsigned class, unsigned most, struct weft__link **chain);
/* Returns a chain of stacks that came from one pool. */
void weft__stacks_put(struct weft__link *first, struct weft__link *last);
bool weft__stacks_is_empty(uint8_t node, unsigned kind, unsigned class);

/* Makes more stacks for a node, bare stacks if no others are possible. They are idle in their pool. */
int weft__stacks_make(uint8_t node, unsigned class);

/* Ends a period. False: no stack is left that could age. */
bool weft__stacks_end_period(void);
/* Gives some old memory back to the kernel, for about a tenth of a millisecond. False: there is nothing left to do. */
bool weft__stacks_trim(void);
/* The number of free stacks with pages, without those in caches. Slow: it counts. */
size_t weft__stacks_count_pooled(void);
void weft__stacks_after_fork(void); /* see weft__stack_after_fork */

/* weft__arenas_sweep; no arena is unmapped meanwhile. */
const struct weft__stack *weft__stacks_sweep(void);
/* Was this stack overrun? It may belong to another fiber by now, or its arena may be unmapped. */
bool weft__stacks_is_overrun(const struct weft__stack *s);

/* Gives back the address space of every unused arena, however recently it was used, for another class. When this
 * returns, no concurrent trim holds a stack. */
void weft__stacks_reclaim(void);

static inline struct weft__stack *weft__stack_of_link(struct weft__link *l) {
    return container_of(l, struct weft__stack, link);
}

#endif
