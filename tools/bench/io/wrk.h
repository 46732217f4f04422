/* SPDX-License-Identifier: MIT */
/* wrk, a client of HTTP that is not ours, as a process of its own. Closed loop, one thread; it checks the status alone.
 */
#ifndef BENCH_IO_WRK_H
#define BENCH_IO_WRK_H

#include <stdbool.h>
#include <stdint.h>

struct wrk {
    uint64_t requests, faults; /* faults: sockets that failed, and answers that are no success */
    double rate;               /* a second */
    double median, late;       /* us until the answer; late: the 99th percentile */
};

/* Runs wrk on the processor of the caller for this many seconds. Returns false after printing the reason if it did not
 * run, or its output is not understood. */
bool wrk_run(const char *url, unsigned connections, unsigned seconds, struct wrk *result);

#endif
