/* sort: the library's own, with the comparison in line, of count= numbers. Metric: ms. */
#include "forkjoin.h"
#include "sorting.h"

#define WEFT_SORT_NAME sort_numbers
#define WEFT_SORT_TYPE uint32_t
#define WEFT_SORT_LESS(a, b, arg) (*(a) < *(b))
#include "weft/sort.h"

static void compute(void) { must(sort_numbers(sorting_data, sorting_count, NULL), "sort"); }

WORKLOAD(sort, sorting_prepare, sorting_reset, compute, sorting_right, in_milliseconds)
