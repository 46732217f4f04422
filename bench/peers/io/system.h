/* SPDX-License-Identifier: MIT */
/* A measuring program without fibers: measurements run on the first thread. */
#ifndef IO_SYSTEM_H
#define IO_SYSTEM_H

#include "measure.h"

static inline void sys_run(const struct args *args, measure_fn *run, struct result *result) { run(args, result); }

#endif
