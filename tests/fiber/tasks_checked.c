/* SPDX-License-Identifier: MIT */
/*
 * Typed tasks with WEFT_TASK_CHECKS, on one worker. Nothing is stolen there, so without the checks nothing would notice
 * these mistakes: a missing or surplus sync in a task below another task, and a sync with the name of another task.
 */
#define WEFT_TASK_CHECKS
#include "fiber.h"

WEFT_TASK_1(uint64_t, fib, unsigned, n) {
    if (n < 2) return n;
    WEFT_SPAWN(fib, n - 1);
    uint64_t b = WEFT_CALL(fib, n - 2);
    return WEFT_SYNC(fib) + b;
}
static void check_fib(void *unused) {
    (void)unused;
    CHECK_EQ(WEFT_RUN(fib, 18), 2584);
}
TEST(right_ones) { each_size(check_fib); }

static int ran;
WEFT_VOID_TASK_0(work) { ADD(&ran, 1); }
WEFT_VOID_TASK_0(other) { ADD(&ran, 1); }
WEFT_VOID_TASK_1(forgets, int, n) {
    if (n == 3) WEFT_SPAWN(work);
}
WEFT_VOID_TASK_0(twice) {
    WEFT_SPAWN(work);
    WEFT_SYNC(work);
    WEFT_SYNC(work);
}

WEFT_VOID_TASK_0(forgotten_in_a_sync) {
    for (int i = 0; i < 5; i++) WEFT_SPAWN(forgets, i);
    for (int i = 0; i < 5; i++) WEFT_SYNC(forgets);
}
WEFT_VOID_TASK_0(forgotten_in_a_call) { WEFT_CALL(forgets, 3); }
WEFT_VOID_TASK_0(one_too_many) {
    WEFT_SPAWN(work);
    WEFT_SPAWN(twice);
    WEFT_SYNC(twice);
    WEFT_SYNC(work);
}
WEFT_VOID_TASK_0(swapped) {
    WEFT_SPAWN(work);
    WEFT_SPAWN(other);
    WEFT_SYNC(work);
    WEFT_SYNC(other);
}

static void run_forgotten_in_a_sync(void *unused) {
    (void)unused;
    WEFT_RUN(forgotten_in_a_sync);
}
static void run_forgotten_in_a_call(void *unused) {
    (void)unused;
    WEFT_RUN(forgotten_in_a_call);
}
static void run_one_too_many(void *unused) {
    (void)unused;
    WEFT_RUN(one_too_many);
}
static void run_swapped(void *unused) {
    (void)unused;
    WEFT_RUN(swapped);
}
TEST(not_synced) { check_aborts(run_forgotten_in_a_sync, "exactly what it spawned: forgets"); }
TEST(not_synced_in_a_call) { check_aborts(run_forgotten_in_a_call, "exactly what it spawned: forgets"); }
TEST(synced_twice) { check_aborts(run_one_too_many, "exactly what it spawned: twice"); }
TEST(synced_by_another_name) { check_aborts(run_swapped, "not of the task that is synced: work"); }
