/* SPDX-License-Identifier: MIT */
/* Many outstanding tasks, the memory that they used, and deep recursion. */
#include "tasks.h"

#include "sched/core/fiber.h"

#include <stdlib.h>

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
