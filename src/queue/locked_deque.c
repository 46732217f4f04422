/* SPDX-License-Identifier: MIT */
/* See locked_deque.h. Push, pop, steal and trim hold the lock. */
#include "queue/locked_deque.h"

#include <errno.h>

int weft__locked_init(struct weft__locked *q, uint64_t capacity, uint64_t first) {
    *q = (struct weft__locked){.top = first, .bottom = first, .mask = capacity - 1, .least = capacity - 1};
    q->slot = weft__alloc(capacity * sizeof *q->slot);
    return q->slot ? 0 : -ENOMEM;
}

void weft__locked_destroy(struct weft__locked *q) { weft__free(q->slot); }

static WEFT_COLD bool locked_resize(struct weft__locked *q, uint64_t mask) {
    void **slot = weft__alloc((mask + 1) * sizeof *slot);
    if (!slot) return false;
    for (uint64_t i = q->top; i != q->bottom; i++) slot[i & mask] = q->slot[i & q->mask];
    weft__free(q->slot);
    q->slot = slot;
    q->mask = mask;
    return true;
}

static void locked_set_length(struct weft__locked *q) { store_rlx(&q->length, q->bottom - q->top); }

int weft__locked_push(struct weft__locked *q, void *item) {
    weft__lock(&q->lock);
    bool room = q->bottom - q->top <= q->mask || locked_resize(q, q->mask * 2 + 1);
    if (room) {
        q->slot[q->bottom++ & q->mask] = item;
        locked_set_length(q);
    }
    weft__unlock(&q->lock);
    return room ? 0 : -ENOMEM;
}

void *weft__locked_pop(struct weft__locked *q) {
    void *item = NULL;
    weft__lock(&q->lock);
    if (q->bottom != q->top) {
        item = q->slot[--q->bottom & q->mask];
        locked_set_length(q);
        if (q->mask > q->least && q->bottom - q->top <= q->mask / 4) locked_resize(q, q->mask / 2);
    }
    weft__unlock(&q->lock);
    return item;
}

void weft__locked_trim(struct weft__locked *q) {
    weft__lock(&q->lock);
    if (q->bottom == q->top && q->mask > q->least) locked_resize(q, q->least);
    weft__unlock(&q->lock);
}

void *weft__locked_steal(struct weft__locked *q) {
    void *item = NULL;
    weft__lock(&q->lock);
    if (q->bottom != q->top) {
        item = q->slot[q->top++ & q->mask];
        locked_set_length(q);
    }
    weft__unlock(&q->lock);
    return item;
}
