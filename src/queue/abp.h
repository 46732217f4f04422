/*
 * The deque of Arora, Blumofe and Plaxton: an array that is filled from its beginning, items [top,
 * bottom). The owner pushes and pops at the bottom; thieves take at the top. It does not grow: a push
 * beyond the bound is refused. Whenever the owner finds it empty, it begins at the array's beginning
 * again; as that lowers top, top is one word with a tag that is new each time, the age.
 *
 *   pop (owner)                               steal (anybody)
 *   1. bottom = b - 1   (release)             1. age         (acquire)
 *   2. full fence                             2. full fence
 *   3. age                                    3. b = bottom  (acquire); top >= b: empty
 *   4. top < b - 1: the item is the owner's   4. item = slot[top]
 *   5. bottom = 0; top = b - 1, the last      5. age: top -> top + 1, by compare-and-swap: it is the thief's
 *      one: age: -> (tag + 1, 0) by compare-
 *      and-swap decides; else age = that
 *
 * Why an item is not had by both: as in chase_lev.h. That top is lowered is seen through the tag: a thief
 * that read the old age cannot swap any more. One that reads the new age sees bottom = 0, which was
 * stored before it (release, acquire), or a later push; never a bottom of the time before.
 */
#ifndef WEFT_QUEUE_ABP_H
#define WEFT_QUEUE_ABP_H

#include "base/atomic.h"
#include "base/base.h"

struct weft__abp {
    /* Written by thieves, and by the owner that finds the last item or none. */
    _Atomic uint64_t age WEFT_ALIGNED; /* 63..32 tag, 31..0 top */
    /* Written by the owner. */
    _Atomic uint32_t bottom WEFT_ALIGNED;
    uint32_t bound;
    _Atomic(void *) *slot;
};

/* `tag` is the first one: tests start near the wrap. -ENOMEM. */
int weft__abp_init(struct weft__abp *q, uint32_t bound, uint32_t tag);
void weft__abp_destroy(struct weft__abp *q);

/* Items are not NULL. The owner. -ENOSPC: the bound is reached, nothing was pushed. */
int weft__abp_push(struct weft__abp *q, void *item);
/* The youngest, or NULL. The owner. */
void *weft__abp_pop(struct weft__abp *q);
/* The oldest, or NULL: there is none, or somebody was quicker. Anybody. */
void *weft__abp_steal(struct weft__abp *q);

/* It does not grow. */
static inline void weft__abp_trim(struct weft__abp *q) { (void)q; }

/* How many there are, or were a moment ago. */
static inline uint64_t weft__abp_length(struct weft__abp *q) {
    uint32_t top = (uint32_t)load_rlx(&q->age), b = load_rlx(&q->bottom);
    return b > top ? b - top : 0;
}

#endif
