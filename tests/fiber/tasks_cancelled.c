/* SPDX-License-Identifier: MIT */
/*
 * Forked calls and weft_cancel. A call that another fiber runs is cancelled with the fiber that forked it, unless it
 * was forked in a scope or shield of that fiber that prevents it. In these tests another fiber begins every call before
 * its forker continues.
 */
#include "fiber.h"

#define LONG (3600 * WEFT_SECOND)

/* --- calls that wait --------------------------------------------------------------------------------- */

struct call {
    struct weft_task task;
    int began, result, cancelled_after;
    uint64_t sleeps;
    struct weft_fiber fiber; /* the fiber that runs the call */
    struct call *inner;      /* a call that it forks before it sleeps */
};

static void begin_call(struct call *c);
static void wait_in_call(void *p) {
    struct call *c = p;
    c->fiber = weft_self();
    if (c->inner) begin_call(c->inner);
    STORE(&c->began, 1);
    c->result = weft_sleep_for(c->sleeps);
    c->cancelled_after = weft_cancelled();
    if (c->inner) CHECK_EQ(weft_task_join(&c->inner->task), 0);
}

/* Forks the call, and waits until it sleeps on another fiber. */
static void begin_call(struct call *c) {
    CHECK_EQ(weft_task_fork(&c->task, wait_in_call, c), 0);
    await_yielding(&c->began, 1);
}
static void end_call(struct call *c, int result) {
    CHECK_EQ(weft_task_join(&c->task), 0);
    CHECK_EQ(c->result, result);
    CHECK_EQ(c->cancelled_after, result ? WEFT_BY_REQUEST : 0);
}
static struct call call_that_sleeps(uint64_t sleeps) { return (struct call){.sleeps = sleeps}; }
static struct call a_call(void) { return call_that_sleeps(LONG); }

/* --- the test's fiber, and the fiber that cancels it ------------------------------------------------------- */

static struct weft_fiber victim;
static int ready_to_be_cancelled, cancelled;

static void *cancel_victim(void *unused) {
    await_yielding(&ready_to_be_cancelled, 1);
    CHECK_EQ(weft_cancel(victim), 0);
    STORE(&cancelled, 1);
    return unused;
}
/* Returns after another fiber has cancelled the caller. */
static void be_cancelled(void) {
    victim = weft_self();
    STORE(&ready_to_be_cancelled, 1);
    await_yielding(&cancelled, 1);
}

static void *run_body(void *body) {
    (*(void (**)(void))body)();
    return NULL;
}
static void run_with_canceller(void *body) {
    STORE(&ready_to_be_cancelled, 0);
    STORE(&cancelled, 0);
    struct weft_fiber other = spawn(cancel_victim, NULL), f = spawn(run_body, body);
    join(f);
    join(other);
}
static void each_number(void (*body)(void)) {
    for (unsigned workers = 1; workers <= 4; workers *= 2) test_in_fiber(workers, run_with_canceller, &body);
}

/* --- what is cancelled ------------------------------------------------------------------------------------------ */

static void cancelled_with_its_forker(void) {
    struct call a = a_call(), b = a_call();
    begin_call(&a);
    begin_call(&b);
    be_cancelled();
    end_call(&b, -ECANCELED);
    end_call(&a, -ECANCELED);
    CHECK_EQ(weft_cancelled(), WEFT_BY_REQUEST);
}
TEST(a_call_is_cancelled_with_its_forker) { each_number(cancelled_with_its_forker); }

static void cancelled_from_the_beginning(void) {
    be_cancelled();
    struct call a = a_call();
    begin_call(&a);
    end_call(&a, -ECANCELED);
    struct call b = a_call(); /* and again after all of the first calls were joined */
    begin_call(&b);
    end_call(&b, -ECANCELED);
}
TEST(a_call_of_a_cancelled_fiber_begins_cancelled) { each_number(cancelled_from_the_beginning); }

