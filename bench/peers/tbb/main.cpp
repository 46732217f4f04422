/*
 * oneTBB as a measuring program: the fork-join benchmarks, and its own parallel sort.
 */
#include "forkjoin.h"
#include "sorting.h"
#include "system.h"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_sort.h>
#include <oneapi/tbb/task_arena.h>

void sys_run(const struct args *args, measure_fn *run, struct result *result) {
    int workers = static_cast<int>(arg(args, "workers"));
    tbb::global_control limit{tbb::global_control::max_allowed_parallelism, static_cast<size_t>(workers)};
    tbb::task_arena arena{workers};
    arena.execute([&] { run(args, result); });
}

/* sort: the library's. */
static void sort(void) { tbb::parallel_sort(sorting_data, sorting_data + sorting_count); }
WORKLOAD(sort, sorting_prepare, sorting_reset, sort, sorting_right, in_milliseconds)

static const struct measurement own[] = {{"sort", tbb_sort, false}, {NULL, NULL, false}};

int main(int argc, char **argv) {
    const struct measurement *const tables[] = {own, tbb_measurements, NULL};
    return measure_main(argc, argv, tables);
}
