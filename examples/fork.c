/* SPDX-License-Identifier: MIT */
/*
 * Fork and join: the sum of an array, by halves.
 *
 * weft_task_fork says that a call may run from now on, here or on another worker; weft_task_join returns when
 * it has run. If no other worker took it, the join is a plain call. So fork freely: a fork and a join
 * cost a few nanoseconds, and only idle workers take anything.
 */
#include "weft.h"

#include <stdio.h>
#include <stdlib.h>

/* The argument and the result of a call. They live in the frame of the function that forks. */
struct range {
    const int *first, *last;
    long sum;
};

static void sum(void *arg) {
    struct range *r = arg;
    if (r->last - r->first <= 1000) { /* small enough: the work is worth more than the fork */
        r->sum = 0;
        for (const int *p = r->first; p < r->last; p++) r->sum += *p;
        return;
    }
    const int *middle = r->first + (r->last - r->first) / 2;
    struct range left = {r->first, middle, 0}, right = {middle, r->last, 0};
    struct weft_task task;
    if (weft_task_fork(&task, sum, &left)) abort();
    sum(&right);                        /* the other half we do ourselves */
    if (weft_task_join(&task)) abort(); /* left.sum can be read now */
    r->sum = left.sum + right.sum;
}

enum { N = 4 * 1000 * 1000 };

static int run(void *unused) {
    (void)unused;
    int *numbers = malloc(N * sizeof *numbers);
    if (!numbers) return 1;
    for (int i = 0; i < N; i++) numbers[i] = i % 10;

    struct range all = {numbers, numbers + N, 0};
    sum(&all);

    struct weft_stats stats;
    weft_stats_read(&stats);
    printf("the sum of %d numbers is %ld; %llu of the forked calls ran on another worker\n", N, all.sum,
           (unsigned long long)stats.tasks_stolen);
    free(numbers);
    return all.sum == N / 10 * 45L ? 0 : 1;
}

int main(void) { return weft_run(run, NULL, NULL); }
