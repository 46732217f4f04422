/* SPDX-License-Identifier: MIT */
/*
 * Scopes: members, cancellation, results; nesting, shields.
 */
#include "fiber.h"

#include <string.h>

static int ran, ended;
static struct weft_sem never = WEFT_SEM_INIT(0);

static int succeeds(void *unused) { return (void)unused, ADD(&ran, 1), 0; }
static int yields(void *unused) {
    (void)unused;
    for (int i = 0; i < 10; i++) weft_yield();
    ADD(&ran, 1);
    return 0;
}
static int fails(void *err) { return ADD(&ran, 1), (int)(intptr_t)err; }
/* Waits until it is cancelled; returns the error of its wait. */
static int waits(void *told) {
    ADD(&ran, 1);
    int err = weft_sem_wait(&never);
    if (told) STORE((int *)told, err);
    ADD(&ended, 1);
    return err;
}
#define ERROR(err) ((void *)(intptr_t)(err)) /* a number for an argument */

static void reset(void) { ran = ended = 0; }
static void begin(struct weft_scope *s) { CHECK_EQ(weft_scope_begin(s, WEFT_FOREVER), 0); }
static void child(struct weft_scope *s, int (*fn)(void *), void *arg) {
    CHECK_EQ(weft_scope_spawn(s, NULL, fn, arg), 0);
}

/* Spawns a child that waits. If the deadline has already passed, the spawn fails instead. */
static void waits_in(struct weft_scope *s, int *told) {
    int err = weft_scope_spawn(s, NULL, waits, told);
    CHECK(!err || err == -ECANCELED);
    if (err) *told = weft_sleep_for(1);
}

/* --- ending ---------------------------------------------------------------------------------------------- */

static void ends_with_its_children(void *unused) {
    (void)unused;
    struct weft_scope s;
    for (int round = 0; round < 50; round++) {
        reset();
        begin(&s);
        for (int i = 0; i < 20; i++) child(&s, i % 2 ? succeeds : yields, NULL);
        CHECK_EQ(weft_scope_end(&s), 0);
        CHECK_EQ(ran, 20);
    }
    begin(&s);
    CHECK_EQ(weft_scope_end(&s), 0);
}
TEST(ends_when_all_its_fibers_have_ended) { each_size(ends_with_its_children); }

static int exits(void *unused) {
    ADD(&ran, 1);
    weft_fiber_exit(unused);
}
static int is_let_go(void *sem) {
    int err = weft_sem_wait(sem);
    ADD(&ran, 1);
    return err;
}
static void *plain(void *unused) { return ADD(&ran, 1), unused; }
static void yield_until_ran(int n) {
    while (LOAD(&ran) < n) weft_yield();
}

/* Children end before and after other fibers: of another scope, with stacks of another size, counted by other fibers,
 * and a child that stays long. Each scope ends with its own children, not with the others. */
static void ends_among_others(void *unused) {
    (void)unused;
    struct weft_sem gate = WEFT_SEM_INIT(0);
    struct weft_counter counter = WEFT_COUNTER_INIT;
    struct weft_attr counted = {.counter = &counter}, large = {.stack_size = 1 << 20};
    for (int round = 0; round < 20; round++) {
        struct weft_scope outer, inner;
        reset();
        begin(&outer);
        for (int i = 0; i < 10; i++) child(&outer, succeeds, NULL);
        child(&outer, is_let_go, &gate);
        begin(&inner);
        for (int i = 0; i < 60; i++) {
            child(i % 3 ? &inner : &outer, i % 4 ? succeeds : exits, NULL);
            if (i % 7) continue;
            CHECK_EQ(weft_counter_add(&counter, 1), 0);
            CHECK_EQ(weft_spawn(NULL, &counted, plain, NULL), 0);
            CHECK_EQ(weft_scope_spawn(&inner, &large, yields, NULL), 0);
        }
        CHECK_EQ(weft_scope_end(&inner), 0);
        CHECK_EQ(weft_counter_wait(&counter, 0), 0);
        yield_until_ran(10 + 60 + 9 + 9);
        CHECK_EQ(weft_sem_post(&gate), 0);
        CHECK_EQ(weft_scope_end(&outer), 0);
        CHECK_EQ(ran, 10 + 60 + 9 + 9 + 1);
    }
}
TEST(ends_with_its_own_fibers) { each_size(ends_among_others); }

