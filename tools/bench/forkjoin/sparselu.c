/* SPDX-License-Identifier: MIT */
/*
 * sparselu: the LU decomposition of a sparse matrix of blocks= by blocks= blocks of size= lines, as in the Barcelona
 * OpenMP task suite. Each step forks a task for each block of a line and a column, joins them, and then forks a task
 * for each block below and to the right.
 *
 * Metric: ms.
 */
#include "forkjoin.h"
#include "kernels.h"

#include <stdlib.h>
#include <string.h>

#define BLOCKS_MOST 64

static size_t blocks, size;
static double *start, *wanted; /* all blocks, including empty ones */
static double *matrix;         /* the matrix that is being decomposed */
static bool present[BLOCKS_MOST][BLOCKS_MOST], present_at_first[BLOCKS_MOST][BLOCKS_MOST];

static double *block(size_t i, size_t j) { return matrix + (i * blocks + j) * size * size; }

TASK_2(int, forward, const double *, diagonal, double *, column) {
    kernel_forward(diagonal, column, size);
    return 0;
}
TASK_2(int, divide, const double *, diagonal, double *, row) {
    kernel_divide(diagonal, row, size);
    return 0;
}
TASK_3(int, modify, const double *, row, const double *, column, double *, inner) {
    kernel_modify(row, column, inner, size);
    return 0;
}

TASK_1(int, edges, size_t, k) {
    FRAME;
    SLOT(forward, forwards[BLOCKS_MOST]);
    SLOT(divide, divisions[BLOCKS_MOST]);
    size_t f = 0, d = 0;
    for (size_t j = k + 1; j < blocks; j++)
        if (present[k][j]) {
            FORK(forwards[f], forward, block(k, k), block(k, j));
            f++;
        }
    for (size_t i = k + 1; i < blocks; i++)
        if (present[i][k]) {
            FORK(divisions[d], divide, block(k, k), block(i, k));
            d++;
        }
    SYNC;
    for (; d; d--) (void)JOIN(divisions[d - 1], divide);
    for (; f; f--) (void)JOIN(forwards[f - 1], forward);
    return 0;
}

TASK_1(int, inner, size_t, k) {
    FRAME;
    static SLOT(modify, slots[BLOCKS_MOST * BLOCKS_MOST]); /* for one step at a time; too many for a stack */
    size_t n = 0;
    for (size_t i = k + 1; i < blocks; i++)
        for (size_t j = k + 1; j < blocks; j++)
            if (present[i][k] && present[k][j]) {
                present[i][j] = true;
                FORK(slots[n], modify, block(i, k), block(k, j), block(i, j));
                n++;
            }
    SYNC;
    for (; n; n--) (void)JOIN(slots[n - 1], modify);
    return 0;
}

static void compute(void) {
    for (size_t k = 0; k < blocks; k++) {
        kernel_decompose(block(k, k), size);
        (void)ROOT(edges, k);
        (void)ROOT(inner, k);
    }
}

static void reset(void) {
    memcpy(matrix, start, blocks * blocks * size * size * sizeof *matrix);
    memcpy(present, present_at_first, sizeof present);
}

/* Decomposes the whole matrix without blocks. Zeros stay zeros, so the result is the same. */
static void decompose_all(double *m) {
    size_t n = blocks * size;
    double *whole = (double *)allocate(n * n, sizeof *whole);
    for (int back = 0; back < 2; back++) {
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++) {
                double *here = whole + i * n + j;
                double *there = m + (i / size * blocks + j / size) * size * size + i % size * size + j % size;
                if (back)
                    *there = *here;
                else
                    *here = *there;
            }
        if (!back) kernel_decompose(whole, n);
    }
    free(whole);
}

/* The pattern of the suite: the diagonal, its neighbours, and about an eighth of the other blocks. */
static bool begins_present(size_t i, size_t j) {
    if (i == j || i + 1 == j || j + 1 == i) return true;
    if ((i < j && i % 3 != 0) || (i > j && j % 3 != 0)) return false;
    return i % 2 != 1 && j % 2 != 1;
}

static void prepare(const struct args *args) {
    uint64_t random = 1;
    blocks = arg(args, "blocks");
    size = arg(args, "size");
    if (blocks > BLOCKS_MOST) fail("blocks", EINVAL);
    size_t all = blocks * blocks * size * size;
    start = (double *)allocate(all, sizeof *start);
    wanted = (double *)allocate(all, sizeof *wanted);
    matrix = (double *)allocate(all, sizeof *matrix);
    for (size_t i = 0; i < blocks; i++)
        for (size_t j = 0; j < blocks; j++) {
            double *at = start + (i * blocks + j) * size * size;
            present_at_first[i][j] = begins_present(i, j);
            for (size_t e = 0; present_at_first[i][j] && e < size * size; e++)
                at[e] = (double)random_below(&random, 1000) / 1000;
            if (i == j)
                for (size_t e = 0; e < size; e++) at[e * size + e] += (double)(blocks * size);
        }
    memcpy(wanted, start, all * sizeof *wanted);
    decompose_all(wanted);
}

/* Compares with a tolerance: the blocks add up in another order than the plain decomposition. */
static bool right(void) {
    for (size_t i = 0; i < blocks * blocks * size * size; i++) {
        double difference = matrix[i] - wanted[i];
        if (difference > 1e-9 || difference < -1e-9) return false;
    }
    return true;
}

WORKLOAD(sparselu, prepare, reset, compute, right, in_milliseconds)
