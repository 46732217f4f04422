/* SPDX-License-Identifier: MIT */
/* Shared by the tests of fork and join. */
#ifndef WEFT_TESTS_TASKS_H
#define WEFT_TESTS_TASKS_H

#include "fiber.h"

/* A task that counts that it has run. */
static inline void add_one(void *p) { ADD((int *)p, 1); }

/* The same as a typed task, and a task that spawns n of them. */
WEFT_VOID_TASK_1(count_typed, int *, n) { ADD(n, 1); }
WEFT_VOID_TASK_2(flat, int, n, int *, ran) {
    for (int i = 0; i < n; i++) WEFT_SPAWN(count_typed, ran);
    for (int i = 0; i < n; i++) WEFT_SYNC(count_typed);
}

#endif
