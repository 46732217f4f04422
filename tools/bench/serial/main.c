/* SPDX-License-Identifier: MIT */
/*
 * Plain serial C as a measuring program, with one or several processes: the yardstick of the fork-join benchmarks. With
 * several processes, a time is that of one computation if they share the work without loss: 1 / (1/t1 + 1/t2 + ...).
 */
#include "forkjoin.h"
#include "sorting.h"
#include "system.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define COPIES_MOST 64

static struct shared {
    unsigned copies;
    unsigned ready, enough; /* atomic */
    struct result results[COPIES_MOST];
} * shared;
static bool said_enough;

/* Spins, so that no process must be woken when all begin. */
void form_begin(void) {
    __atomic_fetch_add(&shared->ready, 1, __ATOMIC_RELAXED);
    while (__atomic_load_n(&shared->ready, __ATOMIC_RELAXED) < shared->copies) {
    }
}

bool form_over(void) {
    if (!said_enough) __atomic_fetch_add(&shared->enough, 1, __ATOMIC_RELAXED);
    said_enough = true;
    return __atomic_load_n(&shared->enough, __ATOMIC_RELAXED) == shared->copies;
}

void sys_run(const struct args *args, measure_fn *run, struct result *result) {
    unsigned copies = (unsigned)arg(args, "workers"), copy = 0;
    if (copies > COPIES_MOST) fail("workers", EINVAL);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) fail("mmap", errno);
    shared->copies = copies;
    while (copy + 1 < copies) {
        pid_t child = fork();
        if (child < 0) fail("fork", errno);
        if (child > 0) break;
        copy++;
    }
    run(args, &shared->results[copy]);
    int status = 0; /* each process but the last has one child, which makes the next */
    if (copy + 1 < copies && (wait(&status) < 0 || status)) exit(1);
    if (copy > 0) _exit(0);

    double rate = 0;
    result->right = true;
    for (unsigned i = 0; i < copies; i++) {
        rate += 1 / shared->results[i].values[0];
        result->right &= shared->results[i].right;
    }
    result->values[0] = 1 / rate;
}

static int compare(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* The workload `sort`: the C library's qsort. */
static void sort(void) { qsort(sorting_data, sorting_count, sizeof *sorting_data, compare); }
WORKLOAD(sort, sorting_prepare, sorting_reset, sort, sorting_right, in_milliseconds)

static const struct measurement own[] = {{"sort", serial_sort, false}, {NULL, NULL, false}};

int main(int argc, char **argv) {
    const struct measurement *const tables[] = {own, serial_measurements, NULL};
    return measure_main(argc, argv, tables);
}
