/* SPDX-License-Identifier: MIT */
/*
 * Which workers take from a queue: its owner alone, or all of the cluster. See sharing.c.
 */
#ifndef WEFT_SCHED_DISPATCH_SHARING_H
#define WEFT_SCHED_DISPATCH_SHARING_H

#include "sched/core/cluster.h"

/* The owner, at home: does it still have its queue to itself, or again? */
void weft__sharing_update(struct weft__worker *w, uint64_t now);
/* May other workers take from the queue, or have it shared? */
static inline bool weft__sharing_is_open(struct weft__worker *w) {
    uint32_t state = load_rlx(&w->sharing) & WEFT_SHARING_STATE;
    return state == WEFT_SHARED || state == WEFT_KEPT;
}
/* A thief: at most n of the oldest fibers of the queue; returns how many. None if the owner keeps the queue to itself,
 * but then it will be shared soon. */
uint64_t weft__shared_take(struct weft__worker *from, void **items, uint64_t n, uint64_t now);
/* The monitor, for a worker that is stuck, or a thief. False: not now. */
bool weft__sharing_end_by_force(struct weft__worker *w);

#endif
