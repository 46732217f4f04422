/* SPDX-License-Identifier: MIT */
/*
 * The inner loops of heat, heatfor and sparselu. They are compiled once by one compiler and linked into the program of
 * every system, so that a comparison of two systems does not compare two compilers. matrix.h, sorting.h and sums.c
 * have the inner loops of the other workloads.
 */
#ifndef BENCH_KERNELS_H
#define BENCH_KERNELS_H

#include "measure.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Computes one step of heat for lines [first, last) of a square of `side`. The range must not contain the first or last
 * line. */
void kernel_heat(const double *from, double *to, size_t side, size_t first, size_t last);

/* The four steps of a blocked LU decomposition, for square blocks of `size` lines. */
void kernel_decompose(double *diagonal, size_t size);
void kernel_forward(const double *diagonal, double *column, size_t size);
void kernel_divide(const double *diagonal, double *row, size_t size);
void kernel_modify(const double *row, const double *column, double *inner, size_t size);

#ifdef __cplusplus
}
#endif
#endif
