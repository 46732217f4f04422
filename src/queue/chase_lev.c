/* SPDX-License-Identifier: MIT */
/* See chase_lev.h. */
#include "queue/chase_lev.h"

#include "base/sys.h"

#include <errno.h>

#ifndef WEFT_CHASE_LEV_LARGE
#define WEFT_CHASE_LEV_LARGE (4 * WEFT_PAGE) /* arrays of at least this many bytes give their pages back */
#endif

static size_t chase_lev_bytes_of(uint64_t capacity) {
    return sizeof(struct weft__chase_lev_slots) + capacity * sizeof(_Atomic(void *));
}

static struct weft__chase_lev_slots *chase_lev_slots_new(uint64_t capacity) {
    void *memory = NULL;
    if (chase_lev_bytes_of(capacity) < WEFT_CHASE_LEV_LARGE)
        memory = weft__alloc(chase_lev_bytes_of(capacity));
    else if (weft__pages_map(&memory, chase_lev_bytes_of(capacity)))
        return NULL;
    struct weft__chase_lev_slots *slots = memory;
    if (slots) slots->mask = capacity - 1;
    return slots;
}

static void slots_free(struct weft__chase_lev_slots *slots) {
    size_t bytes = chase_lev_bytes_of(slots->mask + 1);
    if (bytes < WEFT_CHASE_LEV_LARGE)
        weft__free(slots);
    else
        weft__pages_unmap(slots, bytes);
}

/* All but the page with the mask. Thieves may be reading. */
static void chase_lev_give_back(struct weft__chase_lev_slots *slots) {
    size_t bytes = chase_lev_bytes_of(slots->mask + 1);
    if (bytes < WEFT_CHASE_LEV_LARGE) return;
    struct weft__range rest = {(char *)slots + WEFT_PAGE, (bytes - 1) / WEFT_PAGE * WEFT_PAGE};
    weft__pages_discard(&rest, 1);
}

int weft__chase_lev_init(struct weft__chase_lev *q, uint64_t capacity, uint64_t first) {
    struct weft__chase_lev_slots *slots = chase_lev_slots_new(capacity);
    if (!slots) return -ENOMEM;
    store_rlx(&q->top, first);
    store_rlx(&q->bottom, first);
    store_rlx(&q->slots, slots);
    q->top_seen = first;
    q->few = 0;
    q->size = 0;
    q->all_slots[0] = slots;
    for (unsigned i = 1; i < WEFT_CHASE_LEV_SIZES; i++) q->all_slots[i] = NULL;
    return 0;
}

void weft__chase_lev_destroy(struct weft__chase_lev *q) {
    for (unsigned i = 0; i < WEFT_CHASE_LEV_SIZES && q->all_slots[i]; i++) slots_free(q->all_slots[i]);
    store_rlx(&q->slots, NULL);
}

/* Moves the items [t, b) to an array of another size, which is large enough. */
static void chase_lev_move(struct weft__chase_lev *q, unsigned size, uint64_t t, uint64_t b) {
    struct weft__chase_lev_slots *old = load_rlx(&q->slots), *slots = q->all_slots[size];
    for (uint64_t i = t; i != b; i++) store_rlx(&slots->slot[i & slots->mask], load_rlx(&old->slot[i & old->mask]));
    q->size = size;
    q->few = size ? (slots->mask + 1) / 4 : 0;
    store_rel(&q->slots, slots); /* pairs with steal: a thief that sees it sees the copied items */
}

static WEFT_COLD int chase_lev_make_room(struct weft__chase_lev *q, uint64_t b) {
    uint64_t capacity = load_rlx(&q->slots)->mask + 1;
    uint64_t t = q->top_seen = load_acq(&q->top); /* pairs with the thieves' swap: they have read their items */
    if (b - t < capacity) return 0;
    unsigned size = q->size + 1;
    if (size == WEFT_CHASE_LEV_SIZES) return -ENOMEM;
    if (!q->all_slots[size] && !(q->all_slots[size] = chase_lev_slots_new(capacity * 2))) return -ENOMEM;
    chase_lev_move(q, size, t, b);
    return 0;
}

static WEFT_COLD void chase_lev_shrink(struct weft__chase_lev *q, uint64_t t, uint64_t b) {
    struct weft__chase_lev_slots *old = load_rlx(&q->slots);
    chase_lev_move(q, q->size - 1, t, b);
    chase_lev_give_back(old);
}

void weft__chase_lev_trim(struct weft__chase_lev *q) {
    uint64_t b = load_rlx(&q->bottom), t = q->top_seen = load_acq(&q->top); /* pairs with the thieves' swap */
    while (q->size && t == b) chase_lev_shrink(q, t, b);
}

int weft__chase_lev_push(struct weft__chase_lev *q, void *item) {
    uint64_t b = load_rlx(&q->bottom);
    struct weft__chase_lev_slots *slots = load_rlx(&q->slots);
    if (unlikely(b - q->top_seen > slots->mask)) {
        int err = chase_lev_make_room(q, b);
        if (err) return err;
        slots = load_rlx(&q->slots);
    }
    store_rlx(&slots->slot[b & slots->mask], item);
    store_rel(&q->bottom, b + 1); /* pairs with steal: the item and its array are written */
    return 0;
}

void *weft__chase_lev_pop(struct weft__chase_lev *q) {
    uint64_t b = load_rlx(&q->bottom) - 1;
    struct weft__chase_lev_slots *slots = load_rlx(&q->slots);
    store_rel(&q->bottom, b); /* pairs with steal, as in push: a thief may learn of lower items by this bottom */
    fence_sc();               /* pairs with the fence of steal */
    uint64_t t = load_rlx(&q->top);
    int64_t left = (int64_t)(b - t);
    if (left < 0) {
        store_rlx(&q->bottom, b + 1); /* the deque is as empty as before: with this bottom no thief reads a slot */
        return NULL;
    }
    void *item = load_rlx(&slots->slot[b & slots->mask]);
    if (left > 0) {
        if (unlikely((uint64_t)left < q->few)) chase_lev_shrink(q, t, b);
        return item;
    }
    if (!cas_ar(&q->top, &t, t + 1)) item = NULL; /* against thieves that want the same item; pairs with their swap */
    store_rlx(&q->bottom, b + 1);
    return item;
}

void *weft__chase_lev_steal(struct weft__chase_lev *q) {
    uint64_t t = load_acq(&q->top);    /* before bottom and the slot: those must not be older */
    fence_sc();                        /* pairs with the fence of pop */
    uint64_t b = load_acq(&q->bottom); /* pairs with push and pop */
    if ((int64_t)(b - t) <= 0) return NULL;
    struct weft__chase_lev_slots *slots = load_acq(&q->slots); /* pairs with move */
    void *item = load_rlx(&slots->slot[t & slots->mask]);
    return item && cas_ar(&q->top, &t, t + 1) ? item : NULL;
}
