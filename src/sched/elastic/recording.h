/* SPDX-License-Identifier: MIT */
/* Switching the flight recorder on and off. See recording.c. */
#ifndef WEFT_SCHED_ELASTIC_RECORDING_H
#define WEFT_SCHED_ELASTIC_RECORDING_H

#include "base/base.h"

/* The monitor, at every tick. */
void weft__recording_tick(uint64_t now);
/* Makes what a reader needs to begin. 0, -ENOMEM. */
int weft__recording_prepare(void);
/* The program asks for events, or no longer. Returns when the workers know. 0, -ENOMEM. */
int weft__recording_ask(bool on);
struct weft__worker;
/* The worker has been made, and does not run yet. */
void weft__recording_add(struct weft__worker *w);
/* In a forked child: nothing is recorded. */
void weft__recording_after_fork(void);

#endif
