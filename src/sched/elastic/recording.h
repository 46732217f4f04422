/* SPDX-License-Identifier: MIT */
/* Switching the flight recorder on and off. See recording.c. */
#ifndef WEFT_SCHED_ELASTIC_RECORDING_H
#define WEFT_SCHED_ELASTIC_RECORDING_H

#include "base/base.h"

/* Switches the recording as tools ask. Called by the monitor at every tick. */
void weft__recording_tick(uint64_t now);
/* Allocates the tables that a reader needs before a recording begins. 0, -ENOMEM. */
int weft__recording_prepare(void);
/* The program asks for a recording, or ends it. Returns when every worker was switched. 0, -ENOMEM. */
int weft__recording_ask(bool on);
struct weft__worker;
/* Gives a new worker, which does not run yet, its tape if the recorder is on. */
void weft__recording_add(struct weft__worker *w);
/* In a forked child: ends the recording. */
void weft__recording_after_fork(void);

#endif
