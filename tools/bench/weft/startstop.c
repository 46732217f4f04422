/* SPDX-License-Identifier: MIT */
/*
 * startstop: start the runtime and stop it again. The first time is not measured.
 * Metric: us for both.
 */
#include "own.h"
#include "system.h"

void own_startstop(const struct args *args, struct result *result) {
    struct weft_config config = sys_config(args);
    uint64_t rounds = 0, began = 0, ended;
    uint64_t limit = arg(args, "ms") * WEFT_MILLISECOND;
    result->right = true;
    do {
        must(weft_start(&config), "weft_start");
        result->right &= weft_workers() == config.workers;
        must(weft_stop(), "weft_stop");
        ended = clock_ns();
        if (began)
            rounds++;
        else
            began = ended;
    } while (ended - began < limit);
    result->values[0] = (double)(ended - began) / (double)rounds / 1e3;
}
