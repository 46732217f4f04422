/* SPDX-License-Identifier: MIT */
/* The processors for measuring programs. */
#ifndef TOOLS_CPUS_H
#define TOOLS_CPUS_H

#include <sched.h>
#include <stdbool.h>

/* Finds the processors of this process in the memory node (-1: any). Without `smt`, takes only the first hardware
 * thread of each core. Returns false if there are none. */
bool cpus_choose(int node, bool smt, cpu_set_t *set);

#endif
