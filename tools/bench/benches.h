/* SPDX-License-Identifier: MIT */
/* The benchmarks that every system of fibers runs. The file with its name describes each. */
#ifndef BENCH_BENCHES_H
#define BENCH_BENCHES_H

#include "measure.h"

measure_fn bench_yield, bench_cycle, bench_churn, bench_create, bench_pingpong, bench_memory, bench_work, bench_wake,
    bench_sleep, bench_sleepers, bench_transfer, bench_starve, bench_rescue, bench_locality, bench_mutex,
    bench_mutex_alone, bench_rwlock, bench_chan_trip, bench_chan_stream, bench_ring;

extern const struct measurement bench_fibers[]; /* all but wake and rwlock: not every system can
                                                   be woken from outside, or has such locks */

#endif
