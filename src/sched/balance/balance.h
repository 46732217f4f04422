/* SPDX-License-Identifier: MIT */
/*
 * Taking work from other workers: stealing by an idle worker, help by a busy worker, and whether few fibers should run
 * on two workers.
 */
#ifndef WEFT_SCHED_BALANCE_BALANCE_H
#define WEFT_SCHED_BALANCE_BALANCE_H

#include "sched/core/cluster.h"

/* One look at every other worker, the nearest first: something to run, or NULL. (steal.c) */
struct weft__fiber *weft__steal_round(struct weft__worker *w, uint64_t now);
/* Makes fibers that were mailed to a stuck worker, or that its ring has completed, ready here. (steal.c) */
void weft__serve_stuck(struct weft__worker *w, struct weft__worker *stuck);
/* Times fibers, and takes fibers from a queue in which they wait longer. (help.c) */
void weft__help_tick(struct weft__worker *w, uint64_t now);
/* Now and then, at home: would the fibers of a prompt queue run better on two workers? (split_trial.c) */
void weft__split_trial_tick(struct weft__worker *w, uint64_t now);
/* The worker has taken from a queue that was offered. (split_trial.c) */
void weft__split_trial_note_taken(struct weft__worker *w, struct weft__worker *from, uint64_t now);

#endif
