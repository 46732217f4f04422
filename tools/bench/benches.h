/* The benchmarks that every system runs; each is described in the file of its name. */
#ifndef BENCH_BENCHES_H
#define BENCH_BENCHES_H

#include "measure.h"

measure_fn bench_yield, bench_cycle, bench_churn, bench_create, bench_pingpong, bench_memory, bench_work, bench_wake,
    bench_sleep, bench_sleepers, bench_transfer, bench_starve, bench_rescue, bench_locality;

#endif
