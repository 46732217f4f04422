/* SPDX-License-Identifier: MIT */
/* Fork and join: results, orders of joining, stealing, parking in between, misuse. */
#include "fiber.h"

#include "sched/core/fiber.h"

#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

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

static void add_one(void *p) { ADD((int *)p, 1); }

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

/* --- parking ---------------------------------------------------------------------------------------- */

static void park_a_little(void *p) {
    for (int i = 0; i < 3; i++) weft_yield();
    CHECK_EQ(weft_sleep_for(100 * WEFT_MICROSECOND), 0);
    add_one(p);
}

/* The forking fiber parks between fork and join, and continues on another worker. */
static void check_parks(void *unused) {
    (void)unused;
    for (int round = 0; round < 20; round++) {
        enum { N = 8 };
        struct weft_task task[N];
        int ran = 0;
        for (int i = 0; i < N; i++) {
            CHECK_EQ(weft_task_fork(&task[i], park_a_little, &ran), 0);
            weft_yield();
        }
        CHECK_EQ(weft_sleep_for(50 * WEFT_MICROSECOND), 0);
        for (int i = N; i-- > 0;) {
            weft_yield();
            CHECK_EQ(weft_task_join(&task[i]), 0);
        }
        CHECK_EQ(LOAD(&ran), N);
    }
}
TEST(parks_between) { each_size(check_parks); }

/* A stolen call that waits and has forked nothing needs no deque. A deque reserves 256 MiB of address space, so the
 * test would notice it. */
#define WAITING 1000
static struct weft_sem waiting, may_end;
static void wait_in_call(void *unused) {
    (void)unused;
    CHECK_EQ(weft_sem_post(&waiting), 0);
    CHECK_EQ(weft_sem_wait(&may_end), 0);
}
static size_t address_space(void) {
    size_t pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    CHECK(f != NULL);
    CHECK_EQ(fscanf(f, "%zu", &pages), 1);
    fclose(f);
    return pages * 4096;
}
static void check_waiting_calls(void *unused) {
    (void)unused;
    static struct weft_task tasks[WAITING];
    waiting = may_end = (struct weft_sem)WEFT_SEM_INIT(0);
    size_t before = address_space();
    for (int i = 0; i < WAITING; i++) CHECK_EQ(weft_task_fork(&tasks[i], wait_in_call, NULL), 0);
    for (int i = 0; i < WAITING; i++) CHECK_EQ(weft_sem_wait(&waiting), 0); /* all calls have begun, on other fibers */
    CHECK(address_space() - before < (size_t)WAITING << 26);
    for (int i = 0; i < WAITING; i++) CHECK_EQ(weft_sem_post(&may_end), 0);
    for (int i = WAITING; i-- > 0;) CHECK_EQ(weft_task_join(&tasks[i]), 0);
}
TEST(waiting_calls_need_no_deques) {
    if (!getenv("WEFT_CONTINUATIONS")) test_in_fiber(2, check_waiting_calls, NULL);
}

/* A parked fiber waits for its own task. Another fiber must run the task, however busy the workers are. */
static void post(void *sem) { CHECK_EQ(weft_sem_post(sem), 0); }
static int quit_spinning;
static void *spin(void *unused) {
    while (!LOAD(&quit_spinning)) weft_yield();
    return unused;
}
static void check_waits_for_own(void *unused) {
    (void)unused;
    struct weft_fiber busy[8];
    STORE(&quit_spinning, 0);
    for (int i = 0; i < 8; i++) busy[i] = spawn(spin, NULL);
    for (int i = 0; i < 10; i++) {
        struct weft_sem sem = WEFT_SEM_INIT(0);
        struct weft_task task;
        CHECK_EQ(weft_task_fork(&task, post, &sem), 0);
        CHECK_EQ(weft_sem_wait(&sem), 0);
        CHECK_EQ(weft_task_join(&task), 0);
    }
    STORE(&quit_spinning, 1);
    for (int i = 0; i < 8; i++) join(busy[i]);
}
TEST(waits_for_its_own_task) { each_size(check_waits_for_own); }

/*
 * A dead join. A forks two tasks. The first is stolen, and waits for a permit that only the second, B, gives. A joins
 * the first, and must wait. If the join ran other work meanwhile, it would run B on top of A. But B waits until A
 * continues, and A is below B on the same stack.
 */
