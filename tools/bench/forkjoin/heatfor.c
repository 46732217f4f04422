/* SPDX-License-Identifier: MIT */
/*
 * heatfor: diffusion of heat on a square of side=, in steps= steps. Each step is a loop over the lines of the square,
 * and ends before the next step begins: many short loops over the same memory.
 *
 *   how=  how the system divides the loop; see its form.h
 *
 * Metric: ms.
 */
#include "square.h"

static unsigned how;

/* Computes lines [first + 1, last + 1). The lines at the edges do not change. */
static void lines(size_t first, size_t last) { kernel_heat(now, after, side, first + 1, last + 1); }

static void prepare(const struct args *args) {
    how = (unsigned)arg_or(args, "how", 0);
    prepare_square(args);
    form_prepare((unsigned)arg(args, "workers"));
}

static void compute(void) {
    for (size_t i = 0; i < steps; i++, turn()) form_for(side - 2, how, lines);
}

WORKLOAD(heatfor, prepare, reset, compute, right, in_milliseconds)
