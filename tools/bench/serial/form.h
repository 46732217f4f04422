/* SPDX-License-Identifier: MIT */
/*
 * Forks that are calls: what a program without any runtime takes. The names are explained in
 * tools/bench/forkjoin/forkjoin.h. workers= is the number of processes that do the same at the same
 * time: what the machine gives to that many, without anything that they have to agree upon.
 */
#ifndef BENCH_FORM_H
#define BENCH_FORM_H

#include "measure.h"

#include "plain.h"

#define FORM(name) serial_##name

#define FRAME
#define FORK(s, f, ...) ((s) = f(__VA_ARGS__))
#define SYNC

/* All processes are ready; all have measured enough. */
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
