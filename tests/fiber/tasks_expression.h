/* SPDX-License-Identifier: MIT */
/*
 * Spawns, calls and syncs of typed tasks in one expression. In whichever order the compiler evaluates them, each finds
 * the head as the previous operation has left it. Included in C and in C++, and built at every level of optimization.
 */
#include "fiber.h"

/* The usual order in an expression, and the reverse order, because compilers evaluate from different ends. */
WEFT_TASK_1(long, call_and_sync, int, n) {
    if (n < 2) return n;
    WEFT_SPAWN(call_and_sync, n - 1);
    return WEFT_CALL(call_and_sync, n - 2) + WEFT_SYNC(call_and_sync);
}
WEFT_TASK_1(long, sync_and_call, int, n) {
    if (n < 2) return n;
    WEFT_SPAWN(sync_and_call, n - 1);
    return WEFT_SYNC(sync_and_call) + WEFT_CALL(sync_and_call, n - 2);
}
WEFT_TASK_1(long, two_syncs, int, n) {
    if (n < 2) return n;
    WEFT_SPAWN(two_syncs, n - 1);
    WEFT_SPAWN(two_syncs, n - 2);
    return WEFT_SYNC(two_syncs) + WEFT_SYNC(two_syncs);
}

/* Syncs as arguments of a function, of a call and of a spawn: these are evaluated first. */
static long sum(long a, long b, long c) { return a + b + c; }
WEFT_TASK_1(long, arguments, int, n) {
    if (n < 2) return n;
    WEFT_SPAWN(arguments, n - 1);
    WEFT_SPAWN(arguments, n - 2);
    WEFT_SPAWN(arguments, 0);
    return sum(WEFT_SYNC(arguments), WEFT_SYNC(arguments), WEFT_SYNC(arguments));
}
WEFT_TASK_2(long, plus, long, a, long, b) { return a + b; }
WEFT_TASK_1(long, handed_on, int, n) {
    if (n < 2) return n;
    WEFT_SPAWN(handed_on, n - 1);
    WEFT_SPAWN(handed_on, n - 2);
    WEFT_SPAWN(plus, WEFT_SYNC(handed_on), 0);
    long b = WEFT_SYNC(plus);
    return WEFT_CALL(plus, WEFT_SYNC(handed_on), b);
}
WEFT_TASK_1(long, chosen, int, n) {
    if (n < 2) return n;
    WEFT_SPAWN(chosen, n - 1);
    return n % 2 ? WEFT_SYNC(chosen) + WEFT_CALL(chosen, n - 2) : WEFT_CALL(chosen, n - 2) + WEFT_SYNC(chosen);
}

/* A task with the largest arguments. */
WEFT_TASK_6(int64_t, six, int64_t, a, int64_t, b, int64_t, c, int64_t, d, int64_t, e, int64_t, f) {
    if (a) WEFT_SPAWN(six, 0, b, c, d, e, f);
    return a + b + c + d + e + f + (a ? WEFT_SYNC(six) : 0);
}

static void check_expressions(void *unused) {
    (void)unused;
    enum { N = 17, FIB = 1597 };
    CHECK_EQ(WEFT_RUN(call_and_sync, N), FIB);
    CHECK_EQ(WEFT_RUN(sync_and_call, N), FIB);
    CHECK_EQ(WEFT_RUN(two_syncs, N), FIB);
    CHECK_EQ(WEFT_RUN(arguments, N), FIB);
    CHECK_EQ(WEFT_RUN(handed_on, N), FIB);
    CHECK_EQ(WEFT_RUN(chosen, N), FIB);
    CHECK_EQ(WEFT_RUN(call_and_sync, N) + WEFT_RUN(two_syncs, N), 2 * FIB);
    CHECK_EQ(WEFT_RUN(six, 1, 2, 3, 4, 5, 6), 41);
}
