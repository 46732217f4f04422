/* SPDX-License-Identifier: MIT */
/*
 * The ready queue: a FIFO with one producer, its owner, and any number of consumers, the owner among them. Unbounded;
 * growing keeps the order; items need no allocation.
 *
 * The slots are a circular array indexed by two counters that only grow; the items are [head, tail). A consumer takes
 * items [h, h + n) by a compare-and-swap of head from h to h + n, after it has read them.
 *
 *   push (owner)                            take (any thread)
 *   1. slot[tail] = item                    1. h = head   (acquire)
 *   2. tail = tail + 1   (release)          2. t = tail   (acquire); h == t: empty
 *                                           3. read slot[h .. h + n)
 *                                           4. head: h -> h + n  (compare-and-swap), else retry
 *
 * Why a slot that was read is valid if the swap succeeds: the owner overwrites slot h only after it has seen head > h
 * (it keeps tail - head within the capacity), and head never returns to h. The swap is a release, and the owner reads
 * head with acquire before it reuses a slot, so the reads of step 3 happen before the write. Load 1 is an acquire so
 * that load 2 is not older; otherwise tail < head could be seen. The code checks for that, too.
 *
 * Growth: the owner copies [head, tail) to the same indices of slots of twice the capacity and publishes these
 * (release). A consumer that still reads the old slots reads valid items: its indices are below `left`, the tail at
 * that time, because a consumer that has seen a later tail also sees the new slots. Once head has reached `left`, the
 * swap of any consumer that reads the old slots fails. Only then may the owner reuse the old slots or give their pages
 * back. They are freed with the queue, because a consumer may still read them.
 *
 * Shrinking is the same with smaller slots.
 *
 * The trap: weft__ready_trap makes the next push fail once, by the test for room that every push makes anyway. The
 * caller learns of the next push this way, at no cost while the trap is not set.
 */
#ifndef WEFT_QUEUE_READY_QUEUE_H
#define WEFT_QUEUE_READY_QUEUE_H

#include "base/assert.h"
#include "base/atomic.h"
#include "base/base.h"

struct weft__ready_slots {
    uint64_t mask;
    /* Written by the owner. */
    struct weft__ready_slots *next; /* list of all slots of the queue */
    uint64_t left;                  /* the tail when the owner last left these slots */
    bool has_pages;                 /* pages were not given back since then */
    _Atomic(void *) slot[];
};

struct weft__ready {
    /* Written by every consumer. */
    _Atomic uint64_t head WEFT_ALIGNED;
    /* Written by the owner. */
    _Atomic uint64_t tail WEFT_ALIGNED;
    _Atomic uint8_t alone; /* not 0: only the owner takes items, without a swap. The value is the scheduler's */
    bool trapped;          /* the next push fails */
    bool calm;             /* there were few items at the last call of weft__ready_shrink */
    uint64_t head_seen;    /* the owner's last view of head: usually enough to know that there is room */
    _Atomic(struct weft__ready_slots *) slots;
    struct weft__ready_slots *all_slots; /* current and former slots */
};

/* `first` is the index of the first item: tests start near the wrap. */
int weft__ready_init(struct weft__ready *q, uint64_t capacity, uint64_t first);
void weft__ready_destroy(struct weft__ready *q);

/* Makes room for one more item. The owner only. -ENOMEM. -EAGAIN: the trap was set. */
int weft__ready_grow(struct weft__ready *q);

/* The owner, from time to time: if there were few items at this call and the last, moves to smaller slots, of at least
 * this capacity. Gives back the pages of old slots that no consumer can need any more. */
void weft__ready_shrink(struct weft__ready *q, uint64_t least);

/* Makes the next push fail with -EAGAIN, once. The owner only. */
void weft__ready_trap(struct weft__ready *q);
/* The trap is no longer set. The owner only. */
void weft__ready_untrap(struct weft__ready *q);

