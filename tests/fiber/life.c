/* SPDX-License-Identifier: MIT */
/* The life of a fiber: spawn, self, yield, exit, join, detach. */
#include "fiber.h"

#include "../state.h"

static void *same(void *arg) { return arg; }

static void *add_one(void *n) {
    ADD((int *)n, 1);
    return n;
}

static void *parked(void *arg) {
    weft_park();
    return arg;
}

static void results(void *unused) {
    (void)unused;
    enum { N = 100 };
    struct weft_fiber f[N];
    for (uintptr_t i = 0; i < N; i++) f[i] = spawn(same, (void *)(i * 3));
    for (uintptr_t i = N; i-- > 0;) CHECK_EQ((uintptr_t)join(f[i]), i * 3); /* any order */
    CHECK_EQ(weft_join(spawn(same, NULL), NULL), 0);
}
TEST(join_gives_the_result) { each_size(results); }

TEST(join_from_a_thread) {
    test_start(2);
    for (uintptr_t i = 0; i < 200; i++) CHECK_EQ((uintptr_t)join(spawn(same, (void *)i)), i);
    test_stop();
}

/* Through a pointer: it never returns, and compilers would complain. */
static int deeply(int n, void *result);
static int (*volatile deeper)(int n, void *result) = deeply;
static int deeply(int n, void *result) {
    volatile char fill[64];
    fill[n] = (char)n;
    if (!n) weft_fiber_exit(result);
    return deeper(n - 1, result) + fill[n];
}
static void *exits(void *arg) { return deeply(20, arg) ? NULL : arg; }
static void *exits_with(void *arg) {
    weft_fiber_exit(arg);
    return NULL;
}
static void exit_results(void *unused) {
    (void)unused;
    int n = 0;
    CHECK(join(spawn(exits, &n)) == &n);
    CHECK(join(spawn(exits_with, &n)) == &n);
    CHECK(join(spawn(exits_with, NULL)) == NULL);
}
TEST(exit_ends_from_any_depth) { each_size(exit_results); }

/* --- handles ---------------------------------------------------------------------------------------- */

static void *tells_self(void *to) {
    *(struct weft_fiber *)to = weft_self();
    weft_yield();
    CHECK(weft_self().id == ((struct weft_fiber *)to)->id);
    return NULL;
}

static void handles(void *unused) {
    (void)unused;
    struct weft_fiber inside, f = spawn(tells_self, &inside), old;
    join(f);
    CHECK(inside.id == f.id);
    CHECK(weft_self().id != f.id);
    for (int i = 0; i < 1000; i++) { /* records are used again, handles are not */
        old = f;
        f = spawn(same, NULL);
        CHECK(f.id != old.id);
        CHECK_EQ(weft_join(old, NULL), -ESRCH);
        CHECK_EQ(weft_unpark(old), -ESRCH);
        CHECK_EQ(weft_cancel(old), -ESRCH);
        CHECK_EQ(weft_detach(old), -ESRCH);
        join(f);
    }
}
TEST(a_handle_ends_with_the_join) { each_size(handles); }

TEST(self_of_a_thread_is_none) {
    CHECK_EQ(weft_self().id, 0);
    CHECK_EQ(weft_worker(), -EPERM);
    test_start(1);
    CHECK_EQ(weft_self().id, 0);
    CHECK_EQ(weft_worker(), -EPERM);
    weft_yield(); /* sched_yield, and nothing else */
    test_stop();
}

/* --- detached ----------------------------------------------------------------------------------------- */

static struct weft_fiber handle_inside;
static int gate;

static void *detached_body(void *n) {
    handle_inside = weft_self();
    ADD(&gate, 1);
    await_yielding(&gate, 2);
    ADD((int *)n, 1);
    return NULL;
}

