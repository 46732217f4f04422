/* SPDX-License-Identifier: MIT */
/*
 * weft_fiber_exit inside a forked call, or inside what a loop or algorithm calls: one line, and abort, whichever fiber
 * runs it. Anywhere else, also in a fiber that has forked before, it ends the fiber.
 */
#include "fiber.h"

#include <stdio.h>
#include <string.h>

/* Which fiber exits in the child process: any fiber, any but the caller, only the caller. */
static enum { ANYWHERE, ELSEWHERE, HERE } where_it_exits;
static struct weft_fiber caller;
enum { NEVER = 2 };
static int exited; /* 1: a fiber is exiting */

/* One fiber exits. The other fibers wait for that, so that a thief takes the calls that the caller does not run. */
static void leave(void) {
    bool here = weft_self().id == caller.id;
    if (where_it_exits == (here ? ELSEWHERE : HERE) || __atomic_exchange_n(&exited, 1, __ATOMIC_ACQ_REL))
        while (LOAD(&exited) != NEVER) weft_yield();
    else
        weft_fiber_exit(NULL);
}
static void deep_leave(int depth) {
    if (depth)
        deep_leave(depth - 1);
    else
        leave();
    __asm__ volatile("" ::: "memory"); /* no tail call */
}

/* --- forked calls ---------------------------------------------------------------------------------------- */

static void call(void *unused) {
    (void)unused;
    deep_leave(3);
}
static void nothing(void *unused) { (void)unused; }

static void joined(void) {
    struct weft_task task;
    CHECK_EQ(weft_task_fork(&task, call, NULL), 0);
    CHECK_EQ(weft_task_join(&task), 0);
}
static void joined_among_others(void) {
    struct weft_task a, b, c;
    CHECK_EQ(weft_task_fork(&a, nothing, NULL), 0);
    CHECK_EQ(weft_task_fork(&b, call, NULL), 0);
    CHECK_EQ(weft_task_fork(&c, nothing, NULL), 0);
    CHECK_EQ(weft_task_join(&c), 0);
    CHECK_EQ(weft_task_join(&b), 0);
    CHECK_EQ(weft_task_join(&a), 0);
}
static void joined_out_of_order(void) {
    struct weft_task a, b;
    CHECK_EQ(weft_task_fork(&a, call, NULL), 0);
    CHECK_EQ(weft_task_fork(&b, nothing, NULL), 0);
    CHECK_EQ(weft_task_join(&a), 0);
    CHECK_EQ(weft_task_join(&b), 0);
}
static void outer_call(void *unused) {
    (void)unused;
    struct weft_task task;
    CHECK_EQ(weft_task_fork(&task, nothing, NULL), 0);
    CHECK_EQ(weft_task_join(&task), 0);
    deep_leave(3); /* after an inner one has ended */
}
static void joined_after_an_inner_one(void) {
    struct weft_task task;
    CHECK_EQ(weft_task_fork(&task, outer_call, NULL), 0);
    CHECK_EQ(weft_task_join(&task), 0);
}
/* Its deque is returned while it waits. */
static void waiting_call(void *unused) {
    CHECK_EQ(weft_sleep_for(WEFT_MILLISECOND), 0);
    call(unused);
}
static void joined_and_waits(void) {
    struct weft_task task;
    CHECK_EQ(weft_task_fork(&task, waiting_call, NULL), 0);
    CHECK_EQ(weft_task_join(&task), 0);
}
static void stolen(void) {
    struct weft_task task;
    CHECK_EQ(weft_task_fork(&task, call, NULL), 0);
    if (where_it_exits == ELSEWHERE) leave();
    CHECK_EQ(weft_task_join(&task), 0);
}
static void stolen_in_a_shield(void) {
    struct weft_shield shield;
    CHECK_EQ(weft_shield_begin(&shield), 0);
    stolen();
    CHECK_EQ(weft_shield_end(&shield), 0);
}
static void stolen_in_a_scope(void) {
    struct weft_scope scope;
    CHECK_EQ(weft_scope_begin(&scope, WEFT_FOREVER), 0);
    stolen();
    CHECK_EQ(weft_scope_end(&scope), 0);
}

WEFT_VOID_TASK_0(typed) { deep_leave(3); }
WEFT_VOID_TASK_0(typed_syncs) {
    WEFT_SPAWN(typed);
    if (where_it_exits == ELSEWHERE) leave();
    WEFT_SYNC(typed);
}
WEFT_VOID_TASK_0(typed_calls) {
    WEFT_CALL(typed);
    __asm__ volatile("" ::: "memory");
}
static void typed_synced(void) { WEFT_RUN(typed_syncs); }
static void typed_called(void) { WEFT_RUN(typed_calls); }
static void typed_run(void) { WEFT_RUN(typed); }

