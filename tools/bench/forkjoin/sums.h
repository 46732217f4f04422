/* SPDX-License-Identifier: MIT */
/*
 * What the prefix sums and the reductions share: count= numbers of 64 bits, and whether the sums are right. Sums are
 * those of integers, so they do not depend on where a system puts the brackets.
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
void sums_reset(void);       /* forgets the results */
bool sums_scan_right(void);  /* sums_out holds the sum up to and including each element */
bool sums_total_right(void); /* sums_total holds the sum of all elements */

/* Over elements [begin, end): their sum, and `sum`; sums_scan also stores the sums that it passes. */
uint64_t sums_fold(size_t begin, size_t end, uint64_t sum);
uint64_t sums_scan(size_t begin, size_t end, uint64_t sum);

#ifdef __cplusplus
}
#endif
#endif
