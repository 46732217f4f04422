/* SPDX-License-Identifier: MIT */
/* See kernels.h. */
#include "kernels.h"

void kernel_heat(const double *from, double *to, size_t side, size_t first, size_t last) {
    for (size_t i = first; i < last; i++)
        for (size_t j = 1; j + 1 < side; j++) {
            size_t at = i * side + j;
            to[at] = from[at] + 0.2 * (from[at - 1] + from[at + 1] + from[at - side] + from[at + side] - 4 * from[at]);
        }
}

void kernel_decompose(double *diagonal, size_t size) {
    for (size_t k = 0; k < size; k++)
        for (size_t i = k + 1; i < size; i++) {
            double factor = diagonal[i * size + k] /= diagonal[k * size + k];
            for (size_t j = k + 1; j < size; j++) diagonal[i * size + j] -= factor * diagonal[k * size + j];
        }
}

void kernel_forward(const double *diagonal, double *column, size_t size) {
    for (size_t k = 0; k < size; k++)
        for (size_t i = k + 1; i < size; i++) {
            double factor = diagonal[i * size + k];
            for (size_t j = 0; j < size; j++) column[i * size + j] -= factor * column[k * size + j];
        }
}

void kernel_divide(const double *diagonal, double *row, size_t size) {
    for (size_t i = 0; i < size; i++)
        for (size_t k = 0; k < size; k++) {
            double factor = row[i * size + k] /= diagonal[k * size + k];
            for (size_t j = k + 1; j < size; j++) row[i * size + j] -= factor * diagonal[k * size + j];
        }
}

void kernel_modify(const double *row, const double *column, double *inner, size_t size) {
    for (size_t i = 0; i < size; i++)
        for (size_t k = 0; k < size; k++) {
            double factor = row[i * size + k];
            for (size_t j = 0; j < size; j++) inner[i * size + j] -= factor * column[k * size + j];
        }
}
