/* SPDX-License-Identifier: MIT */
/*
 * How many workers run. See resize.c.
 */
#ifndef WEFT_SCHED_ELASTIC_RESIZE_H
#define WEFT_SCHED_ELASTIC_RESIZE_H

#include "sched/core/cluster.h"

#define WEFT_SPARES_MAX 256

/* So many workers are to run, and as many spares as workers are stuck, in this generation of the cluster. automatic:
 * until the machine lends us more or fewer. -ENOMEM, -EAGAIN: fewer run. -ESRCH: that generation has ended. */
int weft__resize(struct weft__cluster *c, uint32_t generation, unsigned configured, bool automatic);
/* So many, if the cluster is automatic. The monitor, which does not wait: not while another thread changes the
 * number. */
void weft__resize_automatic(struct weft__cluster *c, unsigned configured);
/* So many spares are to run. The monitor, which does not wait. -EBUSY: another thread changes the number just now.
 * Other errors as above. */
int weft__resize_spares(struct weft__cluster *c, unsigned spares);
/* The quota of CPU time may have changed: as many workers as it allows, if the program left that to us. */
unsigned weft__follow_quota(void);

#endif
