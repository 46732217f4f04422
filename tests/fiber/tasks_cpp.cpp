/* SPDX-License-Identifier: MIT */
/* Tasks in C++: tasks of this file, and tasks of another file in C. */
#include "fiber.h"

#include "tasks_many.h"

#include <atomic>
#include <stdexcept>
#include <string>

#define WEFT_SORT_NAME sort_ints
#define WEFT_SORT_TYPE int
#define WEFT_SORT_LESS(a, b, arg) is_less(a, b)
static bool is_less(const int *a, const int *b);
#include <weft/sort.h>

struct pair {
    double a, b;
};

WEFT_TASK_2(pair, halves, int, n, double, x) {
    if (n == 0) return pair{x, x};
    WEFT_SPAWN(halves, n - 1, x);
    pair right = WEFT_CALL(halves, n - 1, x + 1);
    pair left = WEFT_SYNC(halves);
    return pair{left.a + right.a, left.b > right.b ? left.b : right.b};
}
WEFT_VOID_TASK_0(empty) {}

static void check_cpp(void *) {
    pair p = WEFT_RUN(halves, 10, 1.0);
    CHECK(p.a == 1024 * 6.0);
    CHECK(p.b == 11.0);
    WEFT_RUN(empty);
    CHECK_EQ(WEFT_RUN(across, 18), 2584);
    CHECK_EQ(WEFT_RUN(across_nothing), 1);
    long stored = 0;
    WEFT_RUN(across_store, &stored, 7L);
    CHECK_EQ(stored, 7);
    weft_task task = WEFT_TASK_INIT;
    int ran = 0;
    CHECK_EQ(weft_task_fork(
                 &task, [](void *p) { ++*static_cast<int *>(p); }, &ran),
             0);
    CHECK_EQ(weft_task_join(&task), 0);
    CHECK_EQ(ran, 1);
}
TEST(cpp) { each_size(check_cpp); }

/* --- exceptions --------------------------------------------------------------------------------------
 *
 * An exception that leaves a function called by weft does not pass weft's frames, where calls may be outstanding, to an
 * outer handler: the program ends with a line that names the exception.
 */

static void fails() { throw std::runtime_error("thrown by the test"); }
static bool is_less(const int *a, const int *b) {
    if (*a == 77 || *b == 77) fails();
    return *a < *b;
}
static int compare(const void *a, const void *b, void *) {
    return is_less(static_cast<const int *>(a), static_cast<const int *>(b)) ? -1 : 1;
}
static int of_loop(size_t, size_t, void *) { return fails(), 0; }
static int of_fold(size_t, size_t, void *, void *) { return fails(), 0; }
static void of_combine(void *, const void *, void *) { fails(); }
static int of_stage(void **, void *) { return fails(), 0; }
static int of_node(void *) { return fails(), 0; }
static void of_task(void *) { fails(); }
static void nothing(void *) {}
WEFT_TASK_1(int, typed, int, n) {
    if (n == 0) fails();
    WEFT_SPAWN(typed, n - 1);
    return WEFT_SYNC(typed);
}

static int seventy_seven[100];
static const int zero = 0;
static void loop() { weft_for(0, 100, of_loop, nullptr, nullptr); }
static void reduction() {
    weft_reduction how = {sizeof zero, &zero, of_fold, of_combine};
    int value = 0;
    weft_reduce(0, 100, &value, &how, nullptr, nullptr);
}
static void scan() { weft_scan_inclusive(seventy_seven, seventy_seven, 100, sizeof zero, &zero, of_combine, nullptr); }
static void invoke() {
    weft_branch branches[2] = {{nothing, nullptr}, {of_task, nullptr}};
    weft_invoke(branches, 2);
}
static std::atomic<bool> stolen;
static void wait_for_thief(void *) {
    while (!stolen) weft_yield();
}
static void of_thief(void *) { stolen = true, fails(); }
static void invoke_stolen() {
    weft_branch branches[2] = {{wait_for_thief, nullptr}, {of_thief, nullptr}};
    weft_invoke(branches, 2);
}
static void sort() { weft_sort(seventy_seven, 100, sizeof zero, compare, nullptr); }
static void sort_in_line() { sort_ints(seventy_seven, 100, nullptr); }
static void pipeline() {
    weft_stage stage = {WEFT_STAGE_PARALLEL, of_stage, nullptr};
    weft_pipeline(&stage, 1, 0);
}
static void graph() {
    weft_graph graph = WEFT_GRAPH_INIT;
    weft_graph_node(&graph, of_node, nullptr);
    weft_graph_run(&graph);
}
static void generic() {
    weft_task task;
    weft_task_fork(&task, of_task, nullptr);
    weft_task_join(&task);
}
static void generic_out_of_order() {
    weft_task task, other;
    weft_task_fork(&task, of_task, nullptr);
    weft_task_fork(&other, nothing, nullptr);
    weft_task_join(&task);
    weft_task_join(&other);
}
static void run_typed() { WEFT_RUN(typed, 3); }

static void (*throws)();
static void run_and_catch(void *) {
    try {
        throws();
    } catch (const std::exception &) {
        CHECK(!"the exception came through");
    }
}
static int workers;
static void run_on_workers(void *) { test_in_fiber(workers, run_and_catch, nullptr); }

/* name: the function that the user has called; nullptr: a typed task, from which C++ itself ends the program. */
static void check_thrown(void (*fn)(), const char *name, int with_workers = 1) {
    struct test_child child;
    throws = fn;
    workers = with_workers;
    for (int &i : seventy_seven) i = 77;
    test_child(&child, run_on_workers, nullptr);
    CHECK(test_child_aborted(&child));
    if (!name) {
        CHECK_HAS(child.said, "thrown by the test");
        return;
    }
    CHECK_EQ(test_lines_with(child.said, "weft: "), 1);
    CHECK_HAS(child.said, (std::string("left a function that was called by ") + name + " in fiber").c_str());
}
TEST(thrown_by_loops) {
    check_thrown(loop, "weft_for");
    check_thrown(reduction, "weft_reduce");
    check_thrown(scan, "weft_scan");
    check_thrown(invoke, "weft_invoke");
}
/* The fiber of the thief has none of the exception handlers of the forking fiber. */
TEST(thrown_by_a_stolen_call) { check_thrown(invoke_stolen, "weft_invoke", 2); }
TEST(thrown_by_comparisons) {
    check_thrown(sort, "weft_sort");
    check_thrown(sort_in_line, "weft_invoke");
}
TEST(thrown_by_stages_and_nodes) {
    check_thrown(pipeline, "weft_pipeline");
    check_thrown(graph, "weft_graph_run");
}
TEST(thrown_by_tasks) {
    check_thrown(generic, "weft_task_join");
    check_thrown(generic_out_of_order, "weft_task_join");
    check_thrown(run_typed, nullptr);
}
