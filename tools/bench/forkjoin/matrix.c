/* SPDX-License-Identifier: MIT */
/* See matrix.h. */
#include "matrix.h"

#include <string.h>

size_t matrix_size;
double *matrix_a, *matrix_b, *matrix_c, *matrix_wanted;

NOINLINE void matrix_multiply(double *__restrict c, size_t c_stride, const double *__restrict a, size_t a_stride,
                              const double *__restrict b, size_t b_stride, size_t size) {
    for (size_t i = 0; i < size; i++)
        for (size_t k = 0; k < size; k++) {
            double factor = a[i * a_stride + k];
            for (size_t j = 0; j < size; j++) c[i * c_stride + j] += factor * b[k * b_stride + j];
        }
}

void matrix_prepare(const struct args *args) {
    uint64_t random = 1;
    size_t n = matrix_size = arg(args, "n");
    if (n & (n - 1)) fail("n", EINVAL);
    memory_check(4 * sizeof(double) * n * n);
    matrix_a = (double *)allocate(n * n, sizeof(double));
    matrix_b = (double *)allocate(n * n, sizeof(double));
    matrix_c = (double *)allocate(n * n, sizeof(double));
    matrix_wanted = (double *)allocate(n * n, sizeof(double));
    for (size_t i = 0; i < n * n; i++) {
        matrix_a[i] = (double)random_below(&random, 19) - 9;
        matrix_b[i] = (double)random_below(&random, 19) - 9;
    }
    matrix_multiply(matrix_wanted, n, matrix_a, n, matrix_b, n, n);
}

bool matrix_right(void) { return !memcmp(matrix_c, matrix_wanted, matrix_size * matrix_size * sizeof *matrix_c); }
