/* SPDX-License-Identifier: MIT */
/*
 * idle: the CPU time of a runtime without work. The workers have run fibers before.
 *
 *   seconds=
 *
 * Metric: ms of CPU time of the whole process.
 */
#include "own.h"
#include "system.h"

#include <sys/resource.h>

#define FIBERS 1000
#define SETTLE UINT64_C(20000000) /* ns for the workers to fall asleep */

static double cpu_ms(void) {
    struct rusage u;
    if (getrusage(RUSAGE_SELF, &u)) fail("getrusage", errno);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3 +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e3;
}

static void *count(void *p) {
    __atomic_fetch_add((unsigned *)p, 1, __ATOMIC_RELAXED);
    return NULL;
}

void own_idle(const struct args *args, struct result *result) {
    struct weft_config config = sys_config(args);
    struct sys_fiber fibers[FIBERS];
    unsigned ran = 0;
    must(weft_start(&config), "weft_start");
    for (int i = 0; i < FIBERS; i++) sys_spawn(&fibers[i], count, &ran);
    for (int i = 0; i < FIBERS; i++) sys_join(&fibers[i]);
    pause_ns(SETTLE);

    double before = cpu_ms();
    pause_ns(arg(args, "seconds") * WEFT_SECOND);
    result->values[0] = cpu_ms() - before;
    result->right = ran == FIBERS && weft_workers() == config.workers && !weft_stop();
}
