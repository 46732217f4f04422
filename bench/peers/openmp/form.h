/*
 * Forks of OpenMP: tasks that a frame waits for all at once. The names are explained in
 * tools/bench/forkjoin/forkjoin.h. Compiled by gcc it runs on libgomp, by clang on LLVM's libomp.
 */
#ifndef BENCH_FORM_H
#define BENCH_FORM_H

#include <stdbool.h>

#include "plain.h"

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

#endif
