/* SPDX-License-Identifier: MIT */
/*
 * How many workers run. See resize.c.
 */
#ifndef WEFT_SCHED_ELASTIC_RESIZE_H
#define WEFT_SCHED_ELASTIC_RESIZE_H

#include "sched/core/cluster.h"

/* The limit of spares in a cluster. libweft-threads raises it before the start: each thread of an unmodified program
 * may block, as a kernel thread may. */
enum { WEFT_SPARES_MOST = 256 };
extern unsigned weft__spares_most;

/* Sets the number of workers of this generation of the cluster; as many spares run as workers are stuck. automatic: the
 * number follows the CPU quota from now on. -ENOMEM, -EAGAIN: fewer run. -ESRCH: that generation has ended. */
int weft__resize(struct weft__cluster *c, uint64_t generation, unsigned configured, bool automatic);
/* The same if the cluster is automatic. Called by the monitor, which does not wait: nothing happens while another
 * thread changes the number. */
void weft__resize_automatic(struct weft__cluster *c, unsigned configured);
/* Sets the number of spares. Called by the monitor, which does not wait. -EBUSY: another thread changes the number.
 * Other errors as above. */
int weft__resize_spares(struct weft__cluster *c, unsigned spares);
/* The quota of CPU time may have changed: sets the number of workers of automatic clusters. Returns the processors. */
unsigned weft__follow_quota(void);

#endif
