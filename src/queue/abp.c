/* SPDX-License-Identifier: MIT */
/* See abp.h. */
#include "queue/abp.h"

#include "base/sys.h"

#include <errno.h>

static uint32_t top_of(uint64_t age) { return (uint32_t)age; }
static uint64_t next_tag(uint64_t age) { return ((age >> 32) + 1) << 32; }

int weft__abp_init(struct weft__abp *q, uint32_t capacity, uint32_t tag) {
    q->slot = weft__alloc(capacity * sizeof *q->slot);
    if (!q->slot) return -ENOMEM;
    q->capacity = capacity;
    store_rlx(&q->age, (uint64_t)tag << 32);
    store_rlx(&q->bottom, 0);
    return 0;
}

void weft__abp_destroy(struct weft__abp *q) { weft__free(q->slot); }

/* All items were taken: start again at the start of the array. */
static void begin_anew(struct weft__abp *q, uint64_t age) {
    store_rlx(&q->bottom, 0);
    store_rel(&q->age, next_tag(age)); /* pairs with steal: a thief that sees this age sees that bottom */
}

int weft__abp_push(struct weft__abp *q, void *item) {
    uint32_t b = load_rlx(&q->bottom);
    if (unlikely(b == q->capacity)) {
        uint64_t age = load_acq(&q->age); /* pairs with the thieves' swap: they have read their items */
        if (top_of(age) < b) return -ENOSPC;
        begin_anew(q, age); /* top is at the bottom, so no thief swaps the age */
        b = 0;
    }
    store_rlx(&q->slot[b], item);
    store_rel(&q->bottom, b + 1); /* pairs with steal: the item is written */
    return 0;
}

void *weft__abp_pop(struct weft__abp *q) {
    uint32_t b = load_rlx(&q->bottom);
    if (b == 0) return NULL;
    store_rel(&q->bottom, --b); /* pairs with steal, as in push: a thief may learn of lower items by this bottom */
    fence_sc();                 /* pairs with the fence of steal */
    void *item = load_rlx(&q->slot[b]);
    uint64_t age = load_acq(&q->age); /* pairs with the thieves' swap: slots are reused when the deque is empty */
    if (b > top_of(age)) return item;
    if (b == top_of(age)) {
        store_rlx(&q->bottom, 0);
        uint64_t seen = age;
        if (cas_ar(&q->age, &seen, next_tag(age))) return item; /* a release, as in begin_anew */
        age = seen;
    }
    begin_anew(q, age); /* a thief has taken the last item, so no thief can swap the age */
    return NULL;
}

void *weft__abp_steal(struct weft__abp *q) {
    uint64_t age = load_acq(&q->age);  /* pairs with begin_anew: bottom must not be older */
    fence_sc();                        /* pairs with the fence of pop */
    uint32_t b = load_acq(&q->bottom); /* pairs with push and pop */
    if (b <= top_of(age)) return NULL;
    void *item = load_rlx(&q->slot[top_of(age)]);
    return cas_ar(&q->age, &age, age + 1) ? item : NULL;
}
