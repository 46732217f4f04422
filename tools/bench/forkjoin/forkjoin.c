/* SPDX-License-Identifier: MIT */
/* The fork-join benchmarks of one form: their table, and how each is measured. See forkjoin.h. */
#include "forkjoin.h"

#define REPEATS_MOST 1000

void FORM(measure)(const struct workload *workload, const struct args *args, struct result *result) {
    static double times[REPEATS_MOST];
    uint64_t limit = arg(args, "ms") * 1000000, span = 0;
    size_t count = 0;
    bool counts = false;
    workload->prepare(args);
    result->right = true;
    form_begin();
    do {
        if (workload->reset) workload->reset();
        uint64_t began = clock_ns();
        workload->compute();
        uint64_t took = clock_ns() - began;
        result->right &= workload->right();
        if (counts && span < limit && count < REPEATS_MOST) {
            times[count++] = (double)took;
            span += took;
        }
        counts = true;
    } while ((span < limit && count < REPEATS_MOST) || !form_over());
    result->values[0] = median(times, count) / workload->unit();
}

#define EACH_TREE(of) \
    of(fib) of(nqueens) of(knapsack) of(matmul) of(strassen) of(cilksort) of(quicksort) of(mergesort) of(pi) of(heat) \
        of(bfs) of(flat) of(efficiency) of(sparselu)
#define EACH_LOOP(of) of(loops) of(latency) of(heatfor)
#define DECLARE(name) measure_fn FORM(name);
#define TREE(name) {#name, FORM(name), false},
#define LOOP(name) {#name, FORM(name), FORM_LOOPS_OUTSIDE},

EACH_TREE(DECLARE)
EACH_LOOP(DECLARE)
const struct measurement FORM(measurements)[] = {EACH_TREE(TREE) EACH_LOOP(LOOP){NULL, NULL, false}};
