/* SPDX-License-Identifier: MIT */
/* The fork-join benchmarks of one form: their table, and how each is measured. See forkjoin.h. */
#include "forkjoin.h"

#define REPEATS_MOST 1000

#define THREADS 1024

bool FORM(leaf_traced);
static struct { APART uint64_t computed; } threads[THREADS];
static unsigned known;

/* Not inlined: after a fork the caller may continue on another thread, so the compiler must not keep a thread-local
 * address. */
NOINLINE void FORM(leaf_note)(uint64_t nanoseconds) {
    static __thread unsigned mine; /* index + 1 */
    if (!mine) mine = __atomic_add_fetch(&known, 1, __ATOMIC_RELAXED);
    if (mine <= THREADS) threads[mine - 1].computed += nanoseconds;
}

void FORM(leaf_tell)(uint64_t span, uint64_t workers) {
    uint64_t all = 0;
    for (unsigned i = 0; i < known && i < THREADS; i++) {
        measure_sample("computed", i, (double)threads[i].computed / (double)span);
        all += threads[i].computed;
    }
    if (all) measure_sample("overhead", 0, (double)(span * workers) / (double)all);
}

void FORM(measure)(const struct workload *workload, const struct args *args, struct result *result) {
    static double times[REPEATS_MOST];
    uint64_t limit = arg(args, "ms") * 1000000, span = 0;
    size_t count = 0;
    bool counts = false;
    uint64_t ran = 0;
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
        if (!counts)
            for (unsigned i = 0; i < THREADS; i++) threads[i].computed = 0;
        else
            ran += took;
        counts = true;
    } while ((span < limit && count < REPEATS_MOST) || !form_over());
    result->values[0] = median(times, count) / workload->unit();
    if (FORM(leaf_traced)) FORM(leaf_tell)(ran, arg(args, "workers"));
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
