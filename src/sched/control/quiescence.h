/* SPDX-License-Identifier: MIT */
/*
 * Does nothing happen in a cluster any more? See quiescence.c.
 */
#ifndef WEFT_SCHED_CONTROL_QUIESCENCE_H
#define WEFT_SCHED_CONTROL_QUIESCENCE_H

#include "sched/core/cluster.h"
#include "sched/core/quiescence.h"

/* Will nothing happen in the cluster any more, unless a thread or the kernel causes it from outside? */
bool weft__is_quiet(struct weft__cluster *c);
/* Wakes the drains of clusters that are quiet. */
void weft__drain_collect(void);
/* Waits until the cluster is quiet, or until this generation of it has ended. */
int weft__drain_wait(struct weft__cluster *c, uint64_t generation, uint64_t deadline);
void weft__quiet_after_fork(void);

#endif
