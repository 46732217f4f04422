/* SPDX-License-Identifier: MIT */
/*
 * The thread that looks after the workers. See monitor.c, hog.c.
 */
#ifndef WEFT_SCHED_ELASTIC_MONITOR_H
#define WEFT_SCHED_ELASTIC_MONITOR_H

#include "sched/core/cluster.h"

int weft__monitor_start(void);
void weft__monitor_stop(void);
/* For a cluster that no longer runs: waits until the monitor does not look at it. The monitor will not look at it
 * again. */
void weft__monitor_leaves(struct weft__cluster *c);
/* Describes the fiber that keeps the worker. (hog.c) */
void weft__hog_describe(struct weft__worker *w, struct weft__fiber *f, struct weft_hog *to);

#endif
