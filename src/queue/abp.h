/* SPDX-License-Identifier: MIT */
/*
 * The deque of Arora, Blumofe and Plaxton: an array that is filled from its start, with items [top, bottom). The owner
 * pushes and pops at the bottom; thieves take at the top. It does not grow: a push beyond the capacity fails. When the
 * owner finds it empty, it starts again at the start of the array. That lowers top, so top shares a word, the age, with
 * a tag that changes each time.
 *
 *   pop (owner)                               steal (any thread)
 *   1. bottom = b - 1   (release)             1. age         (acquire)
 *   2. full fence                             2. full fence
 *   3. age                                    3. b = bottom  (acquire); top >= b: empty
 *   4. top < b - 1: the owner has the item    4. item = slot[top]
 *   5. bottom = 0; if top = b - 1, the last   5. age: top -> top + 1, by compare-and-swap: the thief has it
 *      item: age -> (tag + 1, 0) by compare-
 *      and-swap decides; else age = that
 *
 * Why only one side gets an item: as in chase_lev.h. The tag makes a lowered top visible: a thief that read the old age
 * fails to swap. A thief that reads the new age sees bottom = 0, which was stored before it (release, acquire), or a
 * later push, but never a bottom from before.
 */
#ifndef WEFT_QUEUE_ABP_H
#define WEFT_QUEUE_ABP_H

#include "base/atomic.h"
#include "base/base.h"

struct weft__abp {
    /* Written by thieves, and by the owner if it finds the last item or none. */
    _Atomic uint64_t age WEFT_ALIGNED; /* 63..32 tag, 31..0 top */
    /* Written by the owner. */
    _Atomic uint32_t bottom WEFT_ALIGNED;
    uint32_t capacity;
    _Atomic(void *) *slot;
};

/* `tag` is the first tag: tests start near the wrap. -ENOMEM. */
int weft__abp_init(struct weft__abp *q, uint32_t capacity, uint32_t tag);
void weft__abp_destroy(struct weft__abp *q);

/* Items are not NULL. The owner. -ENOSPC: the deque is full and unchanged. */
int weft__abp_push(struct weft__abp *q, void *item);
/* The youngest item, or NULL. The owner. */
void *weft__abp_pop(struct weft__abp *q);
/* The oldest item, or NULL: the deque is empty, or another thread was faster. Any thread. */
void *weft__abp_steal(struct weft__abp *q);

/* It does not grow, so there is nothing to trim. */
static inline void weft__abp_trim(struct weft__abp *q) { (void)q; }

/* The number of items, now or a moment ago. */
static inline uint64_t weft__abp_length(struct weft__abp *q) {
    uint32_t top = (uint32_t)load_rlx(&q->age), b = load_rlx(&q->bottom);
    return b > top ? b - top : 0;
}

#endif
