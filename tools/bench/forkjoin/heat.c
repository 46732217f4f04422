/* SPDX-License-Identifier: MIT */
/*
 * heat: diffusion of heat on a square of side=, in steps= steps. Each step forks strips= strips and joins them before
 * the next step. A strip in the middle third takes four times as long, so half of the strips is not half of the work.
 *
 * Metric: ms.
 */
#include "square.h"

#define STRIPS_MOST 256

static size_t strips;

TASK_3(int, strip, const double *, from, double *, to, size_t, which) {
    size_t inner = side - 2;
    int times = which >= strips / 3 && which < strips - strips / 3 ? 4 : 1;
    while (times--) kernel_heat(from, to, side, 1 + inner * which / strips, 1 + inner * (which + 1) / strips);
    return 0;
}

TASK_2(int, step, const double *, from, double *, to) {
    FRAME;
    SLOT(strip, slots[STRIPS_MOST]);
    for (size_t i = 0; i < strips; i++) FORK(slots[i], strip, from, to, i);
    SYNC;
    for (size_t i = strips; i > 0; i--) (void)JOIN(slots[i - 1], strip);
    return 0;
}

static void prepare(const struct args *args) {
    strips = arg(args, "strips");
    if (strips > STRIPS_MOST) fail("strips", EINVAL);
    prepare_square(args);
}

static void compute(void) {
    for (size_t i = 0; i < steps; i++, turn()) ROOT(step, now, after);
}

WORKLOAD(heat, prepare, reset, compute, right, in_milliseconds)