static void cancelled_through_calls(void) {
    struct call innermost = a_call(), inner = a_call(), outer = a_call();
    inner.inner = &innermost;
    outer.inner = &inner;
    begin_call(&outer);
    be_cancelled();
    end_call(&outer, -ECANCELED);
    CHECK_EQ(inner.result, -ECANCELED);
    CHECK_EQ(innermost.result, -ECANCELED);
}
TEST(calls_of_calls_are_cancelled) { each_number(cancelled_through_calls); }

/* Calls in calls, deeper than the number of roots that can be open at once. Only the innermost call waits. */
static void fork_deeper(void *p) {
    struct call *c = p;
    if (!c->inner) {
        wait_in_call(c);
        return;
    }
    CHECK_EQ(weft_task_fork(&c->inner->task, fork_deeper, c->inner), 0);
    CHECK_EQ(weft_task_join(&c->inner->task), 0);
    c->result = weft_cancelled();
}
static void cancelled_far_down(void) {
    enum { N = 100 };
    struct call c[N];
    for (int i = 0; i < N; i++) {
        c[i] = a_call();
        if (i) c[i - 1].inner = &c[i];
    }
    CHECK_EQ(weft_task_fork(&c[0].task, fork_deeper, &c[0]), 0);
    await_yielding(&c[N - 1].began, 1);
    be_cancelled();
    CHECK_EQ(weft_task_join(&c[0].task), 0);
    CHECK_EQ(c[N - 1].result, -ECANCELED);
    for (int i = 0; i < N - 1; i++) CHECK_EQ(c[i].result, WEFT_BY_REQUEST);
}
TEST(calls_deep_in_calls_are_cancelled) { each_number(cancelled_far_down); }

/* Joins out of order: the oldest first. */
static void cancelled_in_any_order(void) {
    enum { N = 20 };
    struct call c[N];
    for (int i = 0; i < N; i++) {
        c[i] = a_call();
        begin_call(&c[i]);
    }
    be_cancelled();
    for (int i = 0; i < N; i += 2) end_call(&c[i], -ECANCELED);
    for (int i = 1; i < N; i += 2) end_call(&c[i], -ECANCELED);
}
TEST(calls_are_joined_in_any_order) { each_number(cancelled_in_any_order); }

WEFT_TASK_1(int, typed_wait, int *, began) {
    ADD(began, 1);
    return weft_sleep_for(LONG);
}
WEFT_TASK_0(int, typed_forker) {
    int began = 0;
    WEFT_SPAWN(typed_wait, &began);
    WEFT_SPAWN(typed_wait, &began);
    await_yielding(&began, 2);
    be_cancelled();
    int second = WEFT_SYNC(typed_wait), first = WEFT_SYNC(typed_wait);
    return first == -ECANCELED && second == -ECANCELED;
}
static void cancelled_typed(void) { CHECK_EQ(WEFT_RUN(typed_forker), 1); }
TEST(typed_calls_are_cancelled) { each_number(cancelled_typed); }

/* --- scopes and shields ---------------------------------------------------------------------------------------- */

/* While a scope is open, the cancellation reaches calls that were forked before the scope, and calls that were forked
 * in it. */
static void cancelled_around_a_scope(void) {
    struct weft_scope scope;
    struct call before = a_call(), inside = a_call();
    begin_call(&before);
    CHECK_EQ(weft_scope_begin(&scope, WEFT_FOREVER), 0);
    begin_call(&inside);
    be_cancelled();
    end_call(&inside, -ECANCELED);
    CHECK_EQ(weft_scope_end(&scope), -ECANCELED);
    end_call(&before, -ECANCELED);
}
TEST(calls_from_before_a_scope_are_cancelled) { each_number(cancelled_around_a_scope); }