/* The number of items, now or a moment ago. */
static inline uint64_t weft__ready_length(struct weft__ready *q) {
    uint64_t h = load_rlx(&q->head), t = load_rlx(&q->tail);
    return (int64_t)(t - h) > 0 ? t - h : 0;
}

/* The owner only. -ENOMEM: the queue is full and cannot grow. -EAGAIN: the trap was set. After an error nothing was
 * pushed. */
static inline int weft__ready_push(struct weft__ready *q, void *item) {
    uint64_t t = load_rlx(&q->tail);
    struct weft__ready_slots *slots = load_rlx(&q->slots);
    if (unlikely(t - q->head_seen > slots->mask)) {
        int err = weft__ready_grow(q);
        if (err) return err;
        slots = load_rlx(&q->slots);
    }
    WEFT_ASSERT(item != NULL);
    WEFT_ASSERT((int64_t)(t - load_rlx(&q->head)) >= 0 || !load_rlx(&q->alone));
    WEFT_ASSERT(t - q->head_seen <= slots->mask);
    WEFT_ASSERT((slots->mask & (slots->mask + 1)) == 0);
    store_rlx(&slots->slot[t & slots->mask], item);
    store_rel(&q->tail, t + 1); /* pairs with the consumers' load of tail: the item is written */
    return 0;
}

/* Takes at most n of the oldest items; returns how many. Any thread. */
static inline uint64_t weft__ready_take(struct weft__ready *q, void **items, uint64_t n) {
    uint64_t h = load_acq(&q->head);
    for (;;) {
        uint64_t t = load_acq(&q->tail); /* pairs with weft__ready_push */
        int64_t there = (int64_t)(t - h);
        if (there <= 0) return 0;
        uint64_t k = (uint64_t)there < n ? (uint64_t)there : n;
        struct weft__ready_slots *slots = load_acq(&q->slots); /* pairs with growth: the items are copied */
        for (uint64_t i = 0; i < k; i++) items[i] = load_rlx(&slots->slot[(h + i) & slots->mask]);
        if (likely(cas_ar(&q->head, &h, h + k))) return k;
    }
}

/* The next two items, if the owner sees at least two more, else NULL. Thieves may take them at any time: only a
 * hint. */
struct weft__ready_ahead {
    void *next, *second;
};

/* Takes the oldest item, or returns NULL. The owner only: its view of tail is exact, and it needs no swap while it is
 * alone. */
static inline void *weft__ready_pop_ahead(struct weft__ready *q, struct weft__ready_ahead *coming) {
    uint64_t h = load_acq(&q->head);
    uint64_t t = load_rlx(&q->tail);
    struct weft__ready_slots *slots = load_rlx(&q->slots);
    while (likely(h != t)) {
        void *item = load_rlx(&slots->slot[h & slots->mask]);
        WEFT_ASSERT(t - h <= slots->mask + 1 || !load_rlx(&q->alone));
        if (likely(load_rlx(&q->alone)))
            store_rlx(&q->head, h + 1);
        else if (unlikely(!cas_ar(&q->head, &h, h + 1)))
            continue;
        coming->next = NULL;
        if (t - h > 2) { /* only the owner writes slots, so it can read them after the swap */
            coming->next = load_rlx(&slots->slot[(h + 1) & slots->mask]);
            coming->second = load_rlx(&slots->slot[(h + 2) & slots->mask]);
        }
        return item;
    }
    return NULL;
}

/* The oldest item, or NULL. Another thread may take it before this returns. Any thread. */
static inline void *weft__ready_peek(struct weft__ready *q) {
    uint64_t h = load_acq(&q->head), t = load_acq(&q->tail); /* pairs with weft__ready_push */
    struct weft__ready_slots *slots = load_acq(&q->slots);   /* pairs with growth */
    return (int64_t)(t - h) > 0 ? load_rlx(&slots->slot[h & slots->mask]) : NULL;
}

static inline void *weft__ready_pop(struct weft__ready *q) {
    struct weft__ready_ahead coming;
    return weft__ready_pop_ahead(q, &coming);
}

#endif