static void three_ways_to_detach(void *unused) {
    (void)unused;
    struct weft_fiber handle;
    struct weft_attr detached = {.detached = 1};
    for (int way = 0; way < 3; way++) {
        int done = 0;
        STORE(&gate, 0);
        if (way == 0) spawn_detached(detached_body, &done);
        if (way == 1) CHECK_EQ(weft_spawn(NULL, &detached, detached_body, &done), 0);
        if (way == 2) {
            handle = spawn(detached_body, &done);
            CHECK_EQ(weft_detach(handle), 0);
            CHECK_EQ(weft_detach(handle), -EINVAL);
        }
        await_yielding(&gate, 1);
        handle = handle_inside;
        CHECK_EQ(weft_join(handle, NULL), -EINVAL);
        ADD(&gate, 1);
        await_yielding(&done, 1);
        while (weft_unpark(handle) == 0) weft_yield(); /* the end is a moment later */
        CHECK_EQ(weft_join(handle, NULL), -ESRCH);
        CHECK_EQ(weft_detach(handle), -ESRCH);
    }
}
TEST(detached_fibers_give_themselves_back) { each_size(three_ways_to_detach); }

static void detach_after_the_end(void *unused) {
    (void)unused;
    int done = 0;
    struct weft_fiber f = spawn(add_one, &done);
    await_state(state_ended, f);
    CHECK_EQ(LOAD(&done), 1);
    CHECK_EQ(weft_detach(f), 0);
    CHECK_EQ(weft_detach(f), -ESRCH);
    CHECK_EQ(weft_join(f, NULL), -ESRCH);
}
TEST(detach_of_one_that_has_ended) { each_size(detach_after_the_end); }

/* --- joins that do not succeed -------------------------------------------------------------------------- */

static void *joins_self(void *done) {
    CHECK_EQ(weft_join(weft_self(), NULL), -EDEADLK);
    CHECK_EQ(weft_join_until(weft_self(), NULL, 0), -EDEADLK);
    STORE((int *)done, 1);
    return NULL;
}

static void *joins(void *arg) {
    struct weft_fiber *f = arg;
    return (void *)(intptr_t)weft_join(*f, NULL);
}

static void refused(void *unused) {
    (void)unused;
    void *result;
    int done = 0;
    struct weft_fiber self = spawn(joins_self, &done);
    await_yielding(&done, 1); /* while no other fiber joins it */
    join(self);
    struct weft_fiber f = spawn(parked, &gate), first = spawn(joins, &f);
    await_state(state_joined, f);
    CHECK_EQ(weft_join(f, &result), -EBUSY);
    CHECK_EQ(weft_join_until(f, NULL, weft_now() + WEFT_MILLISECOND), -EBUSY);
    CHECK_EQ(weft_detach(f), -EBUSY);
    CHECK_EQ(weft_unpark(f), 0);
    CHECK_EQ((intptr_t)join(first), 0);
    CHECK_EQ(weft_join(f, NULL), -ESRCH);
}
TEST(one_joins_and_others_are_refused) { each_size(refused); }

/* The fiber has ended, and its joiner is ready but has not run: no other fiber can join it. */
static struct weft_fiber contended;
static void *joins_contended(void *arg) {
    int (*call)(struct weft_fiber) = (int (*)(struct weft_fiber))(uintptr_t)arg;
    return (void *)(intptr_t)call(contended);
}
static int just_join(struct weft_fiber f) { return weft_join(f, NULL); }