static struct weft_sem may_end = WEFT_SEM_INIT(0), a_went_on = WEFT_SEM_INIT(0);
static int stolen_runs;
static void wait_for_b(void *unused) {
    (void)unused;
    STORE(&stolen_runs, 1);
    CHECK_EQ(weft_sem_wait(&may_end), 0);
}
static void b(void *unused) {
    (void)unused;
    CHECK_EQ(weft_sem_post(&may_end), 0);
    CHECK_EQ(weft_sem_wait(&a_went_on), 0);
}
static void check_dead_join(void *unused) {
    (void)unused;
    struct weft_task task, other;
    CHECK_EQ(weft_task_fork(&task, wait_for_b, NULL), 0);
    while (!LOAD(&stolen_runs)) weft_yield();
    CHECK_EQ(weft_task_fork(&other, b, NULL), 0);
    CHECK_EQ(weft_task_join(&task), 0);
    CHECK_EQ(weft_sem_post(&a_went_on), 0);
    CHECK_EQ(weft_task_join(&other), 0);
}
TEST(no_dead_join) { test_in_fiber(1, check_dead_join, NULL); }
TEST(no_dead_join_of_four) { test_in_fiber(4, check_dead_join, NULL); }

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

/* --- sizes ---------------------------------------------------------------------------------------- */

WEFT_VOID_TASK_1(count_typed, int *, n) { ADD(n, 1); }
WEFT_VOID_TASK_2(flat, int, n, int *, ran) {
    for (int i = 0; i < n; i++) WEFT_SPAWN(count_typed, ran);
    for (int i = 0; i < n; i++) WEFT_SYNC(count_typed);
}
static void check_million(void *unused) {
    (void)unused;
    int n = (int)test_size(1000000), ran = 0;
    WEFT_RUN(flat, n, &ran);
    CHECK_EQ(LOAD(&ran), n);
    struct weft_task *task = malloc((size_t)n * sizeof *task);
    for (int i = 0; i < n; i++) CHECK_EQ(weft_task_fork(&task[i], add_one, &ran), 0);
    for (int i = n; i-- > 0;) CHECK_EQ(weft_task_join(&task[i]), 0);
    CHECK_EQ(LOAD(&ran), 2 * n);
    for (int i = 0; i < n; i++) CHECK_EQ(weft_task_fork(&task[i], add_one, &ran), 0);
    for (int i = 0; i < n; i++) CHECK_EQ(weft_task_join(&task[i]), 0);
    CHECK_EQ(LOAD(&ran), 3 * n);
    free(task);
}
TEST_WITHIN(a_million_outstanding, 60) { each_size(check_million); }

/* Memory that many calls have used goes back when the runtime has been idle for a while, for each kind of deque. If it
 * does not, the test hangs. */
static bool holds_at_most(void *kib) { return test_rss_kib() <= *(size_t *)kib; }
static void *fork_many(void *most) {
    int n = 300000, ran = 0;
    WEFT_RUN(flat, n, &ran);
    CHECK_EQ(LOAD(&ran), n);
    *(size_t *)most = test_rss_kib();
    return NULL;
}
static void check_memory(unsigned deque, unsigned continuations) {
    if (TEST_ASAN || TEST_TSAN || test_valgrind() || test_emulated()) test_skip("the tool keeps memory of its own");
    struct weft_config config = WEFT_CONFIG_INIT;
    config.workers = 2;
    config.deque = deque;
    config.continuations = continuations;
    CHECK_EQ(weft_start(&config), 0);
    size_t before = test_rss_kib(), most = 0;
    join(spawn(fork_many, &most));
    CHECK(most > before + 300000 * 64 / 1024 / 2);
    size_t quarter = before + (most - before) / 4;
    test_until(holds_at_most, &quarter);
    test_stop();
}
TEST(memory_goes_back) { check_memory(WEFT_DEQUE_SPLIT, 0); }
TEST(memory_goes_back_by_chase_lev) { check_memory(WEFT_DEQUE_CHASE_LEV, 0); }
TEST(memory_goes_back_by_abp) { check_memory(WEFT_DEQUE_ABP, 0); }
TEST(memory_goes_back_by_locked) { check_memory(WEFT_DEQUE_LOCKED, 0); }
TEST(memory_goes_back_by_continuations) { check_memory(WEFT_DEQUE_SPLIT, 1); }

/* With continuation stealing each call uses up a generation of a fiber that the worker keeps. When the generations of
 * that fiber are used up, the worker takes another fiber, and still ends properly. */
