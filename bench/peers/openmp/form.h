/* SPDX-License-Identifier: MIT */
/*
 * Forks of OpenMP: tasks that a frame waits for all at once. The names are explained in
 * tools/bench/forkjoin/forkjoin.h. Compiled by gcc it runs on libgomp, by clang on LLVM's libomp.
 */
#ifndef BENCH_FORM_H
#define BENCH_FORM_H

#include "measure.h"

#include "plain.h"

#include <omp.h>

#define FORM(name) openmp_##name

#define FRAME
#define FORK(s, f, ...) \
    do { \
        f##_slot *slot_ = &(s); \
        _Pragma("omp task firstprivate(slot_)") *slot_ = f(__VA_ARGS__); \
    } while (0)
#define SYNC _Pragma("omp taskwait")

static inline void form_begin(void) {}
static inline bool form_over(void) { return true; }

/* how: 0 static, 1 dynamic, 16 at a time, 2 guided, 3 dynamic, one at a time. */
#define FORM_LOOPS_OUTSIDE true
static int form_workers __attribute__((unused));
static inline void form_prepare(unsigned workers) { form_workers = (int)workers; }
static inline void form_for(size_t n, unsigned how, void (*body)(size_t, size_t)) {
    static const omp_sched_t kinds[] = {omp_sched_static, omp_sched_dynamic, omp_sched_guided, omp_sched_dynamic};
    omp_set_schedule(kinds[how], how == 1 ? 16 : how == 0 ? 0 : 1);
#pragma omp parallel for num_threads(form_workers) schedule(runtime)
    for (size_t i = 0; i < n; i++) body(i, i + 1);
}
static inline void form_sleep(uint64_t nanoseconds) { pause_ns(nanoseconds); }

#endif
