/* SPDX-License-Identifier: MIT */
/* See benches.h. */
#include "benches.h"

/* The measurements that every system has. wake is not among them, because not every system can be woken by a thread
 * outside. */
const struct measurement bench_fibers[] = {
    {"yield", bench_yield, false},
    {"cycle", bench_cycle, false},
    {"churn", bench_churn, false},
    {"create", bench_create, false},
    {"pingpong", bench_pingpong, false},
    {"memory", bench_memory, false},
    {"work", bench_work, false},
    {"sleep", bench_sleep, false},
    {"sleepers", bench_sleepers, false},
    {"transfer", bench_transfer, false},
    {"starve", bench_starve, false},
    {"rescue", bench_rescue, false},
    {"locality", bench_locality, false},
    {"mutex", bench_mutex, false},
    {"mutex-alone", bench_mutex_alone, false},
    {"chan-trip", bench_chan_trip, false},
    {"ring", bench_ring, false},
    {"chan-stream", bench_chan_stream, false},
    {NULL, NULL, false},
};
