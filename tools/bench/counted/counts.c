/* SPDX-License-Identifier: MIT */
/*
 * weft, built to count its atomic operations (base/atomic.h), as a separate measuring program. It is several times
 * slower, so it reports no times.
 *
 * counts: runs a benchmark once.
 *
 *   work=    fib (without a cut-off), matmul, or mail: loops of which each piece is mailed to a worker
 *   n=       the argument of fib, lines of the matrices, or tasks of a loop
 *   deque=   the kind of deque
 *
 * Metrics, each for a thousand forks or mailed tasks: full fences; locked instructions; steals that found nothing;
 * transfers of cache lines between threads.
 *
 * The transfers are those of weft's atomic variables in caches of unlimited size: a thread that reads a line gets a
 * copy, unless it has one; a thread that writes a line removes all other copies. Arguments and results of tasks are
 * plain variables, and are not counted.
 */
#include "own.h"
#include "system.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

_Atomic unsigned long counted_fences, counted_locked;
static _Atomic unsigned long transfers;

#define LINES ((size_t)1 << 20) /* lines of 64 bytes; lines whose addresses have the same low bits count as one */
#define LEAF 16                 /* lines of a matrix that is not divided further */
#define LOOPS 106               /* loops in a run of `latency` */
#define MAIL 13                 /* the value of how= with which `latency` mails each piece to a worker: loop.h */

static _Atomic uint64_t copies[LINES]; /* a bit for each thread that has a copy */
static _Atomic unsigned threads;

static uint64_t own_bit(void) {
    static _Thread_local uint64_t bit;
    if (!bit) bit = UINT64_C(1) << atomic_fetch_add(&threads, 1) % 64;
    return bit;
}

static _Atomic uint64_t *copies_of(const volatile void *p) { return &copies[(uintptr_t)p / 64 % LINES]; }

static void transferred(void) { atomic_fetch_add_explicit(&transfers, 1, memory_order_relaxed); }

void counted_read(const volatile void *p) {
    uint64_t bit = own_bit(), had = atomic_load_explicit(copies_of(p), memory_order_relaxed);
    if (had & bit) return;
    atomic_fetch_or_explicit(copies_of(p), bit, memory_order_relaxed);
    if (had) transferred();
}

void counted_write(const volatile void *p) {
    uint64_t bit = own_bit(), had = atomic_load_explicit(copies_of(p), memory_order_relaxed);
    if (had == bit) return;
    atomic_store_explicit(copies_of(p), bit, memory_order_relaxed);
    if (had) transferred();
}

measure_fn typed_fib, typed_matmul, typed_latency;

static double fib_forks(uint64_t n) {
    uint64_t a = 0, b = 1; /* fib(n), fib(n + 1) */
    for (; n; n--) {
        uint64_t sum = a + b;
        a = b;
        b = sum;
    }
    return (double)(b - 1);
}

/* Counts forks: each product that is larger than a leaf forks six of its eight parts. */
static double matmul_forks(uint64_t n) {
    double forks = 0, products = 1;
    for (; n > LEAF; n /= 2, products *= 8) forks += 6 * products;
    return forks;
}

static double mailed(uint64_t n) { return (double)(n * LOOPS); }

static const struct work {
    const char *name;
    measure_fn *run;
    double (*units)(uint64_t n);
    const char *words[4];
} works[] = {
    {"fib", typed_fib, fib_forks, {"ms=0", "cutoff=0"}},
    {"matmul", typed_matmul, matmul_forks, {"ms=0", "leaf=16"}},
    {"mail", typed_latency, mailed, {"pause=0", "work=20", "how=13"}},
};

static const struct work *find_work(const char *name) {
    for (size_t i = 0; i < sizeof works / sizeof *works; i++)
        if (!strcmp(works[i].name, name)) return &works[i];
    fail(name, EINVAL);
}

#define WORDS 32

static void counts(const struct args *args, struct result *result) {
    struct weft_stats before, after;
    const struct work *work = find_work(arg_text(args, "work", "fib"));
    char tasks[32];
    char *words[WORDS];
    struct args once = {0, words}; /* the first value of a key counts */
    snprintf(tasks, sizeof tasks, "tasks=%lu", (unsigned long)arg(args, "n"));
    words[once.count++] = tasks;
    for (size_t i = 0; i < 4 && work->words[i]; i++) words[once.count++] = (char *)work->words[i];
    for (int i = 0; i < args->count && once.count < WORDS; i++)
        if (strncmp(args->values[i], "work=", 5)) words[once.count++] = args->values[i];
    must(weft_stats_read(&before), "weft_stats");
    unsigned long fences = counted_fences, locked = counted_locked, moved = transfers;
    work->run(&once, result);
    fences = counted_fences - fences;
    locked = counted_locked - locked;
    moved = transfers - moved;
    must(weft_stats_read(&after), "weft_stats");
    double thousands = work->units(arg(args, "n")) / 1000;
    uint64_t tried = after.steals_tried - before.steals_tried;
    uint64_t took = after.steals - before.steals + after.tasks_stolen - before.tasks_stolen;
    result->values[0] = (double)fences / thousands;
    result->values[1] = (double)locked / thousands;
    result->values[2] = (double)(tried > took ? tried - took : 0) / thousands;
    result->values[3] = (double)moved / thousands;
}

static const struct measurement own[] = {{"counts", counts, false}, {NULL, NULL, false}};

int main(int argc, char **argv) {
    const struct measurement *const tables[] = {own, NULL};
    return measure_main(argc, argv, tables);
}
