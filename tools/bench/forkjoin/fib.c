/* SPDX-License-Identifier: MIT */
/*
 * fib: recursive Fibonacci numbers with one fork and one call for each node. Measures the cost of a fork.
 *
 *   n=        the argument  cutoff=  nothing is forked below this; 0: everything is forked
 *   leaf=     steps of integer work in nodes that do not fork
 *   per=      fork: the metric is ns for each fork; all: ms
 *   threads=  1: report the computing time of each thread, see forkjoin.h
 */
#include "forkjoin.h"

#include <string.h>

static unsigned n, cutoff;
static uint64_t got, wanted, leaf;
static bool per_fork;

/* Computes the result in another way than the measured code. */
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

static NOINLINE uint64_t at_leaf(unsigned k) {
    uint64_t began = leaf_begin();
    uint64_t sum = alone(k);
    if (leaf && work_done(k, leaf) == 0) sum++; /* never true, but the compiler does not know that */
    leaf_end(began);
    return sum;
}

TASK_2(uint64_t, upper, unsigned, k, unsigned, below) {
    if (k < below) return at_leaf(k);
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
    leaf = arg_or(args, "leaf", 0);
    per_fork = !strcmp(arg_text(args, "per", "all"), "fork");
    leaf_prepare(args);
    wanted = expected(n);
}

/* The smallest argument that forks. Arguments below 2 cannot be divided. */
static unsigned below(void) { return cutoff < 2 ? 2 : cutoff; }

static void compute(void) { got = cutoff || leaf ? ROOT(upper, n, below()) : ROOT(every, n); }
static bool right(void) { return got == wanted; }

/* Returns the number of forks: each node that is not below the cut-off forks once. */
static double unit(void) {
    double forks[2] = {0, 0};
    if (!per_fork) return 1e6;
    for (unsigned k = below(); k <= n; k++) {
        double next = 1 + forks[0] + forks[1];
        forks[0] = forks[1];
        forks[1] = next;
    }
    return forks[1] > 0 ? forks[1] : 1;
}

WORKLOAD(fib, prepare, NULL, compute, right, unit)
