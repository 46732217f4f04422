/* SPDX-License-Identifier: MIT */
/*
 * starve: all fibers but one compute for a microsecond and yield. The last fiber must run a hundred microseconds after
 * its last turn. Until then it yields, too, because sleeps are coarser than that in most systems. Then it records how
 * late it is.
 *
 *   fibers=  for each worker, including that fiber
 *
 * In a fair queue it is late by at most one round of a worker's queue: a microsecond for each fiber in it, and the
 * switches. Its lateness at the end of the measurement counts, too, so that a fiber that never ran shows.
 * Metrics: us by which it is late, the 99th percentile; the maximum, minus the time for which the machine stood still
 * (measure.h); that time.
 */
#include "benches.h"
#include "crowd.h"

#include <stdlib.h>

#define SPIN UINT64_C(1000)
#define PERIOD UINT64_C(100000)

struct starve {
    size_t samples, room;
    double *late;
};

static uint64_t spin(struct crowd *crowd) {
    uint64_t count = 0;
    do {
        uint64_t until = clock_ns() + SPIN;
        while (clock_ns() < until) {
        }
        count++;
        sys_yield();
    } while (!crowd_stopped(crowd));
    return count;
}

static uint64_t tick(struct crowd *crowd) {
    struct starve *starve = (struct starve *)crowd->own;
    uint64_t now = clock_ns();
    do {
        uint64_t due = now + PERIOD;
        do {
            sys_yield();
            now = clock_ns();
        } while (now < due && !crowd_stopped(crowd));
        if (now >= due) starve->late[starve->samples++] = (double)(now - due) / 1e3;
    } while (!crowd_stopped(crowd) && starve->samples < starve->room);
    return starve->samples;
}

static void *body(void *p) {
    struct seat *seat = (struct seat *)p;
    baton_wait(&seat->baton);
    crowd_leave(seat, (seat->index ? spin : tick)(seat->crowd));
    return NULL;
}

void bench_starve(const struct args *args, struct result *result) {
    struct starve starve;
    struct crowd crowd;
    struct control control;
    uint64_t milliseconds = arg(args, "ms");
    starve.samples = 0;
    starve.room = milliseconds * 1000000 / PERIOD + 1000; /* more than needed, because the alarm may be late */
    starve.late = (double *)allocate(starve.room, sizeof *starve.late);
    crowd.own = &starve;
    control_start(&control);
    crowd_run(&crowd, arg(args, "fibers") * arg(args, "workers"), 1, milliseconds, body);
    double away = (double)control_stop(&control) / 1e3;

    result->right = crowd.right && starve.samples;
    for (size_t i = 0; i < crowd.size; i++) result->right &= crowd.counts[i] > 0;
    result->values[0] = percentile(starve.late, starve.samples, 99);
    result->values[1] = without_control(percentile(starve.late, starve.samples, 100), away);
    result->values[2] = away;
    measure_quantiles("late", starve.late, starve.samples);
    crowd_free(&crowd);
    free(starve.late);
}
