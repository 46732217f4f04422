/* SPDX-License-Identifier: MIT */
/*
 * Fork and join: the sum of an array, by halves.
 *
 * weft_task_fork allows a call to run from now on, on this worker or another. weft_task_join returns when the call has
 * run. If no other worker took the call, the join is a plain call. So fork freely: a fork and a join cost a few
 * nanoseconds, and only idle workers take calls.
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
    if (r->last - r->first <= 1000) { /* small enough: a fork would cost more than it gains */
        r->sum = 0;
        for (const int *p = r->first; p < r->last; p++) r->sum += *p;
        return;
    }
    const int *middle = r->first + (r->last - r->first) / 2;
    struct range left = {r->first, middle, 0}, right = {middle, r->last, 0};
    struct weft_task task;
    if (weft_task_fork(&task, sum, &left)) abort();
    sum(&right);                        /* this fiber does the other half itself */
    if (weft_task_join(&task)) abort(); /* now left.sum can be read */
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
