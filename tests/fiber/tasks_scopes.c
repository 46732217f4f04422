/* SPDX-License-Identifier: MIT */
/* Tasks and scopes: a stolen task belongs to the scope in which it was forked. */
#include "tasks.h"

/* --- scopes ---------------------------------------------------------------------------------------- */

struct sleeper {
    struct weft_task task;
    int began;
    uint64_t nanoseconds;
    int result;
};
static void sleep_in_task(void *p) {
    struct sleeper *s = p;
    STORE(&s->began, 1);
    s->result = weft_sleep_for(s->nanoseconds);
}
static void fork_stolen(struct sleeper *s) {
    CHECK_EQ(weft_task_fork(&s->task, sleep_in_task, s), 0);
    while (!LOAD(&s->began)) weft_yield();
}

/* A stolen task is cancelled only with the scopes in which it was forked. */
static void check_scopes(void *unused) {
    (void)unused;
    struct weft_scope outer, inner;
    struct sleeper before = {.nanoseconds = 20 * WEFT_MILLISECOND}, in_outer = {.nanoseconds = WEFT_SECOND * 3600},
                   in_inner = {.nanoseconds = WEFT_SECOND * 3600}, in_shield = {.nanoseconds = 20 * WEFT_MILLISECOND};
    struct weft_shield shield;
    fork_stolen(&before);
    CHECK_EQ(weft_scope_begin(&outer, WEFT_FOREVER), 0);
    fork_stolen(&in_outer);
    CHECK_EQ(weft_scope_begin(&inner, WEFT_FOREVER), 0);
    fork_stolen(&in_inner);
    CHECK_EQ(weft_scope_cancel(&inner), 0);
    CHECK_EQ(weft_task_join(&in_inner.task), 0);
    CHECK_EQ(in_inner.result, -ECANCELED);
    CHECK_EQ(weft_scope_end(&inner), -ECANCELED);
    CHECK_EQ(weft_shield_begin(&shield), 0);
    fork_stolen(&in_shield);
    CHECK_EQ(weft_scope_cancel(&outer), 0);
    CHECK_EQ(weft_task_join(&in_shield.task), 0);
    CHECK_EQ(in_shield.result, 0);
    CHECK_EQ(weft_shield_end(&shield), 0);
    CHECK_EQ(weft_task_join(&in_outer.task), 0);
    CHECK_EQ(in_outer.result, -ECANCELED);
    CHECK_EQ(weft_scope_end(&outer), -ECANCELED);
    CHECK_EQ(weft_task_join(&before.task), 0);
    CHECK_EQ(before.result, 0);
}
TEST(scopes) { each_size(check_scopes); }

/*
 * Tasks are forked before a scope and joined in it. Tasks that are forked after that reuse slots from before the scope,
 * but still belong to the scope. The older tasks are joined youngest or oldest first, and another scope around them may
 * begin at the same slot.
 */
static void join_older(struct weft_task *older, unsigned n, bool oldest_first) {
    for (unsigned i = 0; i < n; i++) CHECK_EQ(weft_task_join(&older[oldest_first ? i : n - 1 - i]), 0);
}
static void check_joined_in_scope(void *unused) {
    (void)unused;
    for (unsigned n = 1; n <= 3; n++)
        for (unsigned how = 0; how < 4; how++) {
            struct weft_task older[3];
            struct weft_scope outer, inner;
            struct sleeper in_inner = {.nanoseconds = WEFT_SECOND * 3600},
                           in_outer = {.nanoseconds = WEFT_SECOND * 3600};
            bool twice = how / 2;
            int ran = 0;
            for (unsigned i = 0; i < n; i++) CHECK_EQ(weft_task_fork(&older[i], add_one, &ran), 0);
            if (twice) CHECK_EQ(weft_scope_begin(&outer, WEFT_FOREVER), 0);
            CHECK_EQ(weft_scope_begin(&inner, WEFT_FOREVER), 0);
            join_older(older, n, how % 2);
            CHECK_EQ(LOAD(&ran), (int)n);
            fork_stolen(&in_inner);
            CHECK_EQ(weft_scope_cancel(&inner), 0);
            CHECK_EQ(weft_task_join(&in_inner.task), 0);
            CHECK_EQ(in_inner.result, -ECANCELED);
            CHECK_EQ(weft_scope_end(&inner), -ECANCELED);
            if (!twice) continue;
            fork_stolen(&in_outer);
            CHECK_EQ(weft_scope_cancel(&outer), 0);
            CHECK_EQ(weft_task_join(&in_outer.task), 0);
            CHECK_EQ(in_outer.result, -ECANCELED);
            CHECK_EQ(weft_scope_end(&outer), -ECANCELED);
        }
}
TEST(forked_before_a_scope_and_joined_in_it) { each_size(check_joined_in_scope); }

/* An older task is still outstanding when the scope ends. It does not belong to the scope, and neither do later
 * tasks. */
static void check_some_joined_in_scope(void *unused) {
    (void)unused;
    struct weft_task older[3], in_scope;
    struct weft_scope scope;
    struct sleeper after = {.nanoseconds = WEFT_MILLISECOND};
    int ran = 0;
    for (unsigned i = 0; i < 3; i++) CHECK_EQ(weft_task_fork(&older[i], add_one, &ran), 0);
    CHECK_EQ(weft_scope_begin(&scope, WEFT_FOREVER), 0);
    CHECK_EQ(weft_scope_cancel(&scope), 0);
    join_older(older + 1, 2, false);
    CHECK_EQ(weft_task_fork(&in_scope, add_one, &ran), 0);
    CHECK_EQ(weft_task_join(&in_scope), 0);
    CHECK_EQ(weft_scope_end(&scope), -ECANCELED);
    fork_stolen(&after);
    CHECK_EQ(weft_task_join(&after.task), 0);
    CHECK_EQ(after.result, 0);
    CHECK_EQ(weft_task_join(&older[0]), 0);
    CHECK_EQ(LOAD(&ran), 4);
}
TEST(some_forked_before_a_scope_and_joined_in_it) { each_size(check_some_joined_in_scope); }

static int leave_in_scope(void *unused) {
    (void)unused;
    static struct weft_task task;
    static int ran;
    struct weft_scope scope;
    weft_scope_begin(&scope, WEFT_FOREVER);
    weft_task_fork(&task, add_one, &ran);
    weft_scope_end(&scope);
    return 0;
}
static void run_leaving_scope(void *unused) {
    (void)unused;
    weft_run(leave_in_scope, NULL, NULL);
}
TEST(not_joined_in_scope) {
    struct test_child child;
    test_child(&child, run_leaving_scope, NULL);
    CHECK(test_child_aborted(&child));
    CHECK_HAS(child.said, "ended a scope");
}

static int leave_in_place_of_older(void *unused) {
    (void)unused;
    static struct weft_task older, task;
    static int ran;
    struct weft_scope scope;
    weft_task_fork(&older, add_one, &ran);
    weft_scope_begin(&scope, WEFT_FOREVER);
    weft_task_join(&older);
    weft_task_fork(&task, add_one, &ran);
    weft_scope_end(&scope);
    return 0;
}
static void run_leaving_in_place_of_older(void *unused) {
    (void)unused;
    weft_run(leave_in_place_of_older, NULL, NULL);
}
TEST(not_joined_in_scope_in_place_of_an_older_one) {
    struct test_child child;
    test_child(&child, run_leaving_in_place_of_older, NULL);
    CHECK(test_child_aborted(&child));
    CHECK_HAS(child.said, "ended a scope");
}
