/* SPDX-License-Identifier: MIT */
/*
 * Which workers take from a queue: its owner alone, or all of the cluster. See sharing.c.
 */
#ifndef WEFT_SCHED_DISPATCH_SHARING_H
#define WEFT_SCHED_DISPATCH_SHARING_H

#include "sched/core/cluster.h"

/* The owner, at home: decides again whether it shares its queue. */
void weft__sharing_update(struct weft__worker *w, uint64_t now);
/* Can other workers take from the queue, now or after they have asked for it? */
static inline bool weft__sharing_is_open(struct weft__worker *w) {
    uint32_t state = load_rlx(&w->sharing) & WEFT_SHARING_STATE;
    return state == WEFT_SHARED || state == WEFT_KEPT;
}
/* A thief takes at most n of the oldest fibers of the queue. Returns how many. If the owner keeps the queue to itself,
 * the result is 0, and the queue will be shared soon. */
uint64_t weft__shared_take(struct weft__worker *from, void **items, uint64_t n, uint64_t now);
/* Makes the queue shared although the owner does not come home. Called by the monitor for a stuck worker, and by
 * thieves. False: not possible now. */
bool weft__sharing_end_by_force(struct weft__worker *w);

#endif
