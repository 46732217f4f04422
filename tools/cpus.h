/* SPDX-License-Identifier: MIT */
/* Which processors measuring programs may use. */
#ifndef TOOLS_CPUS_H
#define TOOLS_CPUS_H

#include <sched.h>
#include <stdbool.h>

/* The processors of this process in the memory node (-1: any); without `smt` only the first hardware thread of each
 * core. False: there are none. */
bool cpus_choose(int node, bool smt, cpu_set_t *set);

#endif