static void first_failure_wins(void *unused) {
    (void)unused;
    struct weft_scope s;
    int told[10];
    reset();
    begin(&s);
    for (int i = 0; i < 10; i++) child(&s, waits, &told[i]);
    while (LOAD(&ran) < 10) weft_yield();
    settle();
    child(&s, fails, ERROR(-EIO));
    CHECK_EQ(weft_sem_wait(&never), -ECANCELED); /* the body is in it, too */
    CHECK_EQ(weft_cancelled(), WEFT_BY_FAILURE);
    CHECK_EQ(weft_scope_spawn(&s, NULL, succeeds, NULL), -ECANCELED);
    CHECK_EQ(weft_scope_fail(&s, -EPIPE), -EALREADY);
    CHECK_EQ(weft_scope_end(&s), -EIO);
    for (int i = 0; i < 10; i++) CHECK_EQ(told[i], -ECANCELED);
    CHECK_EQ(ran, 11);
    CHECK_EQ(ended, 10);
    CHECK_EQ(weft_cancelled(), 0);
    CHECK_EQ(weft_sleep_for(1), 0);
}
TEST(the_first_failure_cancels_the_rest) { each_size(first_failure_wins); }

/* A spawned child runs, even if its scope is cancelled before it begins. Then it cannot wait. */
static void made_before_the_cancel(void *unused) {
    (void)unused;
    struct weft_scope s;
    int told = 1;
    reset();
    begin(&s);
    child(&s, waits, &told);
    CHECK_EQ(weft_scope_cancel(&s), 0);
    CHECK_EQ(weft_scope_cancel(&s), -EALREADY);
    CHECK_EQ(weft_scope_end(&s), -ECANCELED);
    CHECK_EQ(ran, 1);
    CHECK_EQ(told, -ECANCELED);
}
TEST(a_child_that_was_made_runs) { each_size(made_before_the_cancel); }

static int exits_with(void *err) { weft_fiber_exit(err); }
static void an_exit_is_a_result(void *unused) {
    (void)unused;
    struct weft_scope s;
    begin(&s);
    child(&s, exits_with, ERROR(-ENOSPC));
    CHECK_EQ(weft_scope_end(&s), -ENOSPC);
    begin(&s);
    child(&s, exits_with, NULL);
    CHECK_EQ(weft_scope_end(&s), 0);
}
TEST(an_exit_counts_as_a_return) { each_size(an_exit_is_a_result); }

/* --- deadlines -------------------------------------------------------------------------------------------- */

static void deadline(void *unused) {
    (void)unused;
    struct weft_scope s;
    int told = 0;
    reset();
    uint64_t until = weft_now() + 3 * WEFT_MILLISECOND;
    CHECK_EQ(weft_scope_begin(&s, until), 0);
    waits_in(&s, &told);
    CHECK_EQ(weft_sleep_for(WEFT_FOREVER), -ETIMEDOUT);
    CHECK(weft_now() >= until);
    CHECK_EQ(weft_cancelled(), WEFT_BY_DEADLINE);
    CHECK_EQ(weft_sem_wait_until(&never, weft_now() + WEFT_SECOND), -ETIMEDOUT);
    CHECK_EQ(weft_scope_end(&s), -ETIMEDOUT);
    CHECK_EQ(told, -ETIMEDOUT);
    CHECK_EQ(weft_sleep_for(1), 0);
    /* The scope ends before its deadline: nothing of the deadline is left. */
    CHECK_EQ(weft_scope_begin(&s, weft_now() + 3 * WEFT_MILLISECOND), 0);
    int err = weft_scope_end(&s);
    CHECK(!err || weft_now() >= until + 3 * WEFT_MILLISECOND);
    CHECK_EQ(weft_sleep_for(5 * WEFT_MILLISECOND), 0);
    /* Past from the start. */
    CHECK_EQ(weft_scope_begin(&s, 0), 0);
    CHECK_EQ(weft_scope_spawn(&s, NULL, succeeds, NULL), -ECANCELED);
    CHECK_EQ(weft_sleep_for(1), -ETIMEDOUT);
    CHECK_EQ(weft_scope_end(&s), -ETIMEDOUT);
}
TEST(a_deadline_ends_the_waits) { each_size(deadline); }

