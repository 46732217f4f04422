/* SPDX-License-Identifier: MIT */
/*
 * Where the workers run. See placement.c.
 */
#ifndef WEFT_SCHED_PLACE_PLACEMENT_H
#define WEFT_SCHED_PLACE_PLACEMENT_H

#include "sched/core/cluster.h"

/* Before the carrier of a worker runs: records the CPU on which it will run, if it will be bound. */
void weft__location_expect(struct weft__worker *w);
/* Binds the calling carrier to the CPUs that the configuration names. */
void weft__carrier_bind(struct weft__worker *w);
/* Checks, now and then, whether the kernel has moved the carrier to another CPU, and publishes that. */
void weft__location_update(struct weft__worker *w, uint64_t now);
/* The other workers, sorted by their present distance. */
const struct weft__victims *weft__victims_of(struct weft__worker *w);
/* A random worker of the cluster among those that run on this node; NULL: there is none. */
struct weft__worker *weft__worker_on(struct weft__cluster *c, unsigned node, uint64_t *random);
/* How many CPUs of this node the process may use; -1: of all nodes. */
unsigned weft__node_cpus(int node);

#endif
