/*
 * The deque of Chase and Lev: a ring indexed by two counters that only grow, items [top, bottom). The
 * owner pushes and pops at the bottom, thieves take at the top. Grows, and gives memory back.
 *
 *   pop (owner)                               steal (anybody)
 *   1. bottom = b - 1   (release)             1. t = top      (acquire)
 *   2. full fence                             2. full fence
 *   3. t = top                                3. b = bottom   (acquire); t >= b: empty
 *   4. t < b - 1: item b - 1 is the owner's   4. item = slot[t] of the ring
 *      t = b - 1, the last one: by top: t     5. top: t -> t + 1 by compare-and-swap: it is the thief's
 *      -> t + 1, as a thief; bottom = b
 *
 * Why an item is not had by both. Of the two fences one is the first. If it is the owner's, the thief
 * sees the lower bottom and keeps off item b - 1. If it is the thief's, the owner sees a top that is at
 * least the thief's t: if t is less than b - 1, the thief can have b - 1 only by another steal, with
 * another fence; if it is equal, both swap top, and one wins. Between thieves the swap decides.
 *
 * Why an item that was swapped for is whole. The stores to bottom are releases, those of pop too: who
 * sees a bottom above t sees the push of t, and, as the ring is loaded after that, a ring that holds it.
 * While top is t the owner does not write over slot t: it has seen top (acquire) before it uses a slot
 * again, and the swap is a release after the read.
 *
 * Growing and shrinking: the owner copies the items to the same indices of another ring and publishes
 * that. There is one ring a size, kept until the deque is destroyed, so a thief may go on reading a ring
 * that is no longer used, or used again: as long as top is t, slot t of any ring that ever held item t
 * holds item t - or nothing, because the memory of a large ring that became too large is given back to
 * the kernel, and reads as zeros. A thief that reads nothing takes nothing.
 */
#ifndef WEFT_QUEUE_CHASE_LEV_H
#define WEFT_QUEUE_CHASE_LEV_H

#include "base/atomic.h"
#include "base/base.h"

#define WEFT_CHASE_LEV_SIZES 32

struct weft__chase_lev_ring {
    uint64_t mask;
    _Atomic(void *) slot[];
};

struct weft__chase_lev {
    /* Written by thieves, and by the owner for the last item. */
    _Atomic uint64_t top WEFT_ALIGNED;
    /* Written by the owner. */
    _Atomic uint64_t bottom WEFT_ALIGNED;
    _Atomic(struct weft__chase_lev_ring *) ring;
    uint64_t top_seen;                                        /* its last look at top: room is known without another */
    uint64_t few;                                             /* fewer items than this: the ring is too large */
    unsigned size;                                            /* of the ring, among these */
    struct weft__chase_lev_ring *rings[WEFT_CHASE_LEV_SIZES]; /* each twice as large as the one before */
};

/* `first` is the index of the first item ever: tests start near the wrap. The capacity is a power of two. -ENOMEM. */
int weft__chase_lev_init(struct weft__chase_lev *q, uint64_t capacity, uint64_t first);
void weft__chase_lev_destroy(struct weft__chase_lev *q);

/* Items are not NULL. The owner. -ENOMEM: nothing was pushed. */
int weft__chase_lev_push(struct weft__chase_lev *q, void *item);
/* The youngest, or NULL. The owner. */
void *weft__chase_lev_pop(struct weft__chase_lev *q);
/* The oldest, or NULL: there is none, or somebody was quicker. Anybody. */
void *weft__chase_lev_steal(struct weft__chase_lev *q);

/* The owner, when it is empty: as small as in the beginning. Pops see to that, too, but not when all was stolen. */
void weft__chase_lev_trim(struct weft__chase_lev *q);

/* How many there are, or were a moment ago. */
static inline uint64_t weft__chase_lev_length(struct weft__chase_lev *q) {
    uint64_t t = load_rlx(&q->top), b = load_rlx(&q->bottom);
    return (int64_t)(b - t) > 0 ? b - t : 0;
}

#endif
