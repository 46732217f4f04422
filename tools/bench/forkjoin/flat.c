/* SPDX-License-Identifier: MIT */
/*
 * flat: one task forks tasks= tasks that do next to nothing before it joins the first.
 *
 * Metric: ns for each task.
 */
#include "forkjoin.h"

TASK_1(uint64_t, twice, uint64_t, x) { return 2 * x; }

static twice_slot *slots;
static uint64_t tasks, got;

TASK_1(uint64_t, many, uint64_t, count) {
    uint64_t sum = 0;
    FRAME;
    for (uint64_t i = 0; i < count; i++) FORK(slots[i], twice, i);
    SYNC;
    for (uint64_t i = count; i > 0; i--) sum += JOIN(slots[i - 1], twice);
    return sum;
}

static void prepare(const struct args *args) {
    tasks = arg(args, "tasks");
    slots = (twice_slot *)allocate(tasks, sizeof *slots);
}

static void compute(void) { got = ROOT(many, tasks); }
static bool right(void) { return got == tasks * (tasks - 1); }
static double unit(void) { return (double)tasks; }

WORKLOAD(flat, prepare, NULL, compute, right, unit)
