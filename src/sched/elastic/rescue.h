/* SPDX-License-Identifier: MIT */
/*
 * What the monitor does: it looks for hogs (hog.c), and rescues the fibers that wait behind them (rescue.c).
 */
#ifndef WEFT_SCHED_RESCUE_H
#define WEFT_SCHED_RESCUE_H

#include "sched/core/cluster.h"

#define WEFT_TICK (4 * WEFT_MILLISECOND)

/* Looks at the worker. True: the worker has a hog, worker->hog.fiber. */
bool weft__hog_look(struct weft__worker *w, uint64_t now);

struct weft__rescue {
    uint64_t now;
    unsigned processors; /* number of processors that this process may use */
    bool busy;           /* result: some worker runs something */
    bool urgent;         /* result: the next tick must come soon */
};
/* Looks at all workers of a cluster that runs, and rescues what waits behind hogs. */
void weft__rescue(struct weft__cluster *c, struct weft__rescue *r);

#endif
