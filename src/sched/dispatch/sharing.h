/* SPDX-License-Identifier: MIT */
/*
 * Which workers take from a queue: its owner alone, or all of the cluster. See sharing.c.
 */
#ifndef WEFT_SCHED_DISPATCH_SHARING_H
#define WEFT_SCHED_DISPATCH_SHARING_H

#include "sched/core/cluster.h"

/* The owner, at home: does it still have its queue to itself, or again? */
void weft__sharing_update(struct weft__worker *w);
/* The monitor, for a worker that is stuck. False: not now. */
bool weft__sharing_end_by_force(struct weft__worker *w);

#endif
