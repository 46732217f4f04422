/* SPDX-License-Identifier: MIT */
/* Fork and join: results, orders of joining, both forms of tasks, misuse. */
#include "tasks.h"

/* --- the generic form --------------------------------------------------------------------------- */

struct node {
    struct weft_task task;
    unsigned n;
    uint64_t result;
};

static void fib(void *p) {
    struct node *node = p;
    node->result = node->n;
    if (node->n < 2) return;
    struct node a = {.n = node->n - 1}, b = {.n = node->n - 2};
    CHECK_EQ(weft_task_fork(&a.task, fib, &a), 0);
    fib(&b);
    CHECK_EQ(weft_task_join(&a.task), 0);
    node->result = a.result + b.result;
}

static void check_fib(void *unused) {
    (void)unused;
    struct node root = {.n = 20};
    fib(&root);
    CHECK_EQ(root.result, 6765);
}
TEST(generic) { each_size(check_fib); }

/* Joins four tasks in every order, with forks in between. */
static void check_orders(void *unused) {
    (void)unused;
    for (unsigned order = 0; order < 256; order++) {
        struct weft_task task[4];
        int ran[4] = {0}, extra = 0;
        bool joined[4] = {false};
        for (unsigned i = 0; i < 4; i++) CHECK_EQ(weft_task_fork(&task[i], add_one, &ran[i]), 0);
        for (unsigned k = 0, turn = order; k < 4; k++, turn >>= 2) {
            unsigned i = turn & 3;
            while (joined[i]) i = (i + 1) & 3;
            struct weft_task more;
            CHECK_EQ(weft_task_fork(&more, add_one, &extra), 0);
            CHECK_EQ(weft_task_join(&task[i]), 0);
            CHECK_EQ(LOAD(&ran[i]), 1);
            joined[i] = true;
            CHECK_EQ(weft_task_join(&more), 0);
        }
        CHECK_EQ(LOAD(&extra), 4);
    }
}
TEST(any_order) { each_size(check_orders); }

/* Joins a thousand tasks, oldest first. The tasks take a little time, so that some are stolen. */
static void linger(void *p) {
    for (int i = 0; i < 1000; i++) __asm__ volatile("");
    add_one(p);
}
static void check_fifo(void *unused) {
    (void)unused;
    enum { N = 1000 };
    struct weft_task task[N];
    int ran[N] = {0};
    for (unsigned i = 0; i < N; i++) CHECK_EQ(weft_task_fork(&task[i], linger, &ran[i]), 0);
    for (unsigned i = 0; i < N; i++) {
        CHECK_EQ(weft_task_join(&task[i]), 0);
        CHECK_EQ(LOAD(&ran[i]), 1);
    }
}
TEST(oldest_first) { each_size(check_fifo); }

/* --- the typed form ------------------------------------------------------------------------------- */

WEFT_TASK_1(uint64_t, typed_fib, unsigned, n) {
    if (n < 2) return n;
    WEFT_SPAWN(typed_fib, n - 1);
    uint64_t b = WEFT_CALL(typed_fib, n - 2);
    return WEFT_SYNC(typed_fib) + b;
}

static void check_typed(void *unused) {
    (void)unused;
    CHECK_EQ(WEFT_RUN(typed_fib, 20), 6765);
}
TEST(typed) { each_size(check_typed); }

WEFT_VOID_TASK_0(nothing) {}
WEFT_TASK_0(int, one) { return 1; }
WEFT_VOID_TASK_2(store, int *, to, int, value) { *to = value; }
WEFT_TASK_3(long, sum3, char, a, short, b, long, c) { return a + b + c; }
WEFT_TASK_6(double, sum6, double, a, float, b, int, c, long, d, short, e, char, f) { return a + b + c + d + e + f; }

/* A function between two tasks, without their context. */
static uint64_t nested(unsigned n) {
    struct weft_task task;
    int ran = 0;
    CHECK_EQ(weft_task_fork(&task, add_one, &ran), 0);
    uint64_t result = WEFT_RUN(typed_fib, n);
    CHECK_EQ(weft_task_join(&task), 0);
    CHECK_EQ(LOAD(&ran), 1);
    return result;
}

WEFT_TASK_1(int, several, int, depth) {
    int x = 0, y[10];
    WEFT_SPAWN(nothing);
    WEFT_SPAWN(one);
    WEFT_SPAWN(store, &x, depth);
    WEFT_SPAWN(sum3, 1, 2, 3);
    WEFT_SPAWN(sum6, 1, 2, 3, 4, 5, 6);
    if (depth) WEFT_SPAWN(several, depth - 1);
    CHECK_EQ(nested(8), 21);
    for (int i = 0; i < 10; i++) WEFT_SPAWN(store, &y[i], i);
    for (int i = 0; i < 10; i++) WEFT_SYNC(store);
    for (int i = 0; i < 10; i++) CHECK_EQ(y[i], i);
    if (depth) CHECK_EQ(WEFT_SYNC(several), 28 + depth - 1);
    int sum = (int)WEFT_SYNC(sum6);
    sum += (int)WEFT_SYNC(sum3);
    WEFT_SYNC(store);
    CHECK_EQ(x, depth);
    sum += WEFT_SYNC(one);
    WEFT_SYNC(nothing);
    return sum + x;
}

static void check_several(void *unused) {
    (void)unused;
    for (int i = 0; i < 100; i++) CHECK_EQ(WEFT_RUN(several, 5), 28 + 5);
}
TEST(typed_several) { each_size(check_several); }

