/* SPDX-License-Identifier: MIT */
/*
 * latency: how long after the call each of tasks= pieces of a loop begins. Each piece takes work= us.
 *
 *   pause=  us before each loop: with 0 the workers have just worked; after thousands they sleep
 *   how=    how the system hands the pieces out; see its form.h
 *
 * Metrics: us until half of the pieces have begun; until the last has begun; both medians over the loops.
 * Samples: "start", the time of the i-th begin, median over the loops; "begun", of all pieces of all loops.
 */
#include "forkjoin.h"

#define MOST 1024

static uint64_t origin, takes, starts[MOST];

static void body(size_t begin, size_t end) {
    for (size_t i = begin; i < end; i++) {
        uint64_t now = clock_ns();
        starts[i] = now - origin;
        while (clock_ns() - now < takes) {
        }
    }
}

void FORM(latency)(const struct args *args, struct result *result) {
    enum { LOOPS = 101 };
    static double middle[LOOPS], last[LOOPS], sorted[MOST], all[LOOPS * MOST], of_loops[MOST][LOOPS];
    size_t tasks = arg(args, "tasks");
    uint64_t pause = arg(args, "pause") * 1000;
    unsigned how = (unsigned)arg_or(args, "how", 0);
    takes = arg_or(args, "work", 20) * 1000;
    if (tasks > MOST) fail("tasks", EINVAL);
    form_prepare((unsigned)arg(args, "workers"));
    result->right = true;
    for (int loop = -5; loop < LOOPS; loop++) { /* the first few loops are not measured */
        for (size_t i = 0; i < tasks; i++) starts[i] = UINT64_MAX;
        if (pause) form_sleep(pause);
        origin = clock_ns();
        form_for(tasks, how, body);
        for (size_t i = 0; i < tasks; i++) {
            result->right &= starts[i] != UINT64_MAX;
            sorted[i] = (double)starts[i] / 1e3;
        }
        if (loop < 0) continue;
        middle[loop] = median(sorted, tasks);
        last[loop] = sorted[tasks - 1];
        for (size_t i = 0; i < tasks; i++) all[(size_t)loop * tasks + i] = of_loops[i][loop] = sorted[i];
    }
    for (size_t i = 0; i < tasks; i++) measure_sample("start", (double)(i + 1), median(of_loops[i], LOOPS));
    measure_quantiles("begun", all, LOOPS * tasks);
    result->values[0] = median(middle, LOOPS);
    result->values[1] = median(last, LOOPS);
}
