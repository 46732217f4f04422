/* Clusters: making and ending them. See cluster.c. */
#ifndef WEFT_SCHED_CLUSTER_H
#define WEFT_SCHED_CLUSTER_H

#include "sched/sched.h"

/* What has become of fibers in clusters that are no more. */
struct weft__past {
    uint64_t spawned, ended;
};
extern struct weft__past weft__past;
/* Held while the clusters, and with them the past, change; and by whoever sums over them. */
extern pthread_mutex_t weft__clusters_change;

/* The cluster of a handle; {0}: the caller's, or for a thread the first. NULL: there is none. */
struct weft__cluster *weft__cluster_find(struct weft_cluster handle);

int weft__cluster_start(struct weft__cluster *c, unsigned workers);
void weft__cluster_stop(struct weft__cluster *c);

#endif
