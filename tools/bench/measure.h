/* SPDX-License-Identifier: MIT */
/*
 * The common part of all measuring programs: arguments, the clock, the result line, and the few computations that must
 * be the same in every system.
 *
 * A measuring program is called as
 *
 *     PROGRAM BENCH key=value ...
 *
 * It does one measurement, and prints one line: "right" or "wrong", then a number for each metric of the benchmark. All
 * parameters are on the command line. Only the tables (registry_*.c) have them, so two systems cannot get different
 * work by mistake.
 *
 * The benchmarks beside this file use system.h. Each system has its own: weft (weft/), kernel threads and Boost.Fiber
 * (bench/peers/). Each benchmark is written once and compiled for each system, so it is both C and C++.
 */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Two cache lines: the hardware prefetches neighbours in pairs. */
#define APART __attribute__((aligned(128)))
#define NOINLINE __attribute__((noinline))

struct args {
    int count;
    char **values;
};

/* Returns the number given as key=.... Ends the program with a message if there is none. */
uint64_t arg(const struct args *args, const char *key);
uint64_t arg_or(const struct args *args, const char *key, uint64_t otherwise);
const char *arg_text(const struct args *args, const char *key, const char *otherwise);

#define RESULT_VALUES 4
struct result {
    bool right;
    double values[RESULT_VALUES]; /* in the order of the benchmark's metrics in registry.c */
};

/*
 * Adds further output: points of a curve, or counts. They follow the result line, one line each, "name x y". It may
 * allocate, so do not call it while the clock runs. Names have no spaces.
 */
void measure_sample(const char *name, double x, double y);

/* Adds quantiles of sorted values as samples: x is the percentage of values that do not exceed y. */
void measure_quantiles(const char *name, double *values, size_t count);
/* Adds quantiles of counts divided by their mean. */
void measure_served(const char *name, const uint64_t *counts, size_t count);

typedef void measure_fn(const struct args *args, struct result *result);

struct measurement {
    const char *name;
    measure_fn *run;
    bool outside; /* runs on the program's first thread, and starts the system itself if necessary */
};

/* Runs the benchmark with the name argv[1], on a fiber of the system, and prints its line. Searches the tables (ends
 * with NULL), each of which ends with a NULL name. Returns the exit code: 0, 1 for a wrong result, 2 for an unknown
 * name. */
int measure_main(int argc, char **argv, const struct measurement *const *tables);

/* Ends the program with "what: error". must() does so only if rc is a negative errno. */
void fail(const char *what, int error) __attribute__((noreturn, cold));
static inline void must(int rc, const char *what) {
    if (__builtin_expect(rc < 0, 0)) fail(what, -rc);
}

/* Allocates zeroed memory with its pages present, on separate cache lines. Never returns NULL. Free it by free(). */
void *allocate(size_t count, size_t size);

/* Makes a name in the directory for temporary files, for mkdtemp or mkostemp. */
#define SCRATCH_SIZE 256
void scratch_name(char name[SCRATCH_SIZE]);

uint64_t clock_ns(void);
void pause_ns(uint64_t nanoseconds); /* blocks the kernel thread */

/* Gives the calling thread the last processor for itself, and the other threads of the process the rest. Does nothing
 * on a machine with one processor. */
void keep_apart(void);

/* A thread that sets a flag after some time. The measured time is from `began` to `ended`. */
struct alarm_clock {
    APART int rung;
    APART uint64_t began, ended;
    uint64_t milliseconds;
    pthread_t thread;
};
void alarm_start(struct alarm_clock *alarm, uint64_t milliseconds);
void alarm_join(struct alarm_clock *alarm);
static inline bool alarm_rung(const struct alarm_clock *alarm) {
    return __atomic_load_n(&alarm->rung, __ATOMIC_RELAXED);
}

/*
 * A kernel thread that sleeps briefly again and again, and records the longest time by which it overslept. For that
 * time the machine stood still for all programs, so benchmarks subtract it from their largest delay. The thread sleeps
 * because a thread that spins on the clock would take a processor from the measured program. So it detects a machine
 * that stands still, but not a worker that had to share its processor with another program.
 */
struct control {
    APART int over;
    uint64_t worst; /* ns */
    pthread_t thread;
};
void control_start(struct control *control);
uint64_t control_stop(struct control *control); /* returns `worst`, in ns */
static inline double without_control(double value, double control) { return value > control ? value - control : 0; }

double median(double *values, size_t count); /* sorts them */
double percentile(double *values, size_t count,
                  unsigned p); /* sorts them; the least that p in a hundred do not exceed */
double least_over_mean(const uint64_t *counts, size_t count);
double most_over_least(const uint64_t *counts, size_t count); /* 1e9 if a fiber got nothing */

/* Ends the program with a line if the machine does not have this much free memory. */
void memory_check(uint64_t bytes);

/* Returns the resident memory of the process with its page tables, in bytes. */
uint64_t memory_now(void);

/* xorshift64*: the state must not be 0. */
static inline uint32_t random_next(uint64_t *state) {
    uint64_t x = *state;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *state = x;
    return (uint32_t)((x * UINT64_C(2685821657736338717)) >> 32);
}

static inline size_t random_below(uint64_t *state, size_t n) {
    return (size_t)(((uint64_t)random_next(state) * n) >> 32);
}

/*
 * Integer work with a known outcome: `steps` steps of a linear congruential generator. work_expected computes the same
 * by repeated squaring.
 */
uint64_t work_done(uint64_t seed, uint64_t steps);
uint64_t work_expected(uint64_t seed, uint64_t steps);

#ifdef __cplusplus
}
#endif
#endif
