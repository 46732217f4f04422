/* SPDX-License-Identifier: MIT */
/*
 * weft, built to count what it does (base/atomic.h), as a measuring program of its own: it is several
 * times slower, so it has no times to tell.
 *
 * counts: `fib` without cut-off, once.
 *
 *   n=  which      deque=  the kind of deque
 *
 * Metrics, each a thousand forks: full fences; locked instructions; steals that found nothing.
 */
#include "own.h"
#include "system.h"

_Atomic unsigned long counted_fences, counted_locked;

#define WORDS 32

measure_fn typed_fib;

static void counts(const struct args *args, struct result *result) {
    struct weft_stats before, after;
    uint64_t a = 0, b = 1; /* of fib(n), fib(n + 1) */
    for (uint64_t n = arg(args, "n"); n; n--) {
        uint64_t sum = a + b;
        a = b;
        b = sum;
    }
    char *words[WORDS] = {"ms=0", "cutoff=0"}; /* once; the first of a name counts */
    struct args once = {2, words};
    for (int i = 0; i < args->count && once.count < WORDS; i++) words[once.count++] = args->values[i];
    must(weft_stats_read(&before), "weft_stats");
    unsigned long fences = counted_fences, locked = counted_locked;
    typed_fib(&once, result);
    fences = counted_fences - fences;
    locked = counted_locked - locked;
    must(weft_stats_read(&after), "weft_stats");
    double forks = (double)(b - 1) / 1000;
    uint64_t tried = after.steals_tried - before.steals_tried;
    uint64_t took = after.steals - before.steals + after.tasks_stolen - before.tasks_stolen;
    result->values[0] = (double)fences / forks;
    result->values[1] = (double)locked / forks;
    result->values[2] = (double)(tried > took ? tried - took : 0) / forks;
}

static const struct measurement own[] = {{"counts", counts, false}, {NULL, NULL, false}};

int main(int argc, char **argv) {
    const struct measurement *const tables[] = {own, NULL};
    return measure_main(argc, argv, tables);
}
