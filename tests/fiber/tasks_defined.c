/* SPDX-License-Identifier: MIT */
/* See tasks_many.h. */
#include "tasks_many.h"

WEFT_TASK_DEFINE_1(long, across, int, n) {
    if (n < 2) return n;
    WEFT_SPAWN(across, n - 1);
    long b = WEFT_CALL(across, n - 2);
    return WEFT_SYNC(across) + b;
}
WEFT_VOID_TASK_DEFINE_2(across_store, long *, to, long, value) { *to = value; }
WEFT_TASK_DEFINE_0(int, across_nothing) { return 1; }
