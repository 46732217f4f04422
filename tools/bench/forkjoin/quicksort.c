/* SPDX-License-Identifier: MIT */
/*
 * quicksort: sorts count= numbers, one half forked. grain=: the largest part that is sorted serially.
 *
 * Metric: ms.
 */
#include "forkjoin.h"
#include "sorting.h"

static size_t grain;

TASK_2(int, sort, uint32_t *, data, size_t, count) {
    if (count <= grain) {
        uint64_t began = leaf_begin();
        sorting_run(data, count);
        leaf_end(began);
        return 0;
    }
    uint64_t began = leaf_begin();
    size_t at = sorting_partition(data, count);
    leaf_end(began);
    FRAME;
    SLOT(sort, left);
    FORK(left, sort, data, at);
    CALL(sort, data + at + 1, count - at - 1);
    SYNC;
    (void)JOIN(left, sort);
    return 0;
}

static void prepare(const struct args *args) {
    grain = arg(args, "grain");
    leaf_prepare(args);
    sorting_prepare(args);
}

static void compute(void) { ROOT(sort, sorting_data, sorting_count); }

WORKLOAD(quicksort, prepare, sorting_reset, compute, sorting_right, in_milliseconds)
