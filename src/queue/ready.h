/*
 * The ready queue: a FIFO with one producer, its owner, and any number of consumers, the owner
 * among them. Unbounded; order is kept across growth; no allocation an item.
 *
 * A ring of slots indexed by two counters that only grow: items are [head, tail). To take items
 * [h, h + n) is to move head from h to h + n by one compare-and-swap, after having read them.
 *
 *   push (owner)                            take (anybody)
 *   1. slot[tail] = item                    1. h = head   (acquire)
 *   2. tail = tail + 1   (release)          2. t = tail   (acquire); h == t: empty
 *                                           3. read slot[h .. h + n)
 *                                           4. head: h -> h + n  (compare-and-swap), else again
 *
 * Why a read slot is right when the swap succeeds: the owner writes over slot h only after it has
 * seen head > h (it refuses to let tail - head exceed the size), and head never comes back to h.
 * The swap is a release, and the owner reads head with acquire before it reuses a slot, so the
 * reads of step 3 happen before the write. Load 1 is an acquire so that load 2 is not older than
 * it: otherwise tail < head could be seen; that is also checked for.
 *
 * Growth: the owner copies [head, tail) to the same indices of a ring twice the size and publishes
 * it (release). A taker that still reads the old ring reads what it held for these indices, which are
 * below `left`, the tail at that time: a taker that has seen a later tail sees the new ring, too. As soon
 * as head has come to `left`, the swap of any taker that reads the old ring fails, whatever it has read.
 * Then, and not before, the owner may use the old ring again, or give its pages back. It is not freed
 * before the queue is: a taker may still read it.
 *
 * Shrinking is the same with a smaller ring.
 *
 * The trap: whoever wants to know when an item is pushed lets the next push fail once, by the test
 * for room that every push makes anyway. So it costs nothing while nobody asks.
 *
 * The ring knows nothing of what the items are.
 */
#ifndef WEFT_QUEUE_READY_H
#define WEFT_QUEUE_READY_H

#include "base/atomic.h"
#include "base/base.h"

struct weft__ring {
    uint64_t mask;
    /* The owner's. */
    struct weft__ring *next; /* of all that the queue has made */
    uint64_t left;           /* the tail when it was last left */
    bool has_pages;          /* since then none were given back */
    _Atomic(void *) slot[];
};

struct weft__ready {
    /* Written by every taker. */
    _Atomic uint64_t head WEFT_ALIGNED;
    /* Written by the owner. */
    _Atomic uint64_t tail WEFT_ALIGNED;
    _Atomic bool alone; /* nobody but the owner takes */
    bool trapped;       /* the next push fails */
    bool calm;          /* it held few items when it was last asked to shrink */
    uint64_t head_seen; /* the owner's last look at head: room is known without another */
    _Atomic(struct weft__ring *) ring;
    struct weft__ring *rings; /* all of them */
};

/* `first` is the index of the first item ever; tests start near the wrap. */
int weft__ready_init(struct weft__ready *q, uint64_t capacity, uint64_t first);
void weft__ready_destroy(struct weft__ready *q);

/* Makes room for one more; the owner only. -ENOMEM. -EAGAIN: it was the trap. */
int weft__ready_grow(struct weft__ready *q);

/* The owner, now and then: if the ring has held few items the last two times, it becomes smaller, but not less than
 * that many slots; and old rings that no taker can need any more give their pages back. */
void weft__ready_shrink(struct weft__ready *q, uint64_t least);

/* Lets the next push fail with -EAGAIN, once. The owner only. */
void weft__ready_trap(struct weft__ready *q);

/* How many items there are, or were a moment ago. */
static inline uint64_t weft__ready_length(struct weft__ready *q) {
    uint64_t h = load_rlx(&q->head), t = load_rlx(&q->tail);
    return (int64_t)(t - h) > 0 ? t - h : 0;
}

/* Owner only. -ENOMEM: the queue is full and cannot grow; -EAGAIN: it was the trap; nothing was pushed. */
static inline int weft__ready_push(struct weft__ready *q, void *item) {
    uint64_t t = load_rlx(&q->tail);
    struct weft__ring *ring = load_rlx(&q->ring);
    if (unlikely(t - q->head_seen > ring->mask)) {
        int err = weft__ready_grow(q);
        if (err) return err;
        ring = load_rlx(&q->ring);
    }
    store_rlx(&ring->slot[t & ring->mask], item);
    store_rel(&q->tail, t + 1); /* pairs with the takers' load of tail: the item is there */
    return 0;
}

/* Takes the oldest n items, at most; returns how many. Anybody. */
static inline uint64_t weft__ready_take(struct weft__ready *q, void **items, uint64_t n) {
    uint64_t h = load_acq(&q->head);
    for (;;) {
        uint64_t t = load_acq(&q->tail); /* pairs with push */
        int64_t there = (int64_t)(t - h);
        if (there <= 0) return 0;
        uint64_t k = (uint64_t)there < n ? (uint64_t)there : n;
        struct weft__ring *ring = load_acq(&q->ring); /* pairs with growth: the slots are copied */
        for (uint64_t i = 0; i < k; i++) items[i] = load_rlx(&ring->slot[(h + i) & ring->mask]);
        if (likely(cas_ar(&q->head, &h, h + k))) return k;
    }
}

/* What comes after an item, as far as the owner can tell, if there are two more; else NULL. They may
 * be gone in a moment: good for a guess, and nothing else. */
struct weft__coming {
    void *next, *second;
};

/* Takes the oldest, or NULL. The owner only: its own tail is not behind, and there is no swap if it
 * is alone. */
static inline void *weft__ready_pop_ahead(struct weft__ready *q, struct weft__coming *coming) {
    uint64_t h = load_acq(&q->head);
    uint64_t t = load_rlx(&q->tail);
    struct weft__ring *ring = load_rlx(&q->ring);
    while (likely(h != t)) {
        void *item = load_rlx(&ring->slot[h & ring->mask]);
        if (likely(load_rlx(&q->alone)))
            store_rlx(&q->head, h + 1);
        else if (unlikely(!cas_ar(&q->head, &h, h + 1)))
            continue;
        coming->next = NULL;
        if (t - h > 2) { /* only the owner writes slots, so they can be read after the swap */
            coming->next = load_rlx(&ring->slot[(h + 1) & ring->mask]);
            coming->second = load_rlx(&ring->slot[(h + 2) & ring->mask]);
        }
        return item;
    }
    return NULL;
}

/* The oldest, or NULL; it may be gone by the time this returns. Anybody. */
static inline void *weft__ready_peek(struct weft__ready *q) {
    uint64_t h = load_acq(&q->head), t = load_acq(&q->tail); /* pairs with push */
    struct weft__ring *ring = load_acq(&q->ring);            /* pairs with growth */
    return (int64_t)(t - h) > 0 ? load_rlx(&ring->slot[h & ring->mask]) : NULL;
}

static inline void *weft__ready_pop(struct weft__ready *q) {
    struct weft__coming coming;
    return weft__ready_pop_ahead(q, &coming);
}

#endif
