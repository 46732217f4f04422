/* SPDX-License-Identifier: MIT */
/*
 * mergesort: sorts count= numbers. One half is forked; the two halves are merged serially. grain=: the largest part
 * that is sorted serially.
 *
 * Metric: ms.
 */
#include "forkjoin.h"
#include "sorting.h"

static size_t grain;

/* Sorts `data`. The result is in `data` or, if `away`, in `room`. */
TASK_4(int, sort, uint32_t *, data, uint32_t *, room, size_t, count, bool, away) {
    if (count <= grain) {
        sorting_run(data, count);
        if (away) sorting_merge(data, count, data, 0, room);
        return 0;
    }
    size_t half = count / 2;
    FRAME;
    SLOT(sort, left);
    FORK(left, sort, data, room, half, !away);
    CALL(sort, data + half, room + half, count - half, !away);
    SYNC;
    (void)JOIN(left, sort);
    uint32_t *from = away ? data : room, *to = away ? room : data;
    sorting_merge(from, half, from + half, count - half, to);
    return 0;
}

static void prepare(const struct args *args) {
    grain = arg(args, "grain");
    sorting_prepare(args);
}

static void compute(void) { ROOT(sort, sorting_data, sorting_room, sorting_count, false); }

WORKLOAD(mergesort, prepare, sorting_reset, compute, sorting_right, in_milliseconds)
