/* SPDX-License-Identifier: MIT */
/*
 * matmul: the product of two matrices of n= lines, by quarters: twice four products in parallel.
 *
 *   leaf=  lines of a product that is computed serially
 *
 * Metric: ms.
 */
#include "forkjoin.h"
#include "matrix.h"

#include <string.h>

static size_t leaf;

TASK_4(int, multiply, double *, c, const double *, a, const double *, b, size_t, size) {
    size_t line = matrix_size;
    if (size <= leaf) {
        uint64_t began = leaf_begin();
        matrix_multiply(c, line, a, line, b, line, size);
        leaf_end(began);
        return 0;
    }
    size_t half = size / 2, below = half * line;
    for (int round = 0; round < 2; round++) {
        const double *left = round ? a + half : a, *upper = round ? b + below : b;
        FRAME;
        SLOT(multiply, first);
        SLOT(multiply, second);
        SLOT(multiply, third);
        FORK(first, multiply, c, left, upper, half);
        FORK(second, multiply, c + half, left, upper + half, half);
        FORK(third, multiply, c + below, left + below, upper, half);
        CALL(multiply, c + below + half, left + below, upper + half, half);
        SYNC;
        (void)JOIN(third, multiply);
        (void)JOIN(second, multiply);
        (void)JOIN(first, multiply);
    }
    return 0;
}

static void prepare(const struct args *args) {
    leaf = arg(args, "leaf");
    leaf_prepare(args);
    matrix_prepare(args);
}

static void reset(void) { memset(matrix_c, 0, matrix_size * matrix_size * sizeof *matrix_c); }
static void compute(void) { ROOT(multiply, matrix_c, matrix_a, matrix_b, matrix_size); }

WORKLOAD(matmul, prepare, reset, compute, matrix_right, in_milliseconds)