/* A sleep and a wait with deadlines of their own, in a scope with a later deadline. */
static void own_deadlines(void *unused) {
    (void)unused;
    struct weft_scope s;
    CHECK_EQ(weft_scope_begin(&s, weft_now() + 3600 * WEFT_SECOND), 0);
    CHECK_EQ(weft_sleep_for(WEFT_MILLISECOND), 0);
    CHECK_EQ(weft_sem_wait_until(&never, weft_now() + WEFT_MILLISECOND), -ETIMEDOUT);
    CHECK_EQ(weft_cancelled(), 0);
    CHECK_EQ(weft_scope_end(&s), 0);
}
TEST(a_wait_keeps_its_own_deadline) { each_size(own_deadlines); }

/* --- nesting ------------------------------------------------------------------------------------------------ */

static struct weft_scope outer;
static int in_inner[3];

/* A child with a scope of its own, in it a child that waits. */
static int nests(void *told) {
    struct weft_scope inner;
    begin(&inner);
    waits_in(&inner, told);
    int err = weft_scope_end(&inner);
    CHECK(weft_cancelled()); /* the outer state applies again */
    CHECK(weft_sleep_for(1) < 0);
    return err;
}

static void outer_reaches_inner(void *unused) {
    (void)unused;
    for (int timed = 0; timed < 2; timed++) {
        reset();
        int wanted = timed ? -ETIMEDOUT : -ECANCELED;
        CHECK_EQ(weft_scope_begin(&outer, timed ? weft_now() + 4 * WEFT_MILLISECOND : WEFT_FOREVER), 0);
        for (int i = 0; i < 2; i++)
            if (weft_scope_spawn(&outer, NULL, nests, &in_inner[i])) in_inner[i] = wanted;
        struct weft_scope inner, innermost;
        begin(&inner);
        begin(&innermost);
        waits_in(&innermost, &in_inner[2]);
        if (!timed) {
            while (LOAD(&ran) < 3) weft_yield();
            CHECK_EQ(weft_scope_cancel(&outer), 0);
        }
        CHECK_EQ(weft_scope_end(&innermost), wanted);
        CHECK_EQ(weft_scope_end(&inner), wanted);
        CHECK_EQ(weft_scope_end(&outer), wanted);
        for (int i = 0; i < 3; i++) CHECK_EQ(in_inner[i], wanted);
        CHECK_EQ(weft_cancelled(), 0);
    }
}
TEST(an_outer_scope_reaches_the_inner_ones) { each_size(outer_reaches_inner); }

static void inner_stays_inside(void *unused) {
    (void)unused;
    struct weft_scope inner;
    begin(&outer);
    begin(&inner);
    CHECK_EQ(weft_scope_cancel(&inner), 0);
    CHECK_EQ(weft_sleep_for(1), -ECANCELED);
    CHECK_EQ(weft_scope_end(&inner), -ECANCELED);
    CHECK_EQ(weft_cancelled(), 0);
    CHECK_EQ(weft_sleep_for(1), 0);
    child(&outer, succeeds, NULL);
    CHECK_EQ(weft_scope_end(&outer), 0);
    /* A scope that begins in a cancelled scope is cancelled, too. */
    begin(&outer);
    CHECK_EQ(weft_scope_fail(&outer, -EIO), 0);
    begin(&inner);
    CHECK_EQ(weft_sleep_for(1), -ECANCELED);
    CHECK_EQ(weft_scope_spawn(&inner, NULL, succeeds, NULL), -ECANCELED);
    CHECK_EQ(weft_scope_end(&inner), -ECANCELED);
    CHECK_EQ(weft_scope_end(&outer), -EIO);
}
TEST(an_inner_scope_does_not_leak_out) { each_size(inner_stays_inside); }

static int grows(void *depth) {
    ADD(&ran, 1);
    intptr_t d = (intptr_t)depth;
    for (int i = 0; d > 0 && i < 2; i++) CHECK_EQ(weft_scope_spawn(&outer, NULL, grows, ERROR(d - 1)), 0);
    return 0;
}
static void *spawns_from_outside(void *unused) {
    for (int i = 0; i < 10; i++) CHECK_EQ(weft_scope_spawn(&outer, NULL, succeeds, NULL), 0);
    return unused;
}
static void spawns_from_anywhere(void *unused) {
    (void)unused;
    reset();
    begin(&outer);
    child(&outer, grows, ERROR(5));
    pthread_t t = thread_start(spawns_from_outside, NULL);
    struct weft_fiber f = spawn(spawns_from_outside, NULL);
    join(f);
    thread_join(t);
    CHECK_EQ(weft_scope_end(&outer), 0);
    CHECK_EQ(ran, 63 + 20);
}
TEST(any_fiber_may_spawn_into_it) { each_size(spawns_from_anywhere); }

