/* SPDX-License-Identifier: MIT */
/*
 * The fibers that work for the caller of a loop, a graph or a pipeline: forked, mailed or sent, each has a stack of the
 * caller's size, is cancelled with the caller's scope, and is named after the function that the caller has called.
 *
 * The bodies of one run wait for each other, so that each must be in a fiber of its own.
 */
#include "fiber.h"

#include <string.h>

enum { MOST = 16 };

static int together, arrived;
static void (*what)(void);

/* A body: waits until all bodies have begun, then calls the function that the test sets. */
static void body(void) {
    ADD(&arrived, 1);
    await_yielding(&arrived, together);
    what();
}

static int of_loop(size_t begin, size_t end, void *arg) {
    (void)arg;
    CHECK_EQ(end - begin, 1);
    body();
    return 0;
}
static int fold(size_t begin, size_t end, void *value, void *arg) {
    *(int *)value += (int)(end - begin);
    return of_loop(begin, end, arg);
}
static void add(void *left, const void *right, void *arg) {
    (void)arg;
    *(int *)left += *(const int *)right;
}
static int of_graph(void *arg) {
    (void)arg;
    body();
    return 0;
}
static int make_item(void **item, void *made) {
    *item = NULL;
    return (*(int *)made)++ == together ? WEFT_PIPELINE_END : 0;
}
static int of_pipeline(void **item, void *arg) {
    (void)item;
    (void)arg;
    body();
    return 0;
}
static void of_branch(void *arg) {
    (void)arg;
    body();
}

/* --- the ways --------------------------------------------------------------------------------------- */

static int loop_with(struct weft_for_options *options) {
    options->partition = WEFT_FOR_STATIC; /* a part for each worker, so all parts run at the same time */
    return weft_for(0, (size_t)together, of_loop, NULL, options);
}
static int by_loop(void) { return loop_with(&(struct weft_for_options)WEFT_FOR_INIT); }
static int by_even_mail(void) { return loop_with(&(struct weft_for_options){.spread = WEFT_SPREAD_EVEN}); }
static int by_uneven_mail(void) { return loop_with(&(struct weft_for_options){.spread = WEFT_SPREAD_UNEVEN}); }
static int by_reduction(void) {
    struct weft_for_options options = {.spread = WEFT_SPREAD_EVEN, .partition = WEFT_FOR_STATIC};
    int value = 0, zero = 0;
    struct weft_reduction how = {sizeof value, &zero, fold, add};
    int err = weft_reduce(0, (size_t)together, &value, &how, NULL, &options);
    if (!err) CHECK_EQ(value, together);
    return err;
}
static int by_graph(void) {
    struct weft_graph graph = WEFT_GRAPH_INIT;
    for (int i = 0; i < together; i++) CHECK_EQ(weft_graph_node(&graph, of_graph, NULL), i);
    int err = weft_graph_run(&graph);
    CHECK_EQ(weft_graph_clear(&graph), 0);
    return err;
}
static int by_pipeline(void) {
    int made = 0;
    struct weft_stage stages[] = {{WEFT_STAGE_IN_ORDER, make_item, &made}, {WEFT_STAGE_PARALLEL, of_pipeline, NULL}};
    return weft_pipeline(stages, 2, (size_t)together);
}
static int by_invoke(void) {
    struct weft_branch branches[MOST];
    for (int i = 0; i < together; i++) branches[i] = (struct weft_branch){of_branch, NULL};
    return weft_invoke(branches, (size_t)together);
}

static const struct way {
    int (*run)(void);
    const char *name;
} ways[] = {
    {by_loop, "weft_for"},         {by_even_mail, "weft_for"},   {by_uneven_mail, "weft_for"},
    {by_reduction, "weft_reduce"}, {by_graph, "weft_graph_run"}, {by_pipeline, "weft_pipeline"},
    {by_invoke, "weft_invoke"},
};
enum { WAYS = sizeof ways / sizeof *ways };

/* A pipeline that is cancelled before its first stage has said that there are no more items was not run to its end. */
static void run_way(const struct way *way, void (*todo)(void)) {
    what = todo;
    STORE(&arrived, 0);
    int err = way->run();
    if (way->run != by_pipeline || err != -ECANCELED) CHECK_EQ(err, 0);
    CHECK_EQ(LOAD(&arrived), together);
}

/* As many bodies as workers. */
static void each_number(void (*fn)(void *)) {
    for (together = 2; together <= 4; together++) test_in_fiber((unsigned)together, fn, NULL);
}

/* --- stacks ------------------------------------------------------------------------------------------ */

