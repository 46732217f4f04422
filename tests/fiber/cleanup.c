/* SPDX-License-Identifier: MIT */
/*
 * Clean-up handlers, and the scopes and shields that a fiber leaves open at its end. Each handler runs once, in the
 * right order. The messages about it.
 */
#include "../state.h"
#include "fiber.h"

#include <stdlib.h>
#include <string.h>

static char order[16];
static struct weft_sem never = WEFT_SEM_INIT(0);

static void note(void *letter) { strcat(order, (const char *)letter); }
static void *A = "a", *B = "b", *C = "c";

static int waits(void *letter) {
    int err = weft_sem_wait(&never);
    if (letter) note(letter);
    return err;
}
static void begin(struct weft_scope *s) { CHECK_EQ(weft_scope_begin(s, WEFT_FOREVER), 0); }

static void *run(void *(*fn)(void *), void *arg) {
    order[0] = 0;
    return join(spawn(fn, arg));
}

static void *pops(void *unused) {
    struct weft_cleanup a, b;
    CHECK_EQ(weft_cleanup_push(&a, note, A), 0);
    CHECK_EQ(weft_cleanup_push(&b, note, B), 0);
    CHECK_EQ(weft_cleanup_pop(&a, 1), -EINVAL);
    CHECK_EQ(weft_cleanup_pop(&b, 0), 0);
    CHECK_EQ(weft_cleanup_pop(&a, 1), 0);
    CHECK_EQ(strcmp(order, "a"), 0);
    return unused;
}
static void popped(void *unused) { run(pops, unused); }
TEST(a_pop_runs_it_or_not) { each_size(popped); }

/* The fiber was cancelled, but the handler may still wait. */
static void waits_a_little(void *unused) {
    (void)unused;
    CHECK_EQ(weft_cancelled(), 0);
    CHECK_EQ(weft_sleep_for(WEFT_MILLISECOND), 0);
    note(A);
}
static void *pops_cancelled(void *unused) {
    struct weft_cleanup c;
    CHECK_EQ(weft_cancel(weft_self()), 0);
    CHECK_EQ(weft_cleanup_push(&c, waits_a_little, NULL), 0);
    CHECK_EQ(weft_cleanup_pop(&c, 1), 0);
    CHECK_EQ(weft_cancelled(), WEFT_BY_REQUEST);
    CHECK_EQ(strcmp(order, "a"), 0);
    return unused;
}
static void popped_when_cancelled(void *unused) { run(pops_cancelled, unused); }
TEST(a_pop_runs_it_in_a_shield) { each_size(popped_when_cancelled); }

/* Opening a frame that is already open has no effect, whatever its position. */
static void *opens_twice(void *unused) {
    struct weft_cleanup a, b;
    struct weft_scope s;
    struct weft_shield shield;
    CHECK_EQ(weft_cleanup_push(&a, note, A), 0);
    CHECK_EQ(weft_cleanup_push(&a, note, C), -EBUSY);
    begin(&s);
    CHECK_EQ(weft_scope_begin(&s, WEFT_FOREVER), -EBUSY);
    CHECK_EQ(weft_shield_begin(&shield), 0);
    CHECK_EQ(weft_cleanup_push(&b, note, B), 0);
    CHECK_EQ(weft_shield_begin(&shield), -EBUSY);
    CHECK_EQ(weft_scope_begin(&s, 0), -EBUSY);
    CHECK_EQ(weft_cleanup_push(&a, note, C), -EBUSY);
    CHECK_EQ(weft_cleanup_pop(&b, 1), 0);
    CHECK_EQ(weft_cleanup_push(&b, note, B), 0); /* it was popped */
    CHECK_EQ(weft_cleanup_pop(&b, 1), 0);
    CHECK_EQ(weft_shield_end(&shield), 0);
    CHECK_EQ(weft_scope_end(&s), 0);
    weft_fiber_exit(unused);
}
static void opened_twice(void *unused) {
    run(opens_twice, unused);
    CHECK_EQ(strcmp(order, "bba"), 0);
}
TEST(what_is_open_is_not_opened_again) { each_size(opened_twice); }

