/*
 * Forks of oneTBB: a task group a frame. The names are explained in tools/bench/forkjoin/forkjoin.h.
 */
#ifndef BENCH_FORM_H
#define BENCH_FORM_H

#include <oneapi/tbb/task_group.h>

#include "plain.h"

#define FORM(name) tbb_##name

#define FRAME tbb::task_group frame_
#define FORK(s, f, ...) \
    do { \
        auto *slot_ = &(s); \
        frame_.run([=] { *slot_ = f(__VA_ARGS__); }); \
    } while (0)
#define SYNC frame_.wait()

static inline void form_begin(void) {}
static inline bool form_over(void) { return true; }

#endif
