/* SPDX-License-Identifier: MIT */
/*
 * A crowd: many fibers that each repeat an operation until an alarm rings, and count. yield, cycle and churn share it.
 * system.h says what a fiber is.
 *
 * The caller's clock starts when all fibers wait at the gate, because making a thousand kernel threads takes a tenth of
 * the measured time.
 */
#ifndef BENCH_CROWD_H
#define BENCH_CROWD_H

#include "baton.h"

struct crowd;

struct seat {
    APART uint64_t count; /* written by crowd_leave */
    unsigned left;        /* how often the fiber left: 1 in a correct system */
    size_t index;
    struct crowd *crowd;
    struct baton baton; /* the gate; free for other use after the fiber has passed it */
    struct sys_fiber fiber;
};

struct crowd {
    struct alarm_clock alarm;
    size_t size;
    struct seat *seats;
    uint64_t *counts; /* the counts of all seats */
    uint64_t total;
    double seconds; /* from the opening of the gate to the alarm */
    bool right;     /* each fiber left exactly once */
    void *own;      /* data of the benchmark */
};

/*
 * Spawns `size` fibers that run body(seat). A body begins by waiting for its seat's baton and ends by crowd_leave().
 * The caller hands over the baton of every `step`th seat, lets the alarm ring, and joins the fibers.
 */
void crowd_run_with(struct crowd *crowd, bool bare, size_t size, size_t step, uint64_t milliseconds,
                    void *(*body)(void *));
static inline void crowd_run(struct crowd *crowd, size_t size, size_t step, uint64_t milliseconds,
                             void *(*body)(void *)) {
    crowd_run_with(crowd, false, size, step, milliseconds, body);
}
void crowd_free(struct crowd *crowd);

static inline bool crowd_stopped(const struct crowd *crowd) { return alarm_rung(&crowd->alarm); }

static inline void crowd_leave(struct seat *seat, uint64_t count) {
    seat->count = count;
    seat->left++;
}

#endif
