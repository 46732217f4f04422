/* SPDX-License-Identifier: MIT */
/*
 * Shared by the benchmarks on matrices: square matrices of doubles that hold small whole numbers, so that sums are
 * exact in any order.
 */
#ifndef BENCH_MATRIX_H
#define BENCH_MATRIX_H

#include "measure.h"

#ifdef __cplusplus
extern "C" {
#endif

extern size_t matrix_size; /* n=, a power of two */
extern double *matrix_a, *matrix_b, *matrix_c, *matrix_wanted;

/* Fills a and b, and computes their product by three loops. */
void matrix_prepare(const struct args *args);
bool matrix_right(void); /* is c the product? */

/* c += a * b for matrices of `size` lines and columns. A stride is the distance between lines. */
void matrix_multiply(double *c, size_t c_stride, const double *a, size_t a_stride, const double *b, size_t b_stride,
                     size_t size);

#ifdef __cplusplus
}
#endif
#endif
