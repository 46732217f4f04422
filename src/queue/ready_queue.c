/* SPDX-License-Identifier: MIT */
/* The slow paths of the ready queue: creating, growing, shrinking and freeing slots. See ready_queue.h. */
#include "queue/ready_queue.h"

#include "base/sys.h"

#include <errno.h>

#ifndef WEFT_READY_LARGE
#define WEFT_READY_LARGE (4 * WEFT_PAGE) /* slots of at least this many bytes give their pages back */
#endif

static size_t ready_bytes_of(uint64_t capacity) {
    return sizeof(struct weft__ready_slots) + capacity * sizeof(((struct weft__ready_slots *)NULL)->slot[0]);
}

static struct weft__ready_slots *ready_slots_new(uint64_t capacity) {
    void *memory = NULL;
    if (ready_bytes_of(capacity) < WEFT_READY_LARGE)
        memory = weft__alloc(ready_bytes_of(capacity));
    else if (weft__pages_map(&memory, ready_bytes_of(capacity)))
        return NULL;
    struct weft__ready_slots *slots = memory;
    if (slots) slots->mask = capacity - 1;
    return slots;
}

int weft__ready_init(struct weft__ready *q, uint64_t capacity, uint64_t first) {
    struct weft__ready_slots *slots = ready_slots_new(capacity);
    if (!slots) return -ENOMEM;
    slots->next = NULL;
    store_rlx(&q->head, first);
    store_rlx(&q->tail, first);
    store_rlx(&q->alone, 0);
    q->trapped = false;
    q->calm = false;
    q->head_seen = first;
    q->all_slots = slots;
    store_rlx(&q->slots, slots);
    return 0;
}

void weft__ready_destroy(struct weft__ready *q) {
    for (struct weft__ready_slots *slots = q->all_slots; slots;) {
        struct weft__ready_slots *next = slots->next;
        size_t bytes = ready_bytes_of(slots->mask + 1);
        if (bytes < WEFT_READY_LARGE)
            weft__free(slots);
        else
            weft__pages_unmap(slots, bytes);
        slots = next;
    }
    q->all_slots = NULL;
    store_rlx(&q->slots, NULL);
}

/* Has the queue moved to other slots, and were all items taken that these slots held at that time? */
static bool is_over(struct weft__ready *q, const struct weft__ready_slots *slots, uint64_t h) {
    return slots != load_rlx(&q->slots) && (int64_t)(h - slots->left) >= 0;
}

/* Former slots that can be reused, or new slots; NULL: no memory. */
static struct weft__ready_slots *slots_get(struct weft__ready *q, uint64_t capacity, uint64_t h) {
    struct weft__ready_slots *slots = q->all_slots;
    while (slots && (slots->mask + 1 != capacity || !is_over(q, slots, h))) slots = slots->next;
    if (slots || !(slots = ready_slots_new(capacity))) return slots;
    slots->next = q->all_slots;
    q->all_slots = slots;
    return slots;
}

/* Moves the items [h, t) to slots of another capacity, which is large enough. */
static int ready_move(struct weft__ready *q, uint64_t capacity, uint64_t h, uint64_t t) {
    struct weft__ready_slots *old = load_rlx(&q->slots), *slots = slots_get(q, capacity, h);
    if (!slots) return -ENOMEM;
    for (uint64_t i = h; i != t; i++) store_rlx(&slots->slot[i & slots->mask], load_rlx(&old->slot[i & old->mask]));
    old->left = t;
    old->has_pages = true;
    store_rel(&q->slots, slots); /* pairs with take: a consumer that sees it sees the copied items */
    return 0;
}

WEFT_COLD int weft__ready_grow(struct weft__ready *q) {
    struct weft__ready_slots *old = load_rlx(&q->slots);
    uint64_t t = load_rlx(&q->tail);
    uint64_t h = q->head_seen = load_acq(&q->head); /* pairs with the consumers' swap: they have read their items */
    if (q->trapped) {
        q->trapped = false;
        return -EAGAIN;
    }
    return t - h <= old->mask ? 0 : ready_move(q, (old->mask + 1) * 2, h, t);
}

/* All but the page with the mask. Consumers may still be reading. */
static void ready_give_back(struct weft__ready_slots *slots) {
    size_t bytes = ready_bytes_of(slots->mask + 1);
    struct weft__range rest = {(char *)slots + WEFT_PAGE, (bytes - 1) / WEFT_PAGE * WEFT_PAGE};
    slots->has_pages = false;
    if (bytes >= WEFT_READY_LARGE) weft__pages_discard(&rest, 1);
}

WEFT_COLD void weft__ready_shrink(struct weft__ready *q, uint64_t least) {
    uint64_t t = load_rlx(&q->tail), h = load_acq(&q->head); /* pairs with the consumers' swap */
    uint64_t capacity = load_rlx(&q->slots)->mask + 1, fits = least;
    while (fits < 2 * (t - h)) fits *= 2;
    bool was_calm = q->calm;
    q->calm = fits < capacity;
    if (q->calm && was_calm && !ready_move(q, fits, h, t)) q->calm = false;
    for (struct weft__ready_slots *slots = q->all_slots; slots; slots = slots->next)
        if (slots->has_pages && is_over(q, slots, h)) ready_give_back(slots);
}

void weft__ready_trap(struct weft__ready *q) {
    q->trapped = true;
    q->head_seen = load_rlx(&q->tail) - load_rlx(&q->slots)->mask - 1; /* as if the queue were full */
}

void weft__ready_untrap(struct weft__ready *q) {
    q->trapped = false;
    q->head_seen = load_acq(&q->head); /* pairs with the consumers' swap: they have read their items */
}