static void late_joiner(void *unused) {
    (void)unused;
    int (*const late[])(struct weft_fiber) = {just_join, weft_detach};
    for (int i = 0; i < 2; i++) {
        contended = spawn(same, NULL); /* one worker: they run in the order of their spawns */
        weft_yield();                  /* it has ended */
        join(contended);
        contended = spawn(parked, NULL);
        struct weft_fiber a = spawn(joins_contended, (void *)(uintptr_t)just_join);
        weft_yield();
        weft_yield();
        CHECK_EQ(weft_unpark(contended), 0); /* it ends before b runs, and a is behind b in the queue */
        struct weft_fiber b = spawn(joins_contended, (void *)(uintptr_t)late[i]);
        intptr_t second = (intptr_t)join(b), first = (intptr_t)join(a);
        CHECK_EQ(first, 0);
        CHECK(second == -EBUSY || second == -ESRCH);
        struct weft_fiber x = spawn(same, NULL), y = spawn(same, NULL);
        CHECK(weft__life_index(x.id) != weft__life_index(y.id)); /* the record was given back once */
        join(x);
        join(y);
    }
}
TEST(a_second_collector_gets_nothing) {
    no_rescue();
    test_in_fiber(1, late_joiner, NULL);
}

static void deadlines(void *unused) {
    (void)unused;
    void *result = NULL;
    struct weft_fiber f = spawn(parked, &gate);
    uint64_t until = weft_now() + 3 * WEFT_MILLISECOND;
    CHECK_EQ(weft_join_until(f, &result, 0), -ETIMEDOUT);
    CHECK_EQ(weft_join_until(f, &result, until), -ETIMEDOUT);
    CHECK(weft_now() >= until);
    CHECK(!result);
    CHECK_EQ(weft_unpark(f), 0);
    CHECK_EQ(weft_join_until(f, &result, weft_now() + 10 * WEFT_SECOND), 0);
    CHECK(result == &gate);
    f = spawn(same, &gate);
    await_state(state_ended, f);
    CHECK_EQ(weft_join_until(f, NULL, 0), 0); /* it has ended: no wait */
}
TEST(join_with_a_deadline) { each_size(deadlines); }
TEST(join_with_a_deadline_from_a_thread) {
    test_start(2);
    deadlines(NULL);
    test_stop();
}

/* --- spawns ------------------------------------------------------------------------------------------------ */

static void *tree(void *depth) {
    uintptr_t n = (uintptr_t)depth;
    if (!n) return (void *)1;
    struct weft_fiber left = spawn(tree, (void *)(n - 1)), right = spawn(tree, (void *)(n - 1));
    uintptr_t sum = (uintptr_t)join(left) + (uintptr_t)join(right);
    return (void *)sum;
}
static void grow_tree(void *unused) {
    (void)unused;
    uintptr_t depth = TEST_TSAN || test_valgrind() ? 9 : test_emulated() ? 12 : 15;
    CHECK_EQ((uintptr_t)tree((void *)depth), (uintptr_t)1 << depth);
}
TEST(a_tree_of_fibers) { each_size(grow_tree); }

static void tied_to_a_counter(void *unused) {
    (void)unused;
    struct weft_counter c = WEFT_COUNTER_INIT;
    struct weft_attr attr = {.counter = &c, .name = "tied"};
    int done = 0;
    CHECK_EQ(weft_counter_add(&c, 50), 0);
    for (int i = 0; i < 50; i++) CHECK_EQ(weft_spawn(NULL, &attr, add_one, &done), 0);
    CHECK_EQ(weft_counter_wait(&c, 0), 0);
    CHECK_EQ(LOAD(&done), 50);
    CHECK_EQ(weft_counter_value(&c), 0);
}
TEST(a_spawn_tied_to_a_counter) { each_size(tied_to_a_counter); }

static void *where_am_i(void *unused) {
    (void)unused;
    for (int i = 0; i < 100; i++) {
        int w = weft_worker();
        CHECK(w >= 0); /* it may be a spare, in place of a stuck worker */
        weft_yield();
    }
    return NULL;
}
static void workers_in_range(void *unused) {
    (void)unused;
    struct weft_fiber f[20];
    for (int i = 0; i < 20; i++) f[i] = spawn(where_am_i, NULL);
    for (int i = 0; i < 20; i++) join(f[i]);
}
TEST(the_worker_is_in_range) { each_size(workers_in_range); }