/* More stack than a fiber of the default size has. */
static void use_stack(unsigned pages) {
    volatile char page[4096];
    page[0] = 1;
    if (pages) use_stack(pages - 1);
    CHECK_EQ(page[0], 1);
}
static void use_much(void) { use_stack(256); }
static void *run_on_large_stack(void *unused) {
    for (unsigned i = 0; i < WAYS; i++) run_way(&ways[i], use_much);
    return unused;
}
static void check_stacks(void *unused) {
    (void)unused;
    struct weft_attr attr = {.stack_size = 8 << 20};
    join(spawn_with(&attr, run_on_large_stack, NULL));
}
TEST(stack) { each_number(check_stacks); }

/* --- scopes ------------------------------------------------------------------------------------------ */

/* All bodies wait, and then the caller is cancelled, by its scope or directly. No piece is left to begin, so the call
 * returns 0. For earlier cancellations see loops_cancelled.c. */
static void expect_cancelled(void) {
    CHECK_EQ(weft_sleep_for(3600 * WEFT_SECOND), -ECANCELED);
    CHECK_EQ(weft_cancelled(), WEFT_BY_REQUEST);
}
static struct weft_scope open_scope;
static struct weft_fiber asked;
static void *cancel_when_all_are_there(void *by_scope) {
    await_yielding(&arrived, together);
    settle();
    CHECK_EQ(by_scope ? weft_scope_cancel(&open_scope) : weft_cancel(asked), 0);
    return NULL;
}
static void check_cancelled(void *unused) {
    (void)unused;
    for (unsigned i = 0; i < WAYS; i++) {
        STORE(&arrived, 0);
        CHECK_EQ(weft_scope_begin(&open_scope, WEFT_FOREVER), 0);
        struct weft_fiber other = spawn(cancel_when_all_are_there, &open_scope);
        run_way(&ways[i], expect_cancelled);
        CHECK_EQ(weft_scope_end(&open_scope), -ECANCELED);
        join(other);
    }
}
TEST(scope_that_is_cancelled) { each_number(check_cancelled); }

static void *run_asked(void *way) {
    asked = weft_self();
    run_way(way, expect_cancelled);
    return NULL;
}
static void check_asked(void *unused) {
    (void)unused;
    for (unsigned i = 0; i < WAYS; i++) {
        STORE(&arrived, 0);
        struct weft_fiber other = spawn(cancel_when_all_are_there, NULL);
        join(spawn(run_asked, (void *)(uintptr_t)&ways[i]));
        join(other);
    }
}
TEST(caller_that_is_cancelled) { each_number(check_asked); }

/* A shield of the caller protects the bodies, too. */
static void expect_not_cancelled(void) { CHECK_EQ(weft_sleep_for(WEFT_MILLISECOND), 0); }
static void check_shielded(void *unused) {
    (void)unused;
    struct weft_scope scope;
    struct weft_shield shield;
    CHECK_EQ(weft_scope_begin(&scope, WEFT_FOREVER), 0);
    CHECK_EQ(weft_scope_cancel(&scope), 0);
    CHECK_EQ(weft_shield_begin(&shield), 0);
    for (unsigned i = 0; i < WAYS; i++) run_way(&ways[i], expect_not_cancelled);
    CHECK_EQ(weft_shield_end(&shield), 0);
    CHECK_EQ(weft_scope_end(&scope), -ECANCELED);
}
TEST(shield) { each_number(check_shielded); }

/* A thread's scope: the bodies are cancelled, and the thread still waits for them. */
TEST(scope_of_a_thread) {
    together = 3;
    test_start((unsigned)together);
    check_cancelled(NULL);
    test_stop();
}

/* --- names ------------------------------------------------------------------------------------------- */

/* The message about a fiber that ends without joining a call. */
static struct weft_fiber caller;
static void leave_task(void) {
    static struct weft_task task;
    static int left;
    if (weft_self().id != caller.id && !ADD(&left, 1)) CHECK_EQ(weft_task_fork(&task, free, NULL), 0);
}
static void run_leaving(void *way) {
    caller = weft_self();
    run_way(way, leave_task);
}
static void run_way_in_fiber(void *way) {
    together = 2;
    test_in_fiber(2, run_leaving, way);
}
static void run_way_on_thread(void *way) {
    together = 1;
    test_start(1);
    run_leaving(way);
}
static void check_name(void (*run)(void *), const struct way *way) {
    struct test_child child;
    char name[64] = " spawned at ";
    test_child(&child, run, (void *)(uintptr_t)way);
    CHECK(test_child_aborted(&child));
    strcat(strcat(name, way->name), " ");
    CHECK_HAS(child.said, "before it had joined");
    CHECK_HAS(child.said, name);
}
TEST(name_of_graphs) { check_name(run_way_in_fiber, &ways[4]); }
TEST(name_of_pipelines) { check_name(run_way_in_fiber, &ways[5]); }
TEST(name_on_a_thread) {
    for (unsigned i = 0; i < WAYS; i++) check_name(run_way_on_thread, &ways[i]);
}