/* --- weft_cancel ---------------------------------------------------------------------------------------------- */

static int stage, seen[4];

static void *has_scopes(void *unused) {
    struct weft_scope first, second;
    begin(&first);
    child(&first, waits, &seen[0]);
    begin(&second);
    child(&second, waits, &seen[1]);
    STORE(&stage, 1);
    seen[2] = weft_scope_end(&second);
    seen[3] = weft_scope_end(&first);
    CHECK_EQ(weft_sleep_for(1), -ECANCELED); /* it was cancelled itself */
    CHECK_EQ(weft_cancelled(), WEFT_BY_REQUEST);
    return unused;
}
static void request_goes_inwards(void *unused) {
    (void)unused;
    for (int early = 0; early < 2; early++) {
        reset();
        stage = 0;
        memset(seen, 0, sizeof seen);
        struct weft_fiber f = spawn(has_scopes, NULL);
        await_yielding(&stage, 1);
        if (!early) settle();
        CHECK_EQ(weft_cancel(f), 0);
        join(f);
        for (int i = 0; i < 4; i++) CHECK_EQ(seen[i], -ECANCELED);
    }
}
TEST(a_request_reaches_what_the_fiber_has_begun) { each_size(request_goes_inwards); }

static void *begins_late(void *unused) {
    struct weft_scope s;
    CHECK_EQ(weft_sleep_for(WEFT_FOREVER), -ECANCELED);
    begin(&s);
    CHECK_EQ(weft_scope_spawn(&s, NULL, succeeds, NULL), -ECANCELED);
    CHECK_EQ(weft_scope_end(&s), -ECANCELED);
    CHECK_EQ(weft_cancelled(), WEFT_BY_REQUEST);
    return unused;
}
static void told_before(void *unused) {
    (void)unused;
    struct weft_fiber f = spawn(begins_late, NULL);
    weft_yield();
    CHECK_EQ(weft_cancel(f), 0);
    join(f);
}
TEST(a_cancelled_fiber_begins_cancelled_scopes) { each_size(told_before); }

/* A single child, by its handle. */
static struct weft_fiber the_child;
static int tells_who(void *unused) {
    (void)unused;
    the_child = weft_self();
    STORE(&stage, 1);
    return weft_sem_wait(&never);
}
static void one_child(void *unused) {
    (void)unused;
    stage = 0;
    begin(&outer);
    child(&outer, tells_who, NULL);
    await_yielding(&stage, 1);
    CHECK_EQ(weft_cancel(the_child), 0);
    CHECK_EQ(weft_scope_end(&outer), -ECANCELED); /* it failed with that */
}
TEST(a_child_that_is_cancelled_fails) { each_size(one_child); }

/* --- shields ---------------------------------------------------------------------------------- */

static int shielded(void *unused) {
    (void)unused;
    struct weft_shield shield, inner;
    struct weft_scope s;
    CHECK_EQ(weft_sem_wait(&never), -ECANCELED);
    CHECK_EQ(weft_shield_begin(&shield), 0);
    CHECK_EQ(weft_cancelled(), 0);
    CHECK_EQ(weft_sleep_for(WEFT_MILLISECOND), 0);
    CHECK_EQ(weft_shield_begin(&inner), 0);
    CHECK_EQ(weft_sleep_for(1), 0);
    CHECK_EQ(weft_shield_end(&shield), -EINVAL);
    CHECK_EQ(weft_shield_end(&inner), 0);
    CHECK_EQ(weft_sleep_for(1), 0);
    /* A scope in the shield is cancelled only directly. */
    CHECK_EQ(weft_scope_begin(&s, weft_now() + 2 * WEFT_MILLISECOND), 0);
    CHECK_EQ(weft_sleep_for(WEFT_FOREVER), -ETIMEDOUT);
    CHECK_EQ(weft_scope_end(&s), -ETIMEDOUT);
    CHECK_EQ(weft_sleep_for(1), 0);
    CHECK_EQ(weft_shield_end(&shield), 0);
    CHECK_EQ(weft_sleep_for(1), -ECANCELED);
    return 0;
}
static void in_a_shield(void *unused) {
    (void)unused;
    begin(&outer);
    child(&outer, shielded, NULL);
    settle();
    CHECK_EQ(weft_scope_cancel(&outer), 0);
    CHECK_EQ(weft_scope_end(&outer), -ECANCELED);
}
TEST(a_shield_keeps_cancellation_off) { each_size(in_a_shield); }

