/* SPDX-License-Identifier: MIT */
/*
 * OpenMP as a measuring program: the fork-join benchmarks, on the runtime of the compiler.
 */
#include "forkjoin.h"
#include "system.h"

/* One thread of the team measures. The others take tasks while they wait for it at the end. */
void sys_run(const struct args *args, measure_fn *run, struct result *result) {
    int workers = (int)arg(args, "workers");
#pragma omp parallel num_threads(workers)
#pragma omp single
    run(args, result);
}

int main(int argc, char **argv) {
    const struct measurement *const tables[] = {openmp_measurements, NULL};
    return measure_main(argc, argv, tables);
}
