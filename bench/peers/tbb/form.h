/* SPDX-License-Identifier: MIT */
/*
 * Forks of oneTBB: a task group a frame. The names are explained in tools/bench/forkjoin/forkjoin.h.
 */
#ifndef BENCH_FORM_H
#define BENCH_FORM_H

#include "measure.h"
#include "plain.h"

#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_group.h>

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

/* how: 0 the automatic partitioner, 1 the simple one, 2 the static one. */
#define FORM_LOOPS_OUTSIDE false
static inline void form_prepare(unsigned) {}
static inline void form_for(size_t n, unsigned how, void (*body)(size_t, size_t)) {
    tbb::blocked_range<size_t> all{0, n};
    auto call = [=](const tbb::blocked_range<size_t> &r) { body(r.begin(), r.end()); };
    switch (how) {
    case 0: tbb::parallel_for(all, call, tbb::auto_partitioner{}); break;
    case 1: tbb::parallel_for(all, call, tbb::simple_partitioner{}); break;
    default: tbb::parallel_for(all, call, tbb::static_partitioner{}); break;
    }
}
static inline void form_sleep(uint64_t nanoseconds) { pause_ns(nanoseconds); }

#endif
