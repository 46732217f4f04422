/* SPDX-License-Identifier: MIT */
/*
 * The library's own prefix sums and reductions, of count= numbers.
 *
 *   scan      weft_scan: two functions of the program that process a piece       reduce   weft_reduce, likewise
 *   scan-by   weft_scan_inclusive: the operation is a call for each element
 *   scan-in   weft/scan.h: the operation is inlined                              reduce-in   likewise
 *
 * Metric: us.
 */
#include "sums.h"
#include "forkjoin.h"

#define WEFT_SCAN_NAME sum_of
#define WEFT_SCAN_TYPE uint64_t
#define WEFT_SCAN_IDENTITY 0
#define WEFT_SCAN_OPERATION(a, b, arg) ((a) + (b))
#include "weft/scan.h"

static int fold(size_t begin, size_t end, void *value, void *arg) {
    (void)arg;
    *(uint64_t *)value = sums_fold(begin, end, *(uint64_t *)value);
    return 0;
}
static int scan_piece(size_t begin, size_t end, void *value, void *arg) {
    (void)arg;
    *(uint64_t *)value = sums_scan(begin, end, *(uint64_t *)value);
    return 0;
}
static void add(void *left, const void *right, void *arg) {
    (void)arg;
    *(uint64_t *)left += *(const uint64_t *)right;
}
static const uint64_t zero;
static const struct weft_prefix sum = {{sizeof zero, &zero, fold, add}, scan_piece};

static void scan(void) {
    uint64_t value = 0;
    must(weft_scan(0, sums_count, &value, &sum, NULL, NULL), "weft_scan");
}
static void scan_by(void) {
    must(weft_scan_inclusive(sums_out, sums_in, sums_count, sizeof *sums_in, &zero, add, NULL), "weft_scan_inclusive");
}
static void scan_in(void) { must(sum_of_inclusive(sums_out, sums_in, sums_count, NULL), "scan"); }
static void reduce_in(void) { must(sum_of_reduce(&sums_total, sums_in, sums_count, NULL), "reduce"); }
static void reduce(void) { must(weft_reduce(0, sums_count, &sums_total, &sum.reduction, NULL, NULL), "weft_reduce"); }

WORKLOAD(scan, sums_prepare, sums_reset, scan, sums_scan_right, in_microseconds)
WORKLOAD(scan_by, sums_prepare, sums_reset, scan_by, sums_scan_right, in_microseconds)
WORKLOAD(reduce, sums_prepare, sums_reset, reduce, sums_total_right, in_microseconds)
WORKLOAD(scan_in, sums_prepare, sums_reset, scan_in, sums_scan_right, in_microseconds)
WORKLOAD(reduce_in, sums_prepare, sums_reset, reduce_in, sums_total_right, in_microseconds)