/*
 * Generic tasks are forked before a typed task runs, and joined inside it. The typed frames know the slots of their
 * calls, so they must not get slots of older calls. Each call runs once, and at the end the slots are free again.
 */
static struct weft_task older[3];
static int older_ran[3];
static void join_one(unsigned i) {
    CHECK_EQ(weft_task_join(&older[i]), 0);
    CHECK_EQ(LOAD(&older_ran[i]), 1);
}
WEFT_TASK_2(uint64_t, joins_older, unsigned, first, unsigned, n) {
    join_one(first);
    WEFT_SPAWN(typed_fib, n);
    join_one((first + 1) % 3);
    uint64_t b = WEFT_CALL(typed_fib, n);
    uint64_t a = WEFT_SYNC(typed_fib);
    join_one((first + 2) % 3);
    WEFT_SPAWN(typed_fib, n);
    return a + b + WEFT_SYNC(typed_fib);
}
static void check_older_than_typed(void *unused) {
    (void)unused;
    for (unsigned round = 0; round < 60; round++) {
        for (unsigned i = 0; i < 3; i++) {
            STORE(&older_ran[i], 0);
            CHECK_EQ(weft_task_fork(&older[i], add_one, &older_ran[i]), 0);
        }
        CHECK_EQ(WEFT_RUN(joins_older, round % 3, 12), 3 * 144);
        for (unsigned i = 0; i < 3; i++) CHECK_EQ(LOAD(&older_ran[i]), 1);
    }
}
TEST(generic_ones_joined_in_typed_ones) { each_size(check_older_than_typed); }

/* --- misuse ---------------------------------------------------------------------------------------- */

static struct weft_task of_another;
static void *join_of_another(void *unused) {
    CHECK_EQ(weft_task_join(&of_another), -EPERM);
    return unused;
}
static void check_wrong(void *unused) {
    (void)unused;
    int ran = 0;
    struct weft_task task = WEFT_TASK_INIT;
    CHECK_EQ(weft_task_join(&task), -EINVAL);
    CHECK_EQ(weft_task_fork(&task, add_one, &ran), 0);
    CHECK_EQ(weft_task_fork(&of_another, add_one, &ran), 0);
    join(spawn(join_of_another, NULL));
    CHECK_EQ(weft_task_join(&of_another), 0);
    CHECK_EQ(weft_task_join(&of_another), -EINVAL);
    CHECK_EQ(weft_task_join(&task), 0);
    CHECK_EQ(weft_task_join(&task), -EINVAL);
    CHECK_EQ(LOAD(&ran), 2);
}
TEST(joined_wrongly) { each_size(check_wrong); }

static int leave_outstanding(void *unused) {
    (void)unused;
    static struct weft_task task;
    static int ran;
    weft_task_fork(&task, add_one, &ran);
    return 0;
}
static void run_leaving(void *unused) {
    (void)unused;
    weft_run(leave_outstanding, NULL, NULL);
}
static void leave_one(void *unused) { (void)leave_outstanding(unused); }
static int leave_in_task(void *unused) {
    struct weft_task task;
    CHECK_EQ(weft_task_fork(&task, leave_one, unused), 0);
    return weft_task_join(&task);
}
static void run_leaving_in_task(void *unused) {
    (void)unused;
    weft_run(leave_in_task, NULL, NULL);
}
static void check_left(void (*fn)(void *)) {
    struct test_child child;
    test_child(&child, fn, NULL);
    CHECK(test_child_aborted(&child));
    CHECK_HAS(child.said, "before it had joined");
}
TEST(not_joined) { check_left(run_leaving); }
TEST(not_joined_in_a_task) { check_left(run_leaving_in_task); }

/* If a typed task leaves a call behind, or syncs once too often, WEFT_RUN notices it at its end. tasks_checked.c has
 * more of this. */
WEFT_VOID_TASK_1(forgets, int *, n) { WEFT_SPAWN(count_typed, n); }
WEFT_VOID_TASK_1(syncs_twice, int *, n) {
    WEFT_SPAWN(count_typed, n);
    WEFT_SYNC(count_typed);
    WEFT_SYNC(count_typed);
}
static int misused_ran;
static void run_forgetting(void *unused) {
    (void)unused;
    WEFT_RUN(forgets, &misused_ran);
}
static void run_syncing_twice(void *unused) {
    (void)unused;
    WEFT_RUN(syncs_twice, &misused_ran);
}
static void run_syncing_another(void *unused) {
    (void)unused;
    struct weft_task task;
    CHECK_EQ(weft_task_fork(&task, add_one, &misused_ran), 0);
    WEFT_RUN(syncs_twice, &misused_ran);
}
TEST(typed_not_synced) { check_aborts(run_forgetting, "WEFT_RUN has not synced"); }
TEST(typed_synced_twice) { check_aborts(run_syncing_twice, "no spawn to be synced"); }
TEST(typed_synced_twice_over_another) { check_aborts(run_syncing_another, "no spawn to be synced"); }

static void run_as_thread(void *unused) {
    (void)unused;
    WEFT_RUN(typed_fib, 3);
}
TEST(typed_on_a_thread) {
    struct test_child child;
    test_child(&child, run_as_thread, NULL);
    CHECK(test_child_aborted(&child));
    CHECK_HAS(child.said, "no fiber");
}
