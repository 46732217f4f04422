/* SPDX-License-Identifier: MIT */
/*
 * Statistics, and backtraces of fibers that keep a worker.
 */
#ifndef WEFT_SCHED_OBSERVE_STATS_H
#define WEFT_SCHED_OBSERVE_STATS_H

#include "sched/core/cluster.h"

/* The engine of I/O and why, for the statistics; NULL: none yet. */
extern _Atomic(const char *) weft__io_name;
/* Adds what the workers of the cluster, and threads that handed work in, have counted. */
void weft__stats_add(struct weft__cluster *c, struct weft_stats *to);
/* All of it, to standard error. */
void weft__stats_print(void);
/* The handler of backtraces is taken away; in a forked child. (backtrace.c) */
void weft__backtrace_unwatch(void);
void weft__backtrace_after_fork(void);

#endif
