/* SPDX-License-Identifier: MIT */
/* The system that measure_main runs a measurement on, if it is not a scheduler of fibers. */
#ifndef BENCH_SYSTEM_H
#define BENCH_SYSTEM_H

#include "measure.h"

void sys_run(const struct args *args, measure_fn *run, struct result *result);

#endif
