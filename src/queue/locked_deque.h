/* SPDX-License-Identifier: MIT */
/*
 * A deque behind a lock: a circular array that grows and shrinks. The reference for tests and benchmarks of the other
 * deques.
 */
#ifndef WEFT_QUEUE_LOCKED_DEQUE_H
#define WEFT_QUEUE_LOCKED_DEQUE_H

#include "base/lock.h"

struct weft__locked {
    struct weft__lock lock;
    uint64_t top, bottom; /* items [top, bottom) */
    uint64_t mask, least; /* masks of the current and of the smallest array */
    void **slot;
    _Atomic uint64_t length; /* for readers without the lock */
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
