/* SPDX-License-Identifier: MIT */
/*
 * Which fibers were cancelled, and why. See cancel_log.c.
 */
#ifndef WEFT_SCHED_WAIT_CANCEL_LOG_H
#define WEFT_SCHED_WAIT_CANCEL_LOG_H

#include "sched/core/fiber.h"

/* Records that the fiber was cancelled, and why. */
void weft__cancel_log_add(struct weft__fiber *f, int why);
/* A runtime begins: no fiber has been cancelled yet. */
void weft__cancel_log_reset(void);
void weft__cancel_log_after_fork(void);
/* Adds how many fibers threads have cancelled. */
void weft__cancel_log_add_threads(struct weft_stats *stats);
/* The latest cancellations, to standard error. */
void weft__cancel_log_print(void);

#endif
