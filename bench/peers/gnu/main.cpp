/* SPDX-License-Identifier: MIT */
/*
 * The parallel mode of GNU's C++ library as a measuring program: its sorts, partial sums and sums. They run on
 * libgomp, and open a parallel region each, so they are called by the program's first thread.
 */
#include "forkjoin.h"
#include "sorting.h"
#include "sums.h"
#include "system.h"

#include <parallel/algorithm>
#include <parallel/numeric>

void sys_run(const struct args *, measure_fn *, struct result *) { fail("sys_run", ENOSYS); }

static const auto by_pointer = [](const uint32_t *a, const uint32_t *b) { return *a < *b; };

static void set_workers(const struct args *args) {
    omp_set_dynamic(0);
    omp_set_num_threads(static_cast<int>(arg(args, "workers")));
}
static void prepare(const struct args *args) { set_workers(args), sorting_prepare(args); }
static void prepare_pointers(const struct args *args) { set_workers(args), sorting_prepare_pointers(args); }
static void prepare_sums(const struct args *args) { set_workers(args), sums_prepare(args); }

static void sort(void) { __gnu_parallel::sort(sorting_data, sorting_data + sorting_count); }
static void sort_stable(void) { __gnu_parallel::stable_sort(sorting_data, sorting_data + sorting_count); }
static void sort_quick(void) {
    __gnu_parallel::sort(sorting_data, sorting_data + sorting_count, __gnu_parallel::balanced_quicksort_tag{});
}
static void pointers(void) { __gnu_parallel::sort(sorting_pointers, sorting_pointers + sorting_count, by_pointer); }
static void pointers_stable(void) {
    __gnu_parallel::stable_sort(sorting_pointers, sorting_pointers + sorting_count, by_pointer);
}
static void pointers_quick(void) {
    __gnu_parallel::sort(sorting_pointers, sorting_pointers + sorting_count, by_pointer,
                         __gnu_parallel::balanced_quicksort_tag{});
}
WORKLOAD(sort, prepare, sorting_reset, sort, sorting_right, in_milliseconds)
WORKLOAD(sort_stable, prepare, sorting_reset, sort_stable, sorting_right, in_milliseconds)
WORKLOAD(sort_quick, prepare, sorting_reset, sort_quick, sorting_right, in_milliseconds)
WORKLOAD(pointers, prepare_pointers, sorting_reset_pointers, pointers, sorting_pointers_right, in_milliseconds)
WORKLOAD(pointers_stable, prepare_pointers, sorting_reset_pointers, pointers_stable, sorting_pointers_right,
         in_milliseconds)
WORKLOAD(pointers_quick, prepare_pointers, sorting_reset_pointers, pointers_quick, sorting_pointers_right,
         in_milliseconds)

static void scan(void) { __gnu_parallel::partial_sum(sums_in, sums_in + sums_count, sums_out); }
static void reduce(void) { sums_total = __gnu_parallel::accumulate(sums_in, sums_in + sums_count, UINT64_C(0)); }
WORKLOAD(scan, prepare_sums, sums_reset, scan, sums_scan_right, in_microseconds)
WORKLOAD(reduce, prepare_sums, sums_reset, reduce, sums_total_right, in_microseconds)

static const struct measurement own[] = {
    {"sort", openmp_sort, true},
    {"sort-stable", openmp_sort_stable, true},
    {"sort-quick", openmp_sort_quick, true},
    {"pointers", openmp_pointers, true},
    {"pointers-stable", openmp_pointers_stable, true},
    {"pointers-quick", openmp_pointers_quick, true},
    {"scan", openmp_scan, true},
    {"reduce", openmp_reduce, true},
    {NULL, NULL, false},
};

int main(int argc, char **argv) {
    const struct measurement *const tables[] = {own, NULL};
    return measure_main(argc, argv, tables);
}
