/* SPDX-License-Identifier: MIT */
/* How many workers by default. See cpu_quota.c. */
#ifndef WEFT_SCHED_CPUS_H
#define WEFT_SCHED_CPUS_H

#include "base/base.h"

/* The CPU quota in processors, rounded up; 0: no quota. `root` is put before /proc and /sys; tests use their own. */
unsigned weft__cpu_quota(const char *root);

/* The smaller of the affinity mask and the quota; at least 1, at most WEFT_WORKERS_MAX. */
unsigned weft__default_workers(void);

#endif