static void wears_out(void *number) {
    uint64_t self = weft_self().id;
    *(uint32_t *)number = weft__life_index(self);
    store_rlx(&weft__fiber_of(weft_self())->slot.life, WEFT_LIFE_LAST | weft__life_index(self));
}
static void has_another(void *number) { CHECK(weft__life_index(weft_self().id) != *(uint32_t *)number); }
static void *fork_worn(void *unused) {
    struct weft_task task;
    uint32_t number = 0;
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(weft_task_fork(&task, wears_out, &number), 0);
        CHECK_EQ(weft_task_join(&task), 0);
        for (int k = 0; k < 10; k++) {
            CHECK_EQ(weft_task_fork(&task, has_another, &number), 0);
            CHECK_EQ(weft_task_join(&task), 0);
        }
    }
    return unused;
}
TEST(a_kept_fiber_wears_out) {
    struct weft_config config = WEFT_CONFIG_INIT;
    config.workers = 1;
    config.continuations = 1;
    CHECK_EQ(weft_start(&config), 0);
    join(spawn(fork_worn, NULL));
    size_t in_use = weft__stack_count_in_use();
    test_stop();
    CHECK(in_use > 0 && weft__stack_count_in_use() == 0); /* the stacks of the kept fibers are free */
}

/* A stolen task gets a stack as large as that of the forking fiber, so recursion that fits there also fits here. */
static void deep(void *p) {
    volatile char frame[1000];
    unsigned n = *(unsigned *)p;
    frame[0] = 1;
    if (n) {
        unsigned less = n - 1;
        struct weft_task task;
        CHECK_EQ(weft_task_fork(&task, deep, &less), 0);
        if (n % 64 == 0) weft_yield(); /* now the task is stolen */
        CHECK_EQ(weft_task_join(&task), 0);
    }
    CHECK_EQ(frame[0], 1);
}
static void *go_deep(void *unused) {
    unsigned n = 500;
    deep(&n);
    return unused;
}
static void check_deep(void *unused) {
    (void)unused;
    struct weft_attr attr = {.stack_size = TEST_ASAN ? 8 << 20 : 1 << 20};
    for (int i = 0; i < 4; i++) join(spawn_with(&attr, go_deep, NULL));
}
TEST(deep) { each_size(check_deep); }

/* --- blocking in C --------------------------------------------------------------------------------- */

/* Other workers run the tasks of a fiber that blocks its kernel thread, even if the fiber has computed before. */
static void posts(void *semaphore) { sem_post(semaphore); }
static void block_after(uint64_t computing) {
    enum { N = 20 };
    struct weft_task task[N];
    sem_t ran;
    sem_init(&ran, 0, 0);
    for (int i = 0; i < N; i++) CHECK_EQ(weft_task_fork(&task[i], posts, &ran), 0);
    for (uint64_t until = weft_now() + computing; weft_now() < until;) continue;
    for (int i = 0; i < N;) i += sem_wait(&ran) == 0;
    for (int i = N; i-- > 0;) CHECK_EQ(weft_task_join(&task[i]), 0);
    sem_destroy(&ran);
}
static void check_blocks(void *unused) {
    (void)unused;
    block_after(0);
}
static void check_computes_and_blocks(void *unused) {
    (void)unused;
    block_after(30 * WEFT_MILLISECOND);
}
TEST(owner_blocks_in_c) { each_size(check_blocks); }
TEST(owner_computes_and_then_blocks_in_c) { each_size(check_computes_and_blocks); }

/*
 * Calls that wait for each other without parking. Each needs its own worker, even if there are fewer processors than
 * workers.
 */
#define MEET 5
static int arrived;
static void meets(void *unused) {
    (void)unused;
    ADD(&arrived, 1);
    while (LOAD(&arrived) < MEET) weft__cpu_yield();
}
static void check_meets(void *unused) {
    (void)unused;
    for (int round = 0; round < 3; round++) {
        struct weft_task task[MEET];
        STORE(&arrived, 0);
        for (int i = 1; i < MEET; i++) CHECK_EQ(weft_task_fork(&task[i], meets, NULL), 0);
        meets(NULL);
        for (int i = MEET; i-- > 1;) CHECK_EQ(weft_task_join(&task[i]), 0);
    }
}
TEST(calls_wait_for_each_other_without_parking) { test_in_fiber(MEET, check_meets, NULL); }

/* The same beside fibers that always wait for these workers and are run by spares. A spare takes no calls. */
static int met;
static void *ticks(void *unused) {
    while (!LOAD(&met)) weft_sleep_for(200 * WEFT_MICROSECOND);
    return unused;
}
static void check_meets_beside(void *unused) {
    struct weft_fiber ticker[MEET];
    STORE(&met, 0);
    for (int i = 0; i < MEET; i++) ticker[i] = spawn(ticks, NULL);
    check_meets(unused);
    STORE(&met, 1);
    for (int i = 0; i < MEET; i++) join(ticker[i]);
}
TEST(calls_wait_for_each_other_beside_spares) { test_in_fiber(MEET, check_meets_beside, NULL); }

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
