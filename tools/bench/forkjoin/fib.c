/* SPDX-License-Identifier: MIT */
/*
 * fib: Fibonacci numbers the slow way, one fork and one call a node: what a fork costs.
 *
 *   n=        which      cutoff=  below this nothing is forked; 0: all is, and the metric is ns a fork
 *
 * Metric: ns a fork in all, or ms.
 */
#include "forkjoin.h"

static unsigned n, cutoff;
static uint64_t got, wanted;

/* Computed in another way than the measured code. */
static uint64_t expected(unsigned k) {
    uint64_t a = 0, b = 1;
    while (k--) {
        uint64_t sum = a + b;
        a = b;
        b = sum;
    }
    return a;
}

TASK_1(uint64_t, every, unsigned, k) {
    if (k < 2) return k;
    FRAME;
    SLOT(every, left);
    FORK(left, every, k - 1);
    uint64_t right = CALL(every, k - 2);
    SYNC;
    return JOIN(left, every) + right;
}

static uint64_t alone(unsigned k) { return k < 2 ? k : alone(k - 1) + alone(k - 2); }

TASK_2(uint64_t, upper, unsigned, k, unsigned, below) {
    if (k < below) return alone(k);
    FRAME;
    SLOT(upper, left);
    FORK(left, upper, k - 1, below);
    uint64_t right = CALL(upper, k - 2, below);
    SYNC;
    return JOIN(left, upper) + right;
}

static void prepare(const struct args *args) {
    n = (unsigned)arg(args, "n");
    cutoff = (unsigned)arg(args, "cutoff");
    wanted = expected(n);
}

static void compute(void) { got = cutoff ? ROOT(upper, n, cutoff) : ROOT(every, n); }
static bool right(void) { return got == wanted; }

/* A node with k >= 2 forks once, and there are fib(n + 1) - 1 of those. */
static double unit(void) { return cutoff ? 1e6 : (double)(expected(n + 1) - 1); }

WORKLOAD(fib, prepare, NULL, compute, right, unit)