/* --- loops and algorithms ----------------------------------------------------------------------------------- */

static int body(size_t begin, size_t end, void *arg) {
    (void)begin, (void)end, (void)arg;
    deep_leave(2);
    return 0;
}
static void loop_by(unsigned partition, unsigned spread) {
    struct weft_for_options options = {.partition = partition, .spread = spread, .grain = 1};
    weft_for(0, 4, body, NULL, &options);
}
static void loop_by_morsel(void) { loop_by(WEFT_FOR_MORSEL, WEFT_SPREAD_NONE); }
static void loop_by_lazy(void) { loop_by(WEFT_FOR_LAZY, WEFT_SPREAD_NONE); }
static void loop_by_static(void) { loop_by(WEFT_FOR_STATIC, WEFT_SPREAD_NONE); }
static void loop_by_grain(void) { loop_by(WEFT_FOR_GRAIN, WEFT_SPREAD_NONE); }
static void loop_by_mail(void) { loop_by(WEFT_FOR_STATIC, WEFT_SPREAD_EVEN); }
static void loop_of_one(void) { weft_for(0, 1, body, NULL, NULL); }

static int fold(size_t begin, size_t end, void *value, void *arg) {
    (void)value;
    return body(begin, end, arg);
}
static int fold_well(size_t begin, size_t end, void *value, void *arg) {
    (void)begin, (void)end, (void)value, (void)arg;
    return 0;
}
static void combine(void *left, const void *right, void *arg) {
    (void)left, (void)right, (void)arg;
    deep_leave(2);
}
static void combine_well(void *left, const void *right, void *arg) { (void)left, (void)right, (void)arg; }
static int zero;
static void reduce_with(int (*f)(size_t, size_t, void *, void *)) {
    struct weft_for_options options = {.partition = WEFT_FOR_GRAIN, .grain = 1};
    struct weft_reduction how = {sizeof zero, &zero, f, combine};
    int value = 0;
    weft_reduce(0, 4, &value, &how, NULL, &options);
}
static void reduction_folds(void) { reduce_with(fold); }
static void reduction_combines(void) { reduce_with(fold_well); }
static void scans(void) {
    struct weft_prefix how = {{sizeof zero, &zero, fold, combine}, fold};
    int value = 0;
    weft_scan(0, 10000, &value, &how, NULL, NULL);
}
static void scans_an_array(void) {
    int v[10] = {0};
    weft_scan_exclusive(v, v, 10, sizeof *v, &zero, combine, NULL);
}
static void invokes(void) {
    struct weft_branch branches[] = {{call, NULL}, {call, NULL}, {call, NULL}};
    weft_invoke(branches, 3);
}
static void invokes_one(void) { weft_invoke(&(struct weft_branch){call, NULL}, 1); }

static int compare(const void *a, const void *b, void *arg) {
    (void)arg;
    deep_leave(2);
    return memcmp(a, b, 4);
}
static void sorts(void) {
    static int v[10000];
    weft_sort(v, sizeof v / sizeof *v, sizeof *v, compare, NULL);
}
static void sorts_a_few(void) {
    char v[30] = {0};
    weft_sort(v, 6, 5, compare, NULL);
}
#define WEFT_SORT_NAME sort_ints
#define WEFT_SORT_TYPE int
#define WEFT_SORT_LESS(a, b, arg) (compare(a, b, arg) < 0)
#include <weft/sort.h>
static void sorts_one_type(void) {
    static int v[10000];
    sort_ints(v, sizeof v / sizeof *v, NULL);
}

static int node(void *unused) {
    call(unused);
    return 0;
}
static void run_graph(int nodes) {
    struct weft_graph graph = WEFT_GRAPH_INIT;
    for (int i = 0; i < nodes; i++) CHECK_EQ(weft_graph_node(&graph, node, NULL), i);
    weft_graph_run(&graph);
}
static void graph_of_one(void) { run_graph(1); }
static void graph_of_many(void) { run_graph(4); }

static int make_item(void **item, void *made) {
    *item = NULL;
    return ++*(int *)made == 5 ? WEFT_PIPELINE_END : 0;
}
static int stage(void **item, void *unused) {
    (void)item;
    call(unused);
    return 0;
}
static void pipeline_begins(void) {
    struct weft_stage stages[] = {{WEFT_STAGE_IN_ORDER, stage, NULL}};
    weft_pipeline(stages, 1, 4);
}
static void pipeline_goes_on(void) {
    int made = 0;
    struct weft_stage stages[] = {{WEFT_STAGE_IN_ORDER, make_item, &made}, {WEFT_STAGE_PARALLEL, stage, NULL}};
    weft_pipeline(stages, 2, 4);
}

/* --- all of them ------------------------------------------------------------------------------------------ */

