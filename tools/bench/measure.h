/* SPDX-License-Identifier: MIT */
/*
 * What a measuring program needs besides the thing it measures: its arguments, the clock, the
 * result line, and the few computations that have to be the same in every system.
 *
 * A measuring program is called as
 *
 *     PROGRAM BENCH key=value ...
 *
 * does one measurement, and prints one line: "right" or "wrong", then a number for each metric of
 * the benchmark. All parameters stand on the command line; the table in registry.c is the only
 * place that knows them, so no two systems can be given different work by mistake.
 *
 * The benchmarks beside this file are written against system.h, and there is one of those for each
 * system: weft (weft/), kernel threads and Boost.Fiber (bench/peers/). One body, compiled once for
 * each. They therefore keep to what is both C and C++.
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

/* The number given as key=...; the program ends with a message when there is none. */
uint64_t arg(const struct args *args, const char *key);
uint64_t arg_or(const struct args *args, const char *key, uint64_t otherwise);
const char *arg_text(const struct args *args, const char *key, const char *otherwise);

#define RESULT_VALUES 4
struct result {
    bool right;
    double values[RESULT_VALUES]; /* in the order of the benchmark's metrics in registry.c */
};

/*
 * More than the few values: points of a curve, a count of what happened. They follow the result line, one line each,
 * "name x y". Not while the clock runs: it may allocate. Names have no spaces.
 */
void measure_sample(const char *name, double x, double y);

/* The quantiles of the values, which are sorted, as samples: x is the percentage that does not exceed y. */
void measure_quantiles(const char *name, double *values, size_t count);
/* The same of what each was served, over the mean. */
void measure_served(const char *name, const uint64_t *counts, size_t count);

typedef void measure_fn(const struct args *args, struct result *result);

struct measurement {
    const char *name;
    measure_fn *run;
    bool outside; /* runs on the program's first thread, and starts the system itself if it needs it */
};

/* Runs the benchmark that argv[1] names, on a fiber of the system, and prints its line. Looks through the
 * tables (NULL: no more), each of which ends with a NULL name. Returns the exit code: 0, 1 for a wrong
 * result, 2 for a name that is not there. */
int measure_main(int argc, char **argv, const struct measurement *const *tables);

/* Ends the program: "what: error". With must(), only when rc is a negative errno. */
void fail(const char *what, int error) __attribute__((noreturn, cold));
static inline void must(int rc, const char *what) {
    if (__builtin_expect(rc < 0, 0)) fail(what, -rc);
}

/* Zeroed memory, its pages present, on cache lines of its own. Never NULL; free() it. */
void *allocate(size_t count, size_t size);

/* A name in the directory for temporary files, which mkdtemp or mkostemp completes. */
#define SCRATCH_SIZE 256
void scratch_name(char name[SCRATCH_SIZE]);

uint64_t clock_ns(void);
void pause_ns(uint64_t nanoseconds); /* blocks the kernel thread */

/* The calling thread has the last processor to itself, and the others of the process all the rest;
 * nothing happens where there is but one. */
void keep_apart(void);

/* A thread that raises a flag after a while. What is measured runs from `began` to `ended`. */
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
 * A kernel thread that sleeps a little, again and again, and notes by how much it overslept at
 * worst: so long the machine was away, whatever runs on it. What a benchmark calls its largest
 * delay is without that. It sleeps, because a thread that reads the clock all the time would take a
 * processor from what is measured; so it sees a machine that stands still, and not whether one of
 * the workers had to share its processor with another program.
 */
struct control {
    APART int over;
    uint64_t worst; /* ns */
    pthread_t thread;
};
void control_start(struct control *control);
uint64_t control_stop(struct control *control); /* ns; returns `worst` */
static inline double without_control(double value, double control) { return value > control ? value - control : 0; }

double median(double *values, size_t count); /* sorts them */
double percentile(double *values, size_t count,
                  unsigned p); /* sorts them; the least that p in a hundred do not exceed */
double least_over_mean(const uint64_t *counts, size_t count);
double most_over_least(const uint64_t *counts, size_t count); /* 1e9 if a fiber got nothing */

/* Ends the program with a line if the machine does not have this much free memory. */
void memory_check(uint64_t bytes);

/* Resident memory of the process and its page tables, in bytes. */
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
 * Integer work with an outcome that is known without doing it: `steps`
 * steps of a linear congruential generator, and the same by repeated squaring.
 */
uint64_t work_done(uint64_t seed, uint64_t steps);
uint64_t work_expected(uint64_t seed, uint64_t steps);

#ifdef __cplusplus
}
#endif
#endif
