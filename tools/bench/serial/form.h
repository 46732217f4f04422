/* SPDX-License-Identifier: MIT */
/*
 * Forks that are plain calls: the cost of a program without a runtime. tools/bench/forkjoin/forkjoin.h explains the
 * names. workers= is the number of processes that do the same work at the same time. They share nothing, so they show
 * what the machine can give to that many.
 */
#ifndef BENCH_FORM_H
#define BENCH_FORM_H

#include "measure.h"

#include "plain.h"

#define FORM(name) serial_##name

#define FRAME
#define FORK(s, f, ...) ((s) = f(__VA_ARGS__))
#define SYNC

/* form_begin waits until all processes are ready; form_over tells whether all have measured enough. */
void form_begin(void);
bool form_over(void);

#define FORM_LOOPS_OUTSIDE false
static inline void form_prepare(unsigned workers) { (void)workers; }
static inline void form_for(size_t n, unsigned how, void (*body)(size_t, size_t)) {
    (void)how;
    body(0, n);
}
static inline void form_sleep(uint64_t nanoseconds) { pause_ns(nanoseconds); }

#endif
