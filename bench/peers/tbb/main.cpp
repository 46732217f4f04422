/* SPDX-License-Identifier: MIT */
/*
 * oneTBB as a measuring program: the fork-join benchmarks, its own sort, scan and reduction, and those of the C++
 * library that run on oneTBB (std::execution::par).
 */
#include "forkjoin.h"
#include "sorting.h"
#include "sums.h"
#include "system.h"

#include <algorithm>
#include <execution>
#include <functional>
#include <numeric>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_reduce.h>
#include <oneapi/tbb/parallel_scan.h>
#include <oneapi/tbb/parallel_sort.h>
#include <oneapi/tbb/task_arena.h>

void sys_run(const struct args *args, measure_fn *run, struct result *result) {
    int workers = static_cast<int>(arg(args, "workers"));
    tbb::global_control limit{tbb::global_control::max_allowed_parallelism, static_cast<size_t>(workers)};
    tbb::task_arena arena{workers};
    arena.execute([&] { run(args, result); });
}

static const auto by_pointer = [](const uint32_t *a, const uint32_t *b) { return *a < *b; };
static const auto par = std::execution::par;

static void sort(void) { tbb::parallel_sort(sorting_data, sorting_data + sorting_count); }
static void sort_std(void) { std::sort(par, sorting_data, sorting_data + sorting_count); }
static void sort_stable(void) { std::stable_sort(par, sorting_data, sorting_data + sorting_count); }
static void pointers(void) { tbb::parallel_sort(sorting_pointers, sorting_pointers + sorting_count, by_pointer); }
static void pointers_std(void) { std::sort(par, sorting_pointers, sorting_pointers + sorting_count, by_pointer); }
static void pointers_stable(void) {
    std::stable_sort(par, sorting_pointers, sorting_pointers + sorting_count, by_pointer);
}
WORKLOAD(sort, sorting_prepare, sorting_reset, sort, sorting_right, in_milliseconds)
WORKLOAD(sort_std, sorting_prepare, sorting_reset, sort_std, sorting_right, in_milliseconds)
WORKLOAD(sort_stable, sorting_prepare, sorting_reset, sort_stable, sorting_right, in_milliseconds)
WORKLOAD(pointers, sorting_prepare_pointers, sorting_reset_pointers, pointers, sorting_pointers_right, in_milliseconds)
WORKLOAD(pointers_std, sorting_prepare_pointers, sorting_reset_pointers, pointers_std, sorting_pointers_right,
         in_milliseconds)
WORKLOAD(pointers_stable, sorting_prepare_pointers, sorting_reset_pointers, pointers_stable, sorting_pointers_right,
         in_milliseconds)

using range = tbb::blocked_range<size_t>;
static void scan(void) {
    tbb::parallel_scan(
        range{0, sums_count}, UINT64_C(0),
        [](const range &r, uint64_t sum, bool writes) {
            return writes ? sums_scan(r.begin(), r.end(), sum) : sums_fold(r.begin(), r.end(), sum);
        },
        std::plus<uint64_t>{});
}
static void scan_std(void) { std::inclusive_scan(par, sums_in, sums_in + sums_count, sums_out); }
static void reduce(void) {
    sums_total = tbb::parallel_reduce(
        range{0, sums_count}, UINT64_C(0),
        [](const range &r, uint64_t sum) { return sums_fold(r.begin(), r.end(), sum); }, std::plus<uint64_t>{});
}
static void reduce_std(void) { sums_total = std::reduce(par, sums_in, sums_in + sums_count); }
WORKLOAD(scan, sums_prepare, sums_reset, scan, sums_scan_right, in_microseconds)
WORKLOAD(scan_std, sums_prepare, sums_reset, scan_std, sums_scan_right, in_microseconds)
WORKLOAD(reduce, sums_prepare, sums_reset, reduce, sums_total_right, in_microseconds)
WORKLOAD(reduce_std, sums_prepare, sums_reset, reduce_std, sums_total_right, in_microseconds)

static const struct measurement own[] = {
    {"sort", tbb_sort, false},
    {"sort-std", tbb_sort_std, false},
    {"sort-stable", tbb_sort_stable, false},
    {"pointers", tbb_pointers, false},
    {"pointers-std", tbb_pointers_std, false},
    {"pointers-stable", tbb_pointers_stable, false},
    {"scan", tbb_scan, false},
    {"scan-std", tbb_scan_std, false},
    {"reduce", tbb_reduce, false},
    {"reduce-std", tbb_reduce_std, false},
    {NULL, NULL, false},
};

int main(int argc, char **argv) {
    const struct measurement *const tables[] = {own, tbb_measurements, NULL};
    return measure_main(argc, argv, tables);
}