/* The fiber is cancelled while it is in the shield, and notices that after the shield. Scopes around the shield are
 * still cancelled. */
static int waits_in_a_shield(void *unused) {
    (void)unused;
    struct weft_scope around;
    struct weft_shield shield;
    begin(&around);
    child(&around, waits, &seen[0]);
    CHECK_EQ(weft_shield_begin(&shield), 0);
    STORE(&stage, 1);
    while (!LOAD(&ended)) CHECK_EQ(weft_sleep_for(WEFT_MILLISECOND), 0);
    CHECK_EQ(weft_shield_end(&shield), 0);
    CHECK_EQ(weft_sleep_for(1), -ECANCELED);
    return weft_scope_end(&around);
}
static void *waits_in_a_shield_alone(void *unused) {
    CHECK_EQ(waits_in_a_shield(NULL), -ECANCELED);
    CHECK_EQ(weft_cancelled(), WEFT_BY_REQUEST);
    return unused;
}
static void around_a_shield(void *unused) {
    (void)unused;
    reset();
    stage = 0;
    begin(&outer);
    child(&outer, waits_in_a_shield, NULL);
    await_yielding(&stage, 1);
    CHECK_EQ(weft_scope_cancel(&outer), 0);
    CHECK_EQ(weft_scope_end(&outer), -ECANCELED);
    CHECK_EQ(seen[0], -ECANCELED);
    reset();
    stage = 0;
    struct weft_fiber f = spawn(waits_in_a_shield_alone, NULL);
    await_yielding(&stage, 1);
    CHECK_EQ(weft_cancel(f), 0);
    join(f);
}
TEST(what_is_around_a_shield_is_reached) { each_size(around_a_shield); }

/* --- threads ---------------------------------------------------------------------------------- */

TEST(a_thread_has_scopes_too) {
    test_start(2);
    struct weft_scope s;
    int told = 0;
    reset();
    begin(&s);
    for (int i = 0; i < 10; i++) child(&s, yields, NULL);
    CHECK_EQ(weft_scope_end(&s), 0);
    CHECK_EQ(ran, 10);
    CHECK_EQ(weft_scope_begin(&s, weft_now() + 3 * WEFT_MILLISECOND), 0);
    waits_in(&s, &told);
    CHECK_EQ(weft_sem_wait(&never), -ETIMEDOUT);
    CHECK_EQ(weft_scope_end(&s), -ETIMEDOUT);
    CHECK_EQ(told, -ETIMEDOUT);
    CHECK_EQ(weft_cancelled(), 0);
    begin(&s);
    child(&s, fails, ERROR(-EIO));
    CHECK_EQ(weft_sem_wait(&never), -ECANCELED);
    CHECK_EQ(weft_scope_end(&s), -EIO);
    test_stop();
}

/* The runtime stops while a scope with a deadline is open: the end of the scope does not wait for a timer that no
 * longer exists. */
TEST(a_thread_keeps_a_scope_over_a_stop) {
    struct weft_scope s;
    test_start(2);
    CHECK_EQ(weft_scope_begin(&s, weft_now() + 3600 * WEFT_SECOND), 0);
    test_stop();
    CHECK_EQ(weft_scope_end(&s), 0);
    begin(&s);
    CHECK_EQ(weft_scope_spawn(&s, NULL, succeeds, NULL), -ESRCH);
    CHECK_EQ(weft_scope_end(&s), 0);
}

