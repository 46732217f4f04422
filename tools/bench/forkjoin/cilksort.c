/* SPDX-License-Identifier: MIT */
/*
 * cilksort: sorts count= numbers by quarters, which are merged in pairs. The merge is forked, too, as in Cilk's
 * example. grain=: the largest part that is sorted or merged serially.
 *
 * Metric: ms.
 */
#include "forkjoin.h"
#include "sorting.h"

static size_t grain;

/* Returns how many numbers are less than x. */
static size_t below(const uint32_t *data, size_t count, uint32_t x) {
    size_t first = 0;
    while (count) {
        size_t half = count / 2;
        if (data[first + half] < x) {
            first += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    return first;
}

/* Two sorted runs. */
struct runs {
    const uint32_t *a, *b;
    size_t a_count, b_count;
};

TASK_2(int, merge, const struct runs *, runs, uint32_t *, to) {
    struct runs r = *runs;
    if (r.a_count < r.b_count) r = (struct runs){r.b, r.a, r.b_count, r.a_count};
    if (r.a_count + r.b_count <= grain) {
        sorting_merge(r.a, r.a_count, r.b, r.b_count, to);
        return 0;
    }
    size_t half = r.a_count / 2, cut = below(r.b, r.b_count, r.a[half]);
    struct runs low = {r.a, r.b, half, cut};
    struct runs high = {r.a + half, r.b + cut, r.a_count - half, r.b_count - cut};
    const struct runs *first = &low;
    FRAME;
    SLOT(merge, lower);
    FORK(lower, merge, first, to);
    CALL(merge, &high, to + half + cut);
    SYNC;
    (void)JOIN(lower, merge);
    return 0;
}

TASK_3(int, sort, uint32_t *, data, uint32_t *, room, size_t, count) {
    if (count <= grain) {
        sorting_run(data, count);
        return 0;
    }
    size_t quarter = count / 4, half = quarter * 2;
    {
        FRAME;
        SLOT(sort, first);
        SLOT(sort, second);
        SLOT(sort, third);
        FORK(first, sort, data, room, quarter);
        FORK(second, sort, data + quarter, room + quarter, quarter);
        FORK(third, sort, data + half, room + half, quarter);
        CALL(sort, data + half + quarter, room + half + quarter, count - half - quarter);
        SYNC;
        (void)JOIN(third, sort);
        (void)JOIN(second, sort);
        (void)JOIN(first, sort);
    }
    {
        struct runs low = {data, data + quarter, quarter, quarter};
        struct runs high = {data + half, data + half + quarter, quarter, count - half - quarter};
        const struct runs *first = &low;
        FRAME;
        SLOT(merge, lower);
        FORK(lower, merge, first, room);
        CALL(merge, &high, room + half);
        SYNC;
        (void)JOIN(lower, merge);
    }
    struct runs all = {room, room + half, half, count - half};
    CALL(merge, &all, data);
    return 0;
}

static void prepare(const struct args *args) {
    grain = arg(args, "grain");
    sorting_prepare(args);
}

static void compute(void) { ROOT(sort, sorting_data, sorting_room, sorting_count); }

WORKLOAD(cilksort, prepare, sorting_reset, compute, sorting_right, in_milliseconds)
