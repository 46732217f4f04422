/* Clusters: making and ending them. See cluster.c. */
#ifndef WEFT_SCHED_CLUSTER_H
#define WEFT_SCHED_CLUSTER_H

#include "sched/sched.h"

/* What was counted in clusters that are no more. */
extern struct weft_stats weft__past;
/* Held while a cluster begins or ends, and with it the past; and to see all of them at one moment. Never held while
 * threads are made or joined, nor while anything is written: for a few microseconds. */
extern pthread_mutex_t weft__clusters_change;

/* The cluster of a handle; {0}: the caller's, or for a thread the first. NULL: there is none. */
struct weft__cluster *weft__cluster_find(struct weft_cluster handle);
/* {0}; or, if the caller's cluster is about to end, the first. */
struct weft_cluster weft__cluster_lasting(void);
/* Calls fn for each that runs, or is just ending, until it says no; returns whether all said yes. Records of clusters
 * and workers are kept for ever: without the lock, what fn sees may be another life of the cluster. */
bool weft__each_cluster(bool (*fn)(struct weft__cluster *, void *), void *arg);

/* Gives it carriers, as the configuration, complete, says; automatic: the number of workers follows the machine; node:
 * -1, or where its workers stay. On failure it has none. Not locked. */
int weft__cluster_make(struct weft__cluster *c, const struct weft_config *config, bool automatic, int node);
/* It has no carriers again. For one that was made and does not run. */
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
void weft__clusters_forked(void);
/* Adds what its workers, and threads that handed work in, have counted. (stats.c) */
void weft__stats_add(struct weft__cluster *c, struct weft_stats *to);

#endif