/* The deadline of a thread's scope, with and without a runtime. */
static void *stops(void *unused) {
    await_yielding(&ran, 1);
    test_stop();
    return unused;
}
TEST(a_stop_leaves_a_thread_its_deadline) {
    struct weft_scope s;
    reset();
    test_start(2);
    pthread_t t = thread_start(stops, NULL);
    uint64_t deadline = weft_now() + 50 * WEFT_MILLISECOND;
    CHECK_EQ(weft_scope_begin(&s, deadline), 0);
    STORE(&ran, 1);
    CHECK_EQ(weft_sem_wait(&never), -ETIMEDOUT); /* hangs if the deadline ended with the runtime */
    CHECK(weft_now() >= deadline);
    thread_join(t);
    CHECK_EQ(weft_scope_end(&s), -ETIMEDOUT);
}
TEST(a_deadline_without_a_runtime) {
    struct weft_scope s, inner;
    struct weft_shield shield;
    uint64_t deadline = weft_now() + 5 * WEFT_MILLISECOND;
    CHECK_EQ(weft_scope_begin(&s, deadline), 0);
    while (!weft_cancelled()) CHECK(weft_now() < deadline + 3600 * WEFT_SECOND);
    CHECK(weft_now() >= deadline);
    CHECK_EQ(weft_cancelled(), WEFT_BY_DEADLINE);
    CHECK_EQ(weft_sem_wait(&never), -ETIMEDOUT);
    CHECK_EQ(weft_scope_end(&s), -ETIMEDOUT);
    CHECK_EQ(weft_cancelled(), 0);
    /* The deadline of the inner scope, of the outer scope, and of the outer scope outside a shield. */
    for (int i = 0; i < 3; i++) {
        uint64_t sooner = weft_now() + 2 * WEFT_MILLISECOND, later = weft_now() + 3600 * WEFT_SECOND;
        CHECK_EQ(weft_scope_begin(&s, i ? sooner : later), 0);
        if (i == 2) CHECK_EQ(weft_shield_begin(&shield), 0);
        CHECK_EQ(weft_scope_begin(&inner, i ? later : sooner), 0);
        if (i == 2) CHECK_EQ(weft_sem_wait_until(&never, weft_now() + 4 * WEFT_MILLISECOND), -ETIMEDOUT);
        CHECK_EQ(i == 2 ? weft_cancelled() : weft_sem_wait(&never), i == 2 ? 0 : -ETIMEDOUT);
        CHECK_EQ(weft_scope_end(&inner), i == 2 ? 0 : -ETIMEDOUT);
        if (i == 2) CHECK_EQ(weft_shield_end(&shield), 0);
        CHECK_EQ(weft_scope_end(&s), i ? -ETIMEDOUT : 0);
    }
}
/* The runtime starts, or a new runtime replaces it, after the scope began: children are cancelled, also while the
 * thread computes.
 */
TEST(a_deadline_for_the_children_of_a_thread) {
    for (int i = 0; i < 4; i++) {
        struct weft_scope s;
        int told = 0;
        if (i % 2) test_start(1);
        uint64_t deadline = weft_now() + 20 * WEFT_MILLISECOND;
        CHECK_EQ(weft_scope_begin(&s, deadline), 0);
        if (i % 2) test_stop();
        test_start(2);
        waits_in(&s, &told);
        if (i / 2)
            while (!LOAD(&told)) {
            }
        CHECK_EQ(weft_scope_end(&s), -ETIMEDOUT);
        CHECK(weft_now() >= deadline);
        CHECK_EQ(told, -ETIMEDOUT);
        test_stop();
    }
}

/* --- many ------------------------------------------------------------------------------------- */

/* More members than one call cancels by itself. Other fibers run meanwhile. */
static void a_crowd(void *unused) {
    (void)unused;
    unsigned n = (unsigned)test_fibers(20000);
    reset();
    begin(&outer);
    for (unsigned i = 0; i < n; i++) child(&outer, waits, NULL);
    while ((unsigned)LOAD(&ran) < n) weft_yield();
    settle();
    CHECK_EQ(weft_scope_cancel(&outer), 0);
    CHECK_EQ(weft_scope_end(&outer), -ECANCELED);
    CHECK_EQ(ended, n);
}
TEST_WITHIN(a_crowd_is_cancelled, 60) { each_size(a_crowd); }

/* Scopes in scopes, deeper than one call descends. */
static int digs(void *depth) {
    if (!depth) return waits(NULL);
    struct weft_scope s;
    begin(&s);
    child(&s, digs, ERROR((intptr_t)depth - 1));
    return weft_scope_end(&s);
}
static void deep(void *unused) {
    (void)unused;
    reset();
    begin(&outer);
    child(&outer, digs, ERROR(600));
    while (!LOAD(&ran)) weft_yield();
    settle();
    CHECK_EQ(weft_scope_cancel(&outer), 0);
    CHECK_EQ(weft_scope_end(&outer), -ECANCELED);
    CHECK_EQ(ended, 1);
}
TEST(a_deep_tree_is_cancelled) { each_size(deep); }
