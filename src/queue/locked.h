/*
 * A deque behind a lock: a ring that grows and shrinks. What the others are compared with, and what
 * they have to agree with.
 */
#ifndef WEFT_QUEUE_LOCKED_H
#define WEFT_QUEUE_LOCKED_H

#include "base/lock.h"

struct weft__locked {
    struct weft__lock lock;
    uint64_t top, bottom; /* items [top, bottom) */
    uint64_t mask, least; /* of the ring; of the smallest one */
    void **slot;
    _Atomic uint64_t length; /* for those that only want to know */
};

/* As in chase_lev.h. */
int weft__locked_init(struct weft__locked *q, uint64_t capacity, uint64_t first);
void weft__locked_destroy(struct weft__locked *q);
int weft__locked_push(struct weft__locked *q, void *item);
void *weft__locked_pop(struct weft__locked *q);
void *weft__locked_steal(struct weft__locked *q);
void weft__locked_trim(struct weft__locked *q);
static inline uint64_t weft__locked_length(struct weft__locked *q) { return load_rlx(&q->length); }

#endif
