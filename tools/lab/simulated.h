/* SPDX-License-Identifier: MIT */
/* The simulation as one call; tests/sim has the model. */
#ifndef LAB_SIMULATED_H
#define LAB_SIMULATED_H

#include <stdbool.h>

#define SIMULATED_SIZES 6
extern const unsigned simulated_workers[SIMULATED_SIZES];

/* Which part of its time each worker runs fibers. dry: workers run dry now and then. ms: of virtual time. */
double simulated_work(unsigned size, bool dry, unsigned ms);

#endif
