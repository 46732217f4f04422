/* SPDX-License-Identifier: MIT */
/* See simulated.h. */
#include "simulated.h"
#include "model.h"

#include <stdlib.h>

static const struct machine machines[SIMULATED_SIZES] = {{1, 1, 2}, {1, 1, 8},  {1, 4, 8},
                                                         {2, 8, 8}, {2, 16, 8}, {4, 32, 8}};
const unsigned simulated_workers[SIMULATED_SIZES] = {2, 8, 32, 128, 256, 1024};

double simulated_work(unsigned size, bool dry, unsigned ms) {
    static const struct load busy = {"busy", .fibers = 32, .run = 1000},
                             idle = {"partly idle", .fibers = 8, .run = 2000, .sleep = 16000};
    static const struct rule rule = {"weft", true, true};
    struct outcome out;
    simulate(&machines[size], dry ? &idle : &busy, &rule, ms * UINT64_C(1000000), 1, &out);
    free(out.wait);
    return out.work;
}
