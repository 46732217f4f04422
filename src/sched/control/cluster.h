/* SPDX-License-Identifier: MIT */
/* Clusters: making and ending them. See cluster.c. */
#ifndef WEFT_SCHED_CONTROL_CLUSTER_H
#define WEFT_SCHED_CONTROL_CLUSTER_H

#include "sched/core/cluster.h"

/* Makes the carriers of a cluster, by a complete configuration. automatic: the number of workers follows the machine.
 * node: the memory node of its workers; -1: any. After an error the cluster has no carriers. Not locked. */
int weft__cluster_make(struct weft__cluster *c, const struct weft_config *config, bool automatic, int node);
/* Ends the carriers of a cluster that was made but does not run. */
void weft__cluster_dismantle(struct weft__cluster *c);
/* The cluster runs from now on. closed: WEFT_OPEN or WEFT_CLOSED_TO_THREADS. */
void weft__cluster_open(struct weft__cluster *c, uint8_t closed);
/* Ends the carriers of a cluster without fibers. Call it without the lock: a carrier may need the lock to end. */
void weft__cluster_end(struct weft__cluster *c);
/* Says which spawns the cluster accepts from now on: WEFT_OPEN ... */
void weft__cluster_close(struct weft__cluster *c, uint8_t closed);
/* A runtime starts: resets the sums, and lets threads make clusters. */
void weft__clusters_begin(void);
/* true, when a stop begins: threads can neither spawn nor make clusters. false, when a stop has failed: they can again.
 */
void weft__clusters_close(bool closed);
/* The runtime ends: no thread can make or end a cluster any more. Waits for threads that are just doing so. */
void weft__clusters_claim(void);
/* In a forked child. */
void weft__clusters_after_fork(void);

#endif
