/* SPDX-License-Identifier: MIT */
/*
 * Statistics, and backtraces of fibers that keep a worker.
 */
#ifndef WEFT_SCHED_OBSERVE_STATS_H
#define WEFT_SCHED_OBSERVE_STATS_H

#include "sched/core/cluster.h"

/* Which engine makes requests, and why, as a text for the statistics. NULL: not decided yet. */
extern _Atomic(const char *) weft__io_name;
/* Adds the numbers of the cluster's workers, and of the fibers that other threads have spawned there. */
void weft__stats_add(struct weft__cluster *c, struct weft_stats *to);
/* Prints the statistics of all clusters to standard error. */
void weft__stats_print(void);
/* Removes the signal handler for backtraces. (backtrace.c) */
void weft__backtrace_unwatch(void);
/* In a forked child: forgets the request of the parent. (backtrace.c) */
void weft__backtrace_after_fork(void);

#endif
