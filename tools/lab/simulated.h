/* SPDX-License-Identifier: MIT */
/* Runs the simulation of tests/sim by one call. */
#ifndef LAB_SIMULATED_H
#define LAB_SIMULATED_H

#include <stdbool.h>

#define SIMULATED_SIZES 6
extern const unsigned simulated_workers[SIMULATED_SIZES];

/* Returns the part of its time in which each worker runs fibers. dry: workers sometimes have no work. ms: virtual
 * time. */
double simulated_work(unsigned size, bool dry, unsigned ms);

#endif