static void bad_spawns(void *unused) {
    (void)unused;
    struct weft_fiber f = {77};
    struct weft_attr large = {.stack_size = ((size_t)64 << 20) + 1}, pinned = {.pinned = weft_workers() + 1};
    CHECK_EQ(weft_spawn(&f, NULL, NULL, NULL), -EINVAL);
    CHECK_EQ(weft_spawn(&f, &large, same, NULL), -EINVAL);
    CHECK_EQ(weft_spawn(&f, &pinned, same, NULL), -EINVAL);
    CHECK_EQ(f.id, 0); /* after a failed spawn the handle is empty */
}
TEST(bad_attributes) { each_size(bad_spawns); }

/* --- handles for ever --------------------------------------------------------------------------------- */

/* Spawns the next fiber in the record of a fiber that has ended. With one worker, the last returned record is used
 * first. */
static struct weft_fiber spawn_in_record(struct weft_fiber of) {
    struct weft_fiber f = spawn(parked, NULL);
    CHECK_EQ(weft__life_index(f.id), weft__life_index(of.id));
    return f;
}
static void check_stale(struct weft_fiber f) {
    CHECK_EQ(weft_join(f, NULL), -ESRCH);
    CHECK_EQ(weft_join_until(f, NULL, 1), -ESRCH);
    CHECK_EQ(weft_detach(f), -ESRCH);
    CHECK_EQ(weft_unpark(f), -ESRCH);
    CHECK_EQ(weft_cancel(f), -ESRCH);
    CHECK_EQ(weft_cluster_move(f, weft_cluster_self()), -ESRCH);
}

/* Generations whose low bits are those of the handle: a comparison must use all bits. */
static void many_lives(void *unused) {
    (void)unused;
    for (unsigned bit = 1; bit < 64 - WEFT_LIFE_INDEX_BITS; bit++) {
        struct weft_fiber old = spawn(same, NULL);
        join(old);
        struct weft__fiber *record = weft__fiber_at(weft__life_index(old.id));
        uint64_t then = old.id + (WEFT_LIFE_ONE << bit);
        if (then < old.id) then = old.id - (WEFT_LIFE_ONE << bit);
        /* The record is free, and its next life has this generation. */
        store_rlx(&record->slot.life, then - WEFT_LIFE_ONE);
        struct weft_fiber f = spawn_in_record(old);
        CHECK_EQ(f.id, then);
        check_stale(old);
        CHECK_EQ(weft_unpark(f), 0);
        join(f);
        check_stale(f);
        store_rlx(&record->slot.life, old.id + WEFT_LIFE_ONE);
    }
}
TEST(a_stale_handle_is_stale_for_ever) { test_in_fiber(1, many_lives, NULL); }

/* The last life of a record: the fiber is joined, detached, or never joined. */
static void last_life(void *unused) {
    (void)unused;
    for (unsigned how = 0; how < 3; how++) {
        struct weft_fiber old = spawn(same, NULL);
        join(old);
        struct weft__fiber *record = weft__fiber_at(weft__life_index(old.id));
        store_rlx(&record->slot.life, (WEFT_LIFE_LAST - WEFT_LIFE_ONE) | weft__life_index(old.id));
        struct weft_fiber f = spawn_in_record(old);
        CHECK_EQ(f.id + WEFT_LIFE_ONE, weft__life_index(f.id)); /* no life follows */
        if (how == 1) CHECK_EQ(weft_detach(f), 0);
        CHECK_EQ(weft_unpark(f), 0);
        if (how == 2) await_state(state_ended, f);
        if (how != 1) join(f);
        for (int i = 0; i < 100; i++) {
            weft_yield();
            struct weft_fiber other = spawn(same, NULL);
            CHECK(weft__life_index(other.id) != weft__life_index(f.id));
            join(other);
        }
        check_stale(f);
        check_stale(old);
    }
}
TEST(a_record_that_is_worn_out_has_no_other_fiber) { test_in_fiber(1, last_life, NULL); }