static const struct way {
    const char *name;
    void (*run)(void);
    bool alone; /* the caller may run all of it */
} ways[] = {
    {"joined", joined, true},
    {"joined among others", joined_among_others, true},
    {"joined out of order", joined_out_of_order, true},
    {"joined after an inner one", joined_after_an_inner_one, true},
    {"joined, and waits", joined_and_waits, true},
    {"stolen", stolen, false},
    {"stolen in a shield", stolen_in_a_shield, false},
    {"stolen in a scope", stolen_in_a_scope, false},
    {"typed, synced", typed_synced, false},
    {"typed, called", typed_called, true},
    {"typed, run", typed_run, true},
    {"morsel", loop_by_morsel, true},
    {"lazy", loop_by_lazy, true},
    {"static", loop_by_static, false},
    {"grain", loop_by_grain, false},
    {"mail", loop_by_mail, false},
    {"of one", loop_of_one, true},
    {"fold", reduction_folds, false},
    {"combine", reduction_combines, true},
    {"scan", scans, true},
    {"array", scans_an_array, true},
    {"invoke", invokes, false},
    {"invoke one", invokes_one, true},
    {"sort", sorts, true},
    {"sort a few", sorts_a_few, true},
    {"sort one type", sorts_one_type, true},
    {"graph of one", graph_of_one, true},
    {"graph", graph_of_many, false},
    {"pipeline begins", pipeline_begins, true},
    {"pipeline goes on", pipeline_goes_on, false},
};

static unsigned workers;
static void *run_way(void *way) {
    caller = weft_self();
    ((const struct way *)way)->run();
    return NULL;
}
static void run_way_and_wait(void *way) { join(spawn(run_way, way)); }
static void run_in_child(void *way) { test_in_fiber(workers, run_way_and_wait, way); }

static void check_way(const struct way *way) {
    struct test_child child;
    test_child(&child, run_in_child, (void *)(uintptr_t)way);
    if (!test_child_aborted(&child) || !test_has(child.said, "weft_fiber_exit was called ") ||
        test_lines_with(child.said, "weft: ") != 1)
        test_fail(__FILE__, __LINE__, "%s, %u workers, %d: %s", way->name, workers, (int)where_it_exits, child.said);
}
static void check_all(unsigned number, int where) {
    workers = number;
    where_it_exits = where;
    for (unsigned i = 0; i < sizeof ways / sizeof *ways; i++)
        if (where != ELSEWHERE || !ways[i].alone) check_way(&ways[i]);
}
TEST_WITHIN(with_one_worker, 60) { check_all(1, ANYWHERE); }
TEST_WITHIN(with_two_workers, 60) { check_all(2, ANYWHERE); }
TEST_WITHIN(with_four_workers, 60) { check_all(4, ANYWHERE); }

/* Run by its caller: with one worker, and no thief. */
TEST_WITHIN(run_by_the_caller, 60) {
    if (getenv("WEFT_CONTINUATIONS")) test_skip("there a forked call has a fiber of its own");
    CHECK(!setenv("WEFT_STEALING", "0", 1));
    no_rescue();
    check_all(1, HERE);
}

/* Run by another fiber, while the caller waits for that. */
TEST_WITHIN(run_by_another_fiber, 60) { check_all(2, ELSEWHERE); }

/* --- where a fiber may exit -------------------------------------------------------------------------------- */

static void *exits_at_last(void *depth) {
    struct weft_task a, b;
    int v[100] = {0};
    CHECK_EQ(weft_task_fork(&a, nothing, NULL), 0);
    CHECK_EQ(weft_task_fork(&b, nothing, NULL), 0);
    CHECK_EQ(weft_task_join(&a), 0);
    CHECK_EQ(weft_task_join(&b), 0);
    CHECK_EQ(weft_scan_inclusive(v, v, 100, sizeof *v, &zero, combine_well, NULL), 0);
    CHECK_EQ(weft_sleep_for(1000), 0);
    CHECK_EQ(weft_task_fork(&a, nothing, NULL), 0);
    CHECK_EQ(weft_task_join(&a), 0);
    STORE(&exited, 0);
    deep_leave((int)(uintptr_t)depth);
    return NULL;
}
static int child_exits(void *unused) {
    exits_at_last(unused);
    return 1;
}
static void exits(void *unused) {
    (void)unused;
    for (uintptr_t depth = 0; depth < 5; depth++) CHECK(!join(spawn(exits_at_last, (void *)depth)));
    struct weft_scope scope;
    CHECK_EQ(weft_scope_begin(&scope, WEFT_FOREVER), 0);
    CHECK_EQ(weft_scope_spawn(&scope, NULL, child_exits, NULL), 0);
    CHECK_EQ(weft_scope_end(&scope), 0);
}
TEST(a_fiber_that_has_joined_all_may_exit) { each_size(exits); }
