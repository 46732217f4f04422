/*
 * heat: how warmth spreads over a square of side=, in steps= steps. Each step is a fork for each of
 * strips= strips, joined before the next step. A strip in the middle third takes four times as long:
 * halves of the strips are not halves of the work.
 *
 * Metric: ms.
 */
#include "forkjoin.h"
#include "kernels.h"

#include <stdlib.h>
#include <string.h>

#define STRIPS_MOST 256

static size_t side, strips, steps;
static double *start, *now, *after, *wanted;

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

static void turn(void) {
    double *t = now;
    now = after;
    after = t;
}

static void reset(void) {
    memcpy(now, start, side * side * sizeof *now);
    memcpy(after, start, side * side * sizeof *after); /* its edge stays as it is */
}

static void prepare(const struct args *args) {
    uint64_t random = 1;
    side = arg(args, "side");
    strips = arg(args, "strips");
    steps = arg(args, "steps");
    if (strips > STRIPS_MOST || side < 3) fail("strips", EINVAL);
    start = (double *)allocate(side * side, sizeof *start);
    now = (double *)allocate(side * side, sizeof *now);
    after = (double *)allocate(side * side, sizeof *after);
    wanted = (double *)allocate(side * side, sizeof *wanted);
    for (size_t i = 0; i < side * side; i++) start[i] = (double)random_below(&random, 1000);
    reset();
    for (size_t i = 0; i < steps; i++, turn()) kernel_heat(now, after, side, 1, side - 1);
    memcpy(wanted, now, side * side * sizeof *wanted);
}

static void compute(void) {
    for (size_t i = 0; i < steps; i++, turn()) ROOT(step, now, after);
}

static bool right(void) { return !memcmp(now, wanted, side * side * sizeof *now); }

WORKLOAD(heat, prepare, reset, compute, right, in_milliseconds)
