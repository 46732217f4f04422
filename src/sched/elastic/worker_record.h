/* SPDX-License-Identifier: MIT */
/*
 * The records of workers. See worker_record.c.
 */
#ifndef WEFT_SCHED_ELASTIC_WORKER_RECORD_H
#define WEFT_SCHED_ELASTIC_WORKER_RECORD_H

#include "sched/core/cluster.h"

/* Makes the record of the worker with this index if there is none, and resets it for a new carrier. 0 or -ENOMEM. */
int weft__worker_make(struct weft__cluster *c, unsigned index);
/* The worker's carrier has ended: frees the memory that only a carrier needs. The record stays. */
void weft__worker_release(struct weft__worker *w);
/* In the child process of fork(2). No carrier will use the record again, but timers still point to its wheel. */
void weft__worker_after_fork(struct weft__worker *w);

#endif
