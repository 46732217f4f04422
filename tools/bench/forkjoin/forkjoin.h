/* SPDX-License-Identifier: MIT */
/*
 * The fork-join benchmarks. Each workload is written once, beside this file, and compiled once for each form of
 * forking: weft's typed and generic forms (tools/bench/weft/), plain calls (serial/), oneTBB and OpenMP (bench/peers/).
 * Each form has a form.h with these names:
 *
 *   TASK_n(R, f, T1, a1, ...)  begins the definition of a function of n parameters that may fork and
 *                              be forked; R is what it returns, never void
 *   FRAME;                     in a function, before its first fork
 *   SLOT(f, s);                declares s, where a fork of f is kept until it is joined; s may be an array
 *   FORK(s, f, ...)            a call of f that may run from now on
 *   CALL(f, ...)               a plain call of such a function, by such a function
 *   SYNC;                      after the last fork, before the first join: for forms that can only
 *                              wait for all forks of a frame at once
 *   JOIN(s, f)                 what that call returned; the newest fork first
 *   ROOT(f, ...)               a call by a function that is none of these
 *   FORM(name)                 a global name of this form
 *
 *   form_prepare(workers)      once, before the first of these
 *   form_for(n, how, body)     calls body(begin, end) for parts of [0, n), each index once
 *   form_sleep(ns)             the caller sleeps, and the workers have nothing to do
 *   FORM_LOOPS_OUTSIDE         whether the program's first thread must call the loops
 *
 * Arguments of a fork are not arrays, because a form may copy them. All code is both C and C++.
 *
 * A workload does the same work in every form, whichever thread runs which part. Its result is compared with the result
 * of plain serial code.
 */
#ifndef BENCH_FORKJOIN_H
#define BENCH_FORKJOIN_H

#include "measure.h"

#include "form.h"

struct workload {
    void (*prepare)(const struct args *args); /* makes the input and the expected result */
    void (*reset)(void);                      /* called before each computation; may be NULL */
    void (*compute)(void);
    bool (*right)(void);
    /* Returns the divisor, in ns, for the time of a computation: 1e6 for milliseconds, the number of forks for ns
     * each. */
    double (*unit)(void);
};

/* Repeats the computation for ms= milliseconds, after one run that does not count. The first value is the median. */
void FORM(measure)(const struct workload *workload, const struct args *args, struct result *result);

extern const struct measurement FORM(measurements)[];

/* Ends the file of a workload: defines the measurement `name`. */
#define WORKLOAD(name, prepare, reset, compute, right, unit) \
    void FORM(name)(const struct args *args, struct result *result) { \
        static const struct workload workload = {prepare, reset, compute, right, unit}; \
        FORM(measure)(&workload, args, result); \
    }

/*
 * With threads=1 a workload records how long each thread computed. It calls leaf_begin() before code without forks and
 * leaf_end() after it, on the same thread. The samples are "computed" (thread, computing time over running time of a
 * thread) and "overhead" (0, running time over computing time of all threads).
 */
extern bool FORM(leaf_traced);
void FORM(leaf_note)(uint64_t nanoseconds);
void FORM(leaf_tell)(uint64_t span, uint64_t workers);
static inline void leaf_prepare(const struct args *args) { FORM(leaf_traced) = arg_or(args, "threads", 0); }
static inline uint64_t leaf_begin(void) { return FORM(leaf_traced) ? clock_ns() : 0; }
static inline void leaf_end(uint64_t began) {
    if (began) FORM(leaf_note)(clock_ns() - began);
}

static inline double in_milliseconds(void) { return 1e6; }
static inline double in_microseconds(void) { return 1e3; }

#endif
