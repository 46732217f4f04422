/* SPDX-License-Identifier: MIT */
/*
 * The deque of Chase and Lev: a circular array indexed by two counters that only grow, with items [top, bottom). The
 * owner pushes and pops at the bottom; thieves take at the top. It grows, and gives memory back.
 *
 *   pop (owner)                               steal (any thread)
 *   1. bottom = b - 1   (release)             1. t = top      (acquire)
 *   2. full fence                             2. full fence
 *   3. t = top                                3. b = bottom   (acquire); t >= b: empty
 *   4. t < b - 1: the owner has item b - 1    4. item = slot[t]
 *      t = b - 1, the last item: top: t ->    5. top: t -> t + 1 by compare-and-swap: the thief has it
 *      t + 1, as a thief does; bottom = b
 *
 * Why only one side gets an item. One of the two fences comes first. If it is the owner's, the thief sees the lower
 * bottom and leaves item b - 1 alone. If it is the thief's, the owner sees a top that is at least the thief's t. If t
 * is less than b - 1, the thief needs another steal, with another fence, to get b - 1. If t equals b - 1, both swap
 * top, and one wins. Between thieves the swap decides.
 *
 * Why a stolen item is valid. All stores to bottom are releases, also in pop. A thief that sees a bottom above t sees
 * the push of item t. It loads `slots` after that, so it sees an array that holds the item. While top is t, the owner
 * does not overwrite slot t: it reads top (acquire) before it reuses a slot, and the thief's swap is a release after
 * its read.
 *
 * Growing and shrinking: the owner copies the items to the same indices of another array and publishes that. There is
 * one array of each size, kept until the deque is destroyed, so a thief may go on reading an array that is not in use
 * or in use again. While top is t, slot t of any array that ever held item t holds item t, or NULL: the memory of a
 * large array that was left is given back to the kernel and reads as zeros. A thief that reads NULL takes nothing.
 */
#ifndef WEFT_QUEUE_CHASE_LEV_H
#define WEFT_QUEUE_CHASE_LEV_H

#include "base/atomic.h"
#include "base/base.h"

#define WEFT_CHASE_LEV_SIZES 32

struct weft__chase_lev_slots {
    uint64_t mask;
    _Atomic(void *) slot[];
};

struct weft__chase_lev {
    /* Written by thieves, and by the owner for the last item. */
    _Atomic uint64_t top WEFT_ALIGNED;
    /* Written by the owner. */
    _Atomic uint64_t bottom WEFT_ALIGNED;
    _Atomic(struct weft__chase_lev_slots *) slots;
    uint64_t top_seen; /* the owner's last view of top: usually enough to know that there is room */
    uint64_t few;      /* with fewer items than this, the array is too large */
    unsigned size;     /* index of the current array in all_slots */
    struct weft__chase_lev_slots *all_slots[WEFT_CHASE_LEV_SIZES]; /* each array is twice as large as its predecessor */
};

/* `first` is the index of the first item: tests start near the wrap. The capacity is a power of two. -ENOMEM. */
int weft__chase_lev_init(struct weft__chase_lev *q, uint64_t capacity, uint64_t first);
void weft__chase_lev_destroy(struct weft__chase_lev *q);

/* Items are not NULL. The owner. -ENOMEM: nothing was pushed. */
int weft__chase_lev_push(struct weft__chase_lev *q, void *item);
/* The youngest item, or NULL. The owner. */
void *weft__chase_lev_pop(struct weft__chase_lev *q);
/* The oldest item, or NULL: the deque is empty, or another thread was faster. Any thread. */
void *weft__chase_lev_steal(struct weft__chase_lev *q);

/* The owner, when the deque is empty: shrinks it to its first size. Pops shrink as well, but not if all items were
 * stolen. */
void weft__chase_lev_trim(struct weft__chase_lev *q);

/* The number of items, now or a moment ago. */
static inline uint64_t weft__chase_lev_length(struct weft__chase_lev *q) {
    uint64_t t = load_rlx(&q->top), b = load_rlx(&q->bottom);
    return (int64_t)(b - t) > 0 ? b - t : 0;
}

#endif
