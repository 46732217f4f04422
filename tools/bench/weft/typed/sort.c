/* SPDX-License-Identifier: MIT */
/*
 * The library's own sorts, of count= numbers in the order input= (sorting.h), or of pointers to them.
 *
 *   sort      weft/sort.h: the comparison is inlined      pointers       the same, of pointers
 *   sort-by   weft_sort: the comparison is a call         pointers-by    the same, of pointers
 *
 * Metric: ms.
 */
#include "forkjoin.h"
#include "sorting.h"

#define WEFT_SORT_NAME sort_numbers
#define WEFT_SORT_TYPE uint32_t
#define WEFT_SORT_LESS(a, b, arg) (*(a) < *(b))
#include "weft/sort.h"
#define WEFT_SORT_NAME sort_pointers
#define WEFT_SORT_TYPE const uint32_t *
#define WEFT_SORT_LESS(a, b, arg) (**(a) < **(b))
#include "weft/sort.h"

static int by_number(const void *a, const void *b, void *arg) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    (void)arg;
    return (x > y) - (x < y);
}
static int by_pointer(const void *a, const void *b, void *arg) {
    return by_number(*(const uint32_t *const *)a, *(const uint32_t *const *)b, arg);
}

static void numbers(void) { must(sort_numbers(sorting_data, sorting_count, NULL), "sort"); }
static void numbers_by(void) {
    must(weft_sort(sorting_data, sorting_count, sizeof *sorting_data, by_number, NULL), "weft_sort");
}
static void pointers(void) { must(sort_pointers(sorting_pointers, sorting_count, NULL), "sort"); }
static void pointers_by(void) {
    must(weft_sort(sorting_pointers, sorting_count, sizeof *sorting_pointers, by_pointer, NULL), "weft_sort");
}

WORKLOAD(sort, sorting_prepare, sorting_reset, numbers, sorting_right, in_milliseconds)
WORKLOAD(sort_by, sorting_prepare, sorting_reset, numbers_by, sorting_right, in_milliseconds)
WORKLOAD(pointers, sorting_prepare_pointers, sorting_reset_pointers, pointers, sorting_pointers_right, in_milliseconds)
WORKLOAD(pointers_by, sorting_prepare_pointers, sorting_reset_pointers, pointers_by, sorting_pointers_right,
         in_milliseconds)
