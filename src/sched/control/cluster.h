/* SPDX-License-Identifier: MIT */
/* Clusters: making and ending them. See cluster.c. */
#ifndef WEFT_SCHED_CONTROL_CLUSTER_H
#define WEFT_SCHED_CONTROL_CLUSTER_H

#include "sched/core/cluster.h"

/* Gives it carriers, as the configuration, complete, says; automatic: the number of workers follows the machine; node:
 * -1, or where its workers stay. On failure it has none. Not locked. */
int weft__cluster_make(struct weft__cluster *c, const struct weft_config *config, bool automatic, int node);
/* It has no carriers again. For a cluster that was made and does not run. */
void weft__cluster_dismantle(struct weft__cluster *c);
/* It runs; closed: WEFT_OPEN or WEFT_CLOSED_TO_THREADS. */
void weft__cluster_open(struct weft__cluster *c, uint8_t closed);
/* No fiber is left in it: ends its carriers. Not locked: a fiber on one of them may want the lock. */
void weft__cluster_end(struct weft__cluster *c);
void weft__cluster_close(struct weft__cluster *c, uint8_t closed);
/* Another runtime begins: nothing has been counted, and nothing is closed. */
void weft__clusters_begin(void);
/* A stop begins, or was in vain: threads cannot spawn or make clusters, or can again. */
void weft__clusters_close(bool closed);
/* The runtime ends: waits until no other thread is making or ending a cluster; none will. */
void weft__clusters_claim(void);
/* In a forked child. */
void weft__clusters_after_fork(void);

#endif
