/* SPDX-License-Identifier: MIT */
/*
 * Shared by the prefix sums and the reductions: count= numbers of 64 bits, and the check of the sums. The numbers are
 * integers, so the order of additions does not matter.
 */
#ifndef BENCH_SUMS_H
#define BENCH_SUMS_H

#include "measure.h"

#ifdef __cplusplus
extern "C" {
#endif

extern uint64_t *sums_in, *sums_out, sums_total;
extern size_t sums_count;

void sums_prepare(const struct args *args);
void sums_reset(void);       /* clears the results */
bool sums_scan_right(void);  /* does sums_out hold the sum up to and including each element? */
bool sums_total_right(void); /* does sums_total hold the sum of all elements? */

/* Returns `sum` plus the sum of elements [begin, end); sums_scan also stores the intermediate sums. */
uint64_t sums_fold(size_t begin, size_t end, uint64_t sum);
uint64_t sums_scan(size_t begin, size_t end, uint64_t sum);

#ifdef __cplusplus
}
#endif
#endif