static void deep_exit(void) {
    struct weft_cleanup c;
    CHECK_EQ(weft_cleanup_push(&c, note, C), 0);
    weft_fiber_exit(order);
}
/* Handlers and ends of scopes take turns: a handler that was pushed inside a scope runs before the scope ends. */
static void *exits(void *unused) {
    (void)unused;
    struct weft_cleanup a, b;
    struct weft_scope s;
    CHECK_EQ(weft_cleanup_push(&a, note, A), 0);
    begin(&s);
    CHECK_EQ(weft_scope_spawn(&s, NULL, waits, B), 0);
    CHECK_EQ(weft_cleanup_push(&b, note, "("), 0);
    deep_exit();
    return NULL;
}
static void exit_unwinds(void *unused) {
    (void)unused;
    CHECK(run(exits, NULL) == order);
    CHECK_HAS(order, "c(ba");
}
TEST(an_exit_runs_them_from_the_last_to_the_first) { each_size(exit_unwinds); }

/* Handlers may wait, although the fiber was cancelled. */
static void *stops_when_cancelled(void *unused) {
    struct weft_cleanup c;
    weft_fiber_exit_if_cancelled();
    CHECK_EQ(weft_cleanup_push(&c, waits_a_little, NULL), 0);
    CHECK_EQ(weft_sem_wait(&never), -ECANCELED);
    weft_fiber_exit_if_cancelled();
    CHECK(false);
    return unused;
}
static void told_to_end(void *unused) {
    (void)unused;
    order[0] = 0;
    struct weft_fiber f = spawn(stops_when_cancelled, NULL);
    await_state(state_waits, f);
    CHECK_EQ(weft_cancel(f), 0);
    CHECK_EQ((intptr_t)join(f), -ECANCELED);
    CHECK_HAS(order, "a");
}
TEST(a_fiber_ends_where_it_asks_to) { each_size(told_to_end); }

static int stops_in_scope(void *unused) {
    struct weft_cleanup c;
    (void)unused;
    CHECK_EQ(weft_cleanup_push(&c, waits_a_little, NULL), 0);
    weft_sleep_for(WEFT_FOREVER);
    weft_fiber_exit_if_cancelled();
    return 0;
}
static void told_by_deadline(void *unused) {
    (void)unused;
    struct weft_scope s;
    order[0] = 0;
    CHECK_EQ(weft_scope_begin(&s, weft_now() + 2 * WEFT_MILLISECOND), 0);
    bool made = !weft_scope_spawn(&s, NULL, stops_in_scope, NULL); /* not if the machine was slow */
    weft_sem_wait(&never);
    CHECK_EQ(weft_scope_end(&s), -ETIMEDOUT);
    CHECK_EQ(order[0] == 'a', made);
}
TEST(a_child_ends_where_it_asks_to) { each_size(told_by_deadline); }

/* Handlers whose records are not in the fiber's frames run when it returns. Records in its frames would be garbage by
 * then. */
static void *returns_with_one(void *cleanup) { return weft_cleanup_push(cleanup, note, A), cleanup; }
static void on_return(void *unused) {
    (void)unused;
    struct weft_cleanup c;
    run(returns_with_one, &c);
    CHECK_HAS(order, "a");
}
TEST(a_return_runs_what_is_left) { each_size(on_return); }

/* --- mistakes that end the program --------------------------------------------------------------------------- */

static void *returns_with_own(void *unused) {
    struct weft_cleanup *c = __builtin_alloca(sizeof *c);
    weft_cleanup_push(c, note, A);
    return unused;
}
static void *returns_with_own_scope(void *unused) {
    struct weft_scope *s = __builtin_alloca(sizeof *s);
    weft_scope_begin(s, WEFT_FOREVER);
    return unused;
}
static void *returns_with_own_shield(void *unused) {
    struct weft_shield *s = __builtin_alloca(sizeof *s);
    weft_shield_begin(s);
    return unused;
}
static void *returns_in_scope(void *unused) {
    static struct weft_scope s;
    weft_scope_begin(&s, WEFT_FOREVER);
    return unused;
}
static void *returns_in_shield(void *unused) {
    static struct weft_shield s;
    weft_shield_begin(&s);
    return unused;
}
static int main_spawns(void *fn) {
    struct weft_fiber f;
    union {
        void *data;
        void *(*fn)(void *);
    } u = {fn};
    weft_spawn(&f, &(struct weft_attr){.name = "careless"}, u.fn, NULL);
    weft_join(f, NULL);
    return 0;
}
static void in_child(void *fn) { weft_run(main_spawns, fn, &(struct weft_config){.workers = 1}); }
static void check_dies(void *(*fn)(void *), const char *what) {
    struct test_child child;
    union {
        void *(*fn)(void *);
        void *data;
    } u = {fn};
    test_child(&child, in_child, u.data);
    CHECK(test_child_aborted(&child));
    CHECK_HAS(child.said, "careless");
    CHECK_HAS(child.said, what);
}
TEST(a_return_with_something_open_is_reported) {
    check_dies(returns_with_own, "a clean-up handler open: call weft_cleanup_pop");
    check_dies(returns_with_own_scope, "a scope open: call weft_scope_end");
    check_dies(returns_with_own_shield, "a shield open: call weft_shield_end");
    check_dies(returns_in_scope, "a scope open");
    check_dies(returns_in_shield, "a shield open");
}

