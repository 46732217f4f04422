/*
 * heatfor: how warmth spreads over a square of side=, in steps= steps. Each step is a loop over the lines of the
 * square, and ends before the next one begins: many short loops over the same memory.
 *
 *   how=  how the system is to cut the loop; see its form.h
 *
 * Metric: ms.
 */
#include "forkjoin.h"
#include "kernels.h"

#include <string.h>

static size_t side, steps;
static unsigned how;
static double *start, *now, *after, *wanted;

/* Lines [first + 1, last + 1): those at the edge stay as they are. */
static void lines(size_t first, size_t last) { kernel_heat(now, after, side, first + 1, last + 1); }

static void turn(void) {
    double *t = now;
    now = after;
    after = t;
}

static void reset(void) {
    memcpy(now, start, side * side * sizeof *now);
    memcpy(after, start, side * side * sizeof *after);
}

static void prepare(const struct args *args) {
    uint64_t random = 1;
    side = arg(args, "side");
    steps = arg(args, "steps");
    how = (unsigned)arg_or(args, "how", 0);
    if (side < 3) fail("side", EINVAL);
    start = (double *)allocate(side * side, sizeof *start);
    now = (double *)allocate(side * side, sizeof *now);
    after = (double *)allocate(side * side, sizeof *after);
    wanted = (double *)allocate(side * side, sizeof *wanted);
    for (size_t i = 0; i < side * side; i++) start[i] = (double)random_below(&random, 1000);
    reset();
    for (size_t i = 0; i < steps; i++, turn()) lines(0, side - 2);
    memcpy(wanted, now, side * side * sizeof *wanted);
    form_prepare((unsigned)arg(args, "workers"));
}

static void compute(void) {
    for (size_t i = 0; i < steps; i++, turn()) form_for(side - 2, how, lines);
}

static bool right(void) { return !memcmp(now, wanted, side * side * sizeof *now); }

WORKLOAD(heatfor, prepare, reset, compute, right, in_milliseconds)