/* A shield protects only the calls that were forked in it. */
static void cancelled_around_a_shield(void) {
    struct weft_shield shield;
    struct call before = a_call(), inside = call_that_sleeps(WEFT_MILLISECOND), after = a_call();
    begin_call(&before);
    CHECK_EQ(weft_shield_begin(&shield), 0);
    begin_call(&inside);
    be_cancelled();
    struct call later = call_that_sleeps(WEFT_MILLISECOND);
    begin_call(&later);
    end_call(&later, 0);
    end_call(&inside, 0);
    CHECK_EQ(weft_cancelled(), 0);
    CHECK_EQ(weft_shield_end(&shield), 0);
    begin_call(&after);
    end_call(&after, -ECANCELED);
    end_call(&before, -ECANCELED);
}
TEST(a_shield_keeps_a_request_from_calls) { each_number(cancelled_around_a_shield); }

/* The call itself opens a shield. */
static void wait_in_shield(void *p) {
    struct call *c = p;
    struct weft_shield shield;
    CHECK_EQ(weft_shield_begin(&shield), 0);
    STORE(&c->began, 1);
    await_yielding(&cancelled, 1);
    CHECK_EQ(weft_sleep_for(WEFT_MILLISECOND), 0);
    CHECK_EQ(weft_shield_end(&shield), 0);
    c->result = weft_sleep_for(c->sleeps);
}
static void cancelled_after_its_shield(void) {
    struct call c = a_call();
    CHECK_EQ(weft_task_fork(&c.task, wait_in_shield, &c), 0);
    await_yielding(&c.began, 1);
    be_cancelled();
    CHECK_EQ(weft_task_join(&c.task), 0);
    CHECK_EQ(c.result, -ECANCELED);
}
TEST(a_call_is_cancelled_after_its_shield) { each_number(cancelled_after_its_shield); }

/* A clean-up handler that was pushed before the first wait is still the innermost handler after it. */
static void count_up(void *p) { ADD((int *)p, 1); }
static void wait_below_a_handler(void *p) {
    struct call *c = p;
    struct weft_cleanup cleanup;
    int ran = 0;
    CHECK_EQ(weft_cleanup_push(&cleanup, count_up, &ran), 0);
    STORE(&c->began, 1);
    c->result = weft_sleep_for(c->sleeps);
    CHECK_EQ(weft_cleanup_pop(&cleanup, 1), 0);
    CHECK_EQ(ran, 1);
}
static void cancelled_below_a_handler(void) {
    struct call c = a_call();
    CHECK_EQ(weft_task_fork(&c.task, wait_below_a_handler, &c), 0);
    await_yielding(&c.began, 1);
    be_cancelled();
    CHECK_EQ(weft_task_join(&c.task), 0);
    CHECK_EQ(c.result, -ECANCELED);
}
TEST(a_call_is_cancelled_below_a_handler) { each_number(cancelled_below_a_handler); }

/* Cancelling the scope of a child also cancels the calls that the child has forked. Cancelling the child cancels only
 * these calls. */
static int child_forks(void *p) {
    struct call *c = p;
    begin_call(c);
    STORE(&ready_to_be_cancelled, 1);
    end_call(c, -ECANCELED);
    return 0;
}
static void cancelled_by_the_scope(void) {
    struct weft_scope scope;
    struct call c = a_call();
    victim = weft_self();
    CHECK_EQ(weft_scope_begin(&scope, WEFT_FOREVER), 0);
    CHECK_EQ(weft_scope_spawn(&scope, NULL, child_forks, &c), 0);
    CHECK_EQ(weft_scope_end(&scope), -ECANCELED);
}
TEST(the_scope_of_a_child_reaches_its_calls) { each_number(cancelled_by_the_scope); }

static int child_is_cancelled(void *p) {
    struct call *c = p;
    begin_call(c);
    be_cancelled();
    end_call(c, -ECANCELED);
    return 0;
}
static int sibling_forks(void *p) {
    struct call *c = p;
    begin_call(c);
    end_call(c, 0);
    return 0;
}
static void cancelled_alone_in_a_scope(void) {
    struct weft_scope scope;
    struct call c = a_call(), of_sibling = call_that_sleeps(10 * WEFT_MILLISECOND);
    CHECK_EQ(weft_scope_begin(&scope, WEFT_FOREVER), 0);
    CHECK_EQ(weft_scope_spawn(&scope, NULL, sibling_forks, &of_sibling), 0);
    CHECK_EQ(weft_scope_spawn(&scope, NULL, child_is_cancelled, &c), 0);
    CHECK_EQ(weft_scope_end(&scope), 0);
}
TEST(a_request_to_a_child_reaches_its_own_calls_only) { each_number(cancelled_alone_in_a_scope); }