static void *thread_leaves_scope(void *unused) { return returns_in_scope(unused); }
static void thread_in_child(void *unused) {
    pthread_t t;
    pthread_create(&t, NULL, thread_leaves_scope, unused);
    pthread_join(t, NULL);
}
TEST(a_thread_that_ends_in_a_scope_is_reported) {
    struct test_child child;
    test_child(&child, thread_in_child, NULL);
    CHECK(test_child_aborted(&child));
    CHECK_HAS(child.said, "a thread has ended in a scope");
}

/* --- cancelled fibers -------------------------------------------------------------------------------------------- */

static int fails_at_once(void *unused) { return (void)unused, -EIO; }
static void told_of(void *unused) {
    (void)unused;
    struct weft_stats before, after;
    struct weft_cancellation list[3];
    struct weft_scope s;
    CHECK_EQ(weft_stats_read(&before), 0);
    struct weft_fiber f = spawn_with(&(struct weft_attr){.name = "asked"}, stops_when_cancelled, NULL);
    settle();
    CHECK_EQ(weft_cancel(f), 0);
    CHECK_EQ(weft_cancel(f), 0); /* reported once */
    join(f);
    CHECK_EQ(weft_cancellations(list, 1), 1);
    CHECK_EQ(list[0].why, WEFT_BY_REQUEST);
    CHECK_EQ(list[0].fiber.id, f.id);
    CHECK_HAS(list[0].name, "asked");
    CHECK_HAS(list[0].where, "cleanup.c");
    begin(&s);
    CHECK_EQ(weft_scope_spawn(&s, &(struct weft_attr){.name = "dragged"}, waits, NULL), 0);
    settle();
    CHECK_EQ(weft_scope_spawn(&s, NULL, fails_at_once, NULL), 0);
    CHECK_EQ(weft_scope_end(&s), -EIO);
    CHECK_EQ(weft_scope_begin(&s, weft_now() + WEFT_MILLISECOND), 0);
    CHECK_EQ(weft_sem_wait(&never), -ETIMEDOUT);
    CHECK_EQ(weft_scope_end(&s), -ETIMEDOUT);
    CHECK_EQ(weft_cancellations(list, 1), 1);
    CHECK_EQ(list[0].why, WEFT_BY_DEADLINE);
    CHECK_EQ(weft_stats_read(&after), 0);
    CHECK_EQ(after.by_request - before.by_request, 1);
    CHECK_EQ(after.by_failure - before.by_failure, 2); /* the fiber that waited, and the body */
    CHECK_EQ(after.by_deadline - before.by_deadline, 1);
    CHECK_EQ(weft_stats_print(), 0);
}
static void in_stats(void *unused) { test_in_fiber(1, told_of, unused); }
TEST(cancelled_fibers_are_listed) {
    struct test_child child;
    test_child(&child, in_stats, NULL);
    CHECK(test_child_exited(&child, 0));
    CHECK_HAS(child.said, "by deadline");
    CHECK_HAS(child.said, "cancelled by request: fiber");
    CHECK_HAS(child.said, "\"asked\" spawned at");
    CHECK_HAS(child.said, "cancelled by a failure");
}

/* In one runtime. First a thread cancels, then a fiber. */
static void cancels_each_kind(void *unused) {
    (void)unused;
    struct weft_cancellation list[4];
    struct weft_stats stats;
    CHECK_EQ(weft_cancellations(list, 4), 0);
    struct weft_fiber f = spawn(stops_when_cancelled, NULL);
    CHECK_EQ(weft_cancel(f), 0);
    join(f);
    CHECK_EQ(weft_cancellations(list, 4), 1);
    CHECK_EQ(weft_stats_read(&stats), 0);
    CHECK_EQ(stats.by_request, 1);
}
TEST(each_runtime_counts_anew) {
    for (int i = 0; i < 3; i++) {
        test_start(2);
        cancels_each_kind(NULL);
        test_stop();
        test_in_fiber(2, cancels_each_kind, NULL);
    }
}
