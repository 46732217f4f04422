/* Who waits until nothing happens any more. See quiet.c. */
#ifndef WEFT_SCHED_QUIET_H
#define WEFT_SCHED_QUIET_H

#include "sched/sched.h"

struct weft__quiet {
    _Atomic uint32_t waiting; /* stops and drains */
    _Atomic uint32_t told;    /* grows when they should look again; a stop sleeps on it */
};
extern struct weft__quiet weft__quiet;

/* Wakes those who wait for a cluster that is quiet. */
void weft__drain_collect(void);
/* Waits until the cluster is quiet, or this life of it is over. */
int weft__drain(struct weft__cluster *c, uint32_t generation, uint64_t deadline);

#endif