/* --- other fibers, and later fibers ------------------------------------------------------------------------ */

/* Cancelling the fiber that runs a call cancels that call and the calls that it has forked, and nothing else. */
static void cancelled_alone(void *unused) {
    (void)unused;
    struct call sibling = call_that_sleeps(10 * WEFT_MILLISECOND), inner = a_call(), c = a_call();
    c.inner = &inner;
    begin_call(&sibling);
    begin_call(&c);
    CHECK_EQ(weft_cancel(c.fiber), 0);
    end_call(&c, -ECANCELED);
    CHECK_EQ(inner.result, -ECANCELED);
    end_call(&sibling, 0);
    CHECK_EQ(weft_cancelled(), 0);
}
TEST(a_request_to_a_call_reaches_it_alone) { each_size(cancelled_alone); }

/* A cancellation of a fiber does not affect the next life of its record. */
static void *fork_uncancelled(void *unused) {
    for (int i = 0; i < 20; i++) {
        struct call c = call_that_sleeps(1000);
        begin_call(&c);
        end_call(&c, 0);
    }
    return unused;
}
static void cancelled_and_then_others(void *unused) {
    (void)unused;
    for (int i = 0; i < 10; i++) {
        void (*body)(void) = cancelled_with_its_forker;
        run_with_canceller(&body);
        join(spawn(fork_uncancelled, NULL));
    }
}
TEST(later_calls_are_not_cancelled) { each_size(cancelled_and_then_others); }

/* More calls than the cancelling fiber itself cancels. Another fiber cancels the rest, while the forker joins, and
 * forks again. */
static void cancelled_in_a_crowd(void) {
    size_t n = test_fibers(2000);
    struct call *c = calloc(n, sizeof *c);
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < n; i++) {
            c[i] = a_call();
            CHECK_EQ(weft_task_fork(&c[i].task, wait_in_call, &c[i]), 0);
        }
        for (size_t i = 0; i < n; i++) await_yielding(&c[i].began, 1);
        if (round == 0) be_cancelled();
        for (size_t i = n; i-- > 0;) end_call(&c[i], -ECANCELED);
    }
    free(c);
}
TEST_WITHIN(a_crowd_is_cancelled, 60) { each_number(cancelled_in_a_crowd); }

/* Cancellations at any moment, while calls are stolen, wait, end and are joined. */
static void nap(void *p) {
    uint64_t random = (uintptr_t)p;
    weft_sleep_for(test_below(&random, 2000));
}
static void *fork_on(void *unused) {
    uint64_t random = (uintptr_t)&random;
    struct weft_task task[4];
    while (!weft_cancelled()) {
        size_t n = 1 + test_below(&random, 4);
        for (size_t i = 0; i < n; i++)
            CHECK_EQ(weft_task_fork(&task[i], nap, (void *)(uintptr_t)test_random(&random)), 0);
        for (size_t i = n; i-- > 0;) CHECK_EQ(weft_task_join(&task[i]), 0);
    }
    return unused;
}
static void cancelled_at_any_moment(void *unused) {
    (void)unused;
    uint64_t random = 1;
    for (size_t i = test_size(2000); i > 0; i--) {
        struct weft_fiber f = spawn(fork_on, NULL);
        if (test_below(&random, 2)) weft_sleep_for(test_below(&random, 50000));
        CHECK_EQ(weft_cancel(f), 0);
        join(f);
    }
}
TEST_WITHIN(requests_at_any_moment, 60) { each_size(cancelled_at_any_moment); }
