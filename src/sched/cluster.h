/* Clusters: making and ending them. See cluster.c. */
#ifndef WEFT_SCHED_CLUSTER_H
#define WEFT_SCHED_CLUSTER_H

#include "sched/sched.h"

/* What was counted in clusters that are no more. */
extern struct weft_stats weft__past;
/* Held while the clusters, and with them the past, change; and by whoever goes over all of them. */
extern pthread_mutex_t weft__clusters_change;

/* The cluster of a handle; {0}: the caller's, or for a thread the first. NULL: there is none. */
struct weft__cluster *weft__cluster_find(struct weft_cluster handle);
/* {0}; or, if the caller's cluster is about to end, the first. */
struct weft_cluster weft__cluster_lasting(void);
/* Calls fn for each that runs, or is just ending, until it says no; returns whether all said yes. */
bool weft__each_cluster(bool (*fn)(struct weft__cluster *, void *), void *arg);

/* As the configuration, complete, says; automatic: the number of workers follows the machine; node: -1,
 * or where its workers stay. Then it runs. */
int weft__cluster_start(struct weft__cluster *c, const struct weft_config *config, bool automatic, int node);
/* Nobody is left in it: ends its carriers. Not locked: a fiber on one of them may want the lock. */
void weft__cluster_end(struct weft__cluster *c);
void weft__cluster_close(struct weft__cluster *c, uint8_t closed);
/* Adds what its workers, and threads that handed work in, have counted. (stats.c) */
void weft__stats_add(struct weft__cluster *c, struct weft_stats *to);

#endif
