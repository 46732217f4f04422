/* SPDX-License-Identifier: MIT */
/*
 * More fibers than available stacks. A child of the test limits its address space, and the fibers that have a stack
 * keep it until the test releases them. No spawned fiber may be lost, no worker may spin, and when stacks come back
 * everything must work again, whichever worker has them.
 */
#define _GNU_SOURCE
#include "fiber.h"

#include "../state.h"
#include "weft/par.h"

#include <sys/mman.h>
#include <sys/resource.h>

enum { LARGE = 256 * 1024 };

static struct test_child child;
static struct weft_sem go;
static int began, ended, ran;

/* --- a shortage ---------------------------------------------------------------------------------------------- */

static void limit(size_t more) {
    struct rlimit l;
    CHECK(!getrlimit(RLIMIT_AS, &l));
    l.rlim_cur = more == SIZE_MAX ? l.rlim_max : test_mapped_kib() * 1024 + more;
    CHECK(!setrlimit(RLIMIT_AS, &l));
}
static void *hold(void *unused) {
    ADD(&began, 1);
    weft_sem_wait(&go); /* or it is cancelled */
    ADD(&ended, 1);
    return unused;
}
static void *run(void *unused) {
    ADD(&ran, 1);
    return unused;
}
static bool all_began(void *n) { return LOAD(&began) + LOAD(&ran) >= *(int *)n; }
static bool are_scarce(void *unused) {
    (void)unused;
    return load_rlx(&weft__stack_is_scarce);
}
static bool are_not_scarce(void *unused) { return !are_scarce(unused); }

/* Spawns fibers that each keep a stack, until there are no more stacks: then at least one fiber waits for a stack, and
 * spawns are refused, even after all workers have returned their cached stacks. Called by a thread or a fiber. Returns
 * how many fibers were spawned. */
static int exhaust(size_t size) {
    struct weft_attr attr = {.stack_size = size, .detached = 1};
    int before = LOAD(&began), n = 0, refused = 0;
    while (refused < 100) {
        int err = weft_spawn(NULL, &attr, hold, NULL);
        CHECK(!err || err == -EAGAIN || err == -ENOMEM);
        n += !err;
        refused = err && are_scarce(NULL) ? refused + 1 : 0;
        while (!err && LOAD(&began) < before + n && !are_scarce(NULL)) weft_self().id ? weft_yield() : test_nap_ms(0);
        CHECK(n < 100000);
    }
    return n;
}
static void let_go(int n) {
    for (int i = 0; i < n; i++) CHECK_EQ(weft_sem_post(&go), 0);
}
static bool all_ended(void *n) { return LOAD(&ended) >= *(int *)n; }

/* Every spawn with this size works. */
static void check_spawns(size_t size) {
    struct weft_attr attr = {.stack_size = size};
    int before = LOAD(&ran);
    for (int i = 0; i < 100; i++) join(spawn_with(&attr, run, NULL));
    CHECK_EQ(LOAD(&ran), before + 100);
}

static void start(unsigned workers) {
    weft_sem_init(&go, 0);
    test_start(workers);
    check_spawns(0);
    limit((size_t)8 << 20);
}

static void in_child(void (*fn)(void *), unsigned workers) {
    if (TEST_ASAN || TEST_TSAN || test_valgrind() || test_emulated()) test_skip("the tool uses the address space");
    test_child(&child, fn, &workers);
    if (!test_child_exited(&child, 0)) test_fail(__FILE__, __LINE__, "status %x: %s", child.status, child.said);
}
static void with_each(void (*fn)(void *)) {
    for (unsigned workers = 1; workers <= 4; workers *= 2) in_child(fn, workers);
}

/* --- the shortage ends ------------------------------------------------------------------------------------------- */

static void passes(void *workers) {
    start(*(unsigned *)workers);
    for (int round = 0; round < 3; round++) {
        STORE(&ended, 0);
        int n = exhaust(round % 2 ? LARGE : 0);
        let_go(n);
        test_until(all_ended, &n);
        test_until(are_not_scarce, NULL);
        check_spawns(0);
        check_spawns(LARGE);
        check_spawns(16384);
    }
    test_stop();
}
TEST(a_lack_passes) {
    with_each(passes);
    CHECK_HAS(test_line_with(child.said, "weft: "), "no more stacks");
}

/* The same with a fiber that spawns, which has a stack itself. */
static void *spawn_and_let_go(void *unused) {
    int n = exhaust(0);
    let_go(n);
    while (LOAD(&ended) < n) weft_yield();
    check_spawns(0);
    check_spawns(LARGE);
    return unused;
}
static void passes_inside(void *workers) {
    start(*(unsigned *)workers);
    join(spawn(spawn_and_let_go, NULL));
    test_stop();
}
TEST(a_lack_among_fibers_passes) { with_each(passes_inside); }

/* Many fibers are queued before any has begun. They begin one after the other, as stacks come back. */
static void *spawn_all_at_once(void *count) {
    struct weft_attr attr = {.detached = 1};
    int n = 0;
    while (n < 3000 && !weft_spawn(NULL, &attr, hold, NULL)) n++;
    *(int *)count = n;
    return NULL;
}
/* With several workers a spawn may be refused when a single fiber waits, and that fiber gets the spawner's stack. */
static bool are_scarce_or_all_began(void *n) { return are_scarce(NULL) || all_began(n); }
static void queued(void *workers) {
    int n = 0;
    start(*(unsigned *)workers);
    int before = LOAD(&ran);
    join(spawn(spawn_all_at_once, &n));
    int all = before + n;
    test_until(are_scarce_or_all_began, &all);
    if (*(unsigned *)workers == 1) CHECK(n > LOAD(&began));
    let_go(n);
    test_until(all_ended, &n);
    CHECK_EQ(LOAD(&began), n);
    check_spawns(0);
    test_stop();
}
TEST(those_that_are_queued_begin_later) { with_each(queued); }

/* Address space comes back, and no fiber ends: the trimmer must try again. */
static void comes_back(void *workers) {
    start(*(unsigned *)workers);
    int n = exhaust(0);
    limit(SIZE_MAX);
    test_until(all_began, &n);
    check_spawns(0);
    let_go(n);
    test_stop();
}
TEST(address_space_that_comes_back_is_noticed) { with_each(comes_back); }

/* --- where the stacks are ----------------------------------------------------------------------------------- */

/* Worker 1 has used all stacks, has some in its cache, and sleeps. Only worker 0 may run the fiber that needs a stack.
 * */
static void other_cache(void *unused) {
    (void)unused;
    start(2);
    struct weft_attr here = {.pinned = 1}, there = {.pinned = 2, .detached = 1};
    int n = 0;
    while (!are_scarce(NULL)) n += !weft_spawn(NULL, &there, hold, NULL);
    let_go(n);
    test_until(all_ended, &n);
    test_until(are_not_scarce, NULL);
    limit(0);
    for (int i = 0; i < 50; i++) join(spawn_with(&here, run, NULL));
    CHECK_EQ(LOAD(&ran), 150);
    test_stop();
}
TEST(stacks_in_the_cache_of_another_worker) { in_child(other_cache, 2); }

/* All address space is divided into stacks of one size, and none of these is used. */
static void other_sizes(void *workers) {
    static const size_t sizes[] = {0, LARGE, 16384, 4 * LARGE, 32768};
    start(*(unsigned *)workers);
    for (unsigned i = 0; i < 5; i++) {
        STORE(&ended, 0);
        int n = exhaust(sizes[i]);
        let_go(n);
        test_until(all_ended, &n);
        for (unsigned k = 0; k < 5; k++) check_spawns(sizes[k]);
    }
    test_stop();
}
TEST(stacks_of_another_size) { with_each(other_sizes); }

/* Fibers with small stacks use larger stacks if they must, and return them to the pool of the larger size. */
static void larger_ones(void *unused) {
    (void)unused;
    start(1);
    int n = exhaust(LARGE), few = n - LOAD(&began) + 1;
    let_go(few); /* the waiting fibers begin, and one stack is free, in an arena that cannot be unmapped */
    test_until(all_ended, &few);
    test_until(are_not_scarce, NULL);
    for (int i = 0; i < 50; i++) check_spawns(16384);
    let_go(n - few);
    test_until(all_ended, &n);
    check_spawns(LARGE);
    test_stop();
}
TEST(a_larger_stack_than_was_asked_for) { in_child(larger_ones, 1); }

/* --- the runtime ends --------------------------------------------------------------------------------------- */

/* Workers sleep while fibers wait for a stack. A worker that retried all the time would never sleep. */
static void stops(void *workers) {
    int n = 0;
    start(*(unsigned *)workers);
    join(spawn(spawn_all_at_once, &n));
    CHECK_EQ(weft_stop(), -EBUSY);
    CHECK(LOAD(&began) < n);
    let_go(n);
    CHECK_EQ(weft_stop(), 0);
    CHECK_EQ(LOAD(&ended), n);
    limit(SIZE_MAX);
    test_start(2);
    check_spawns(0);
    test_stop();
}
TEST(a_stop_is_reported) {
    with_each(stops);
    CHECK_HAS(child.said, "blocked, and nothing is left to wake it");
}

static int leave_them(void *unused) {
    (void)unused;
    limit((size_t)8 << 20);
    exhaust(0);
    return 7;
}
/* The fibers that hold stacks are cancelled, and end. Then the waiting fibers begin, and are cancelled, too. */
static void runs(void *workers) {
    struct weft_config config = {.workers = *(unsigned *)workers};
    weft_sem_init(&go, 0);
    CHECK_EQ(weft_run(leave_them, NULL, &config), 7);
    CHECK(LOAD(&began) > 0);
    CHECK_EQ(LOAD(&began), LOAD(&ended));
    CHECK(!are_scarce(NULL));
}
TEST(a_run_ends) { with_each(runs); }

static int never(void *unused) {
    (void)unused;
    test_fail(__FILE__, __LINE__, "it has no stack");
}
static int seven(void *unused) {
    (void)unused;
    return 7;
}
static void no_first(void *workers) {
    struct weft_config config = {.workers = *(unsigned *)workers, .stack_size = (size_t)64 << 20};
    CHECK_EQ(weft_run(seven, NULL, NULL), 7); /* the C library has allocated what it needs for threads */
    limit((size_t)60 << 20);
    for (int i = 0; i < 3; i++) {
        int err = weft_run(never, NULL, &config);
        CHECK(err == -EAGAIN || err == -ENOMEM);
        config.stack_size = 0;
        CHECK_EQ(weft_run(seven, NULL, &config), 7);
        config.stack_size = (size_t)64 << 20;
    }
    limit(SIZE_MAX);
    CHECK_EQ(weft_run(seven, NULL, &config), 7);
}
TEST(a_run_without_the_first_stack) { with_each(no_first); }

/* --- other users of stacks ---------------------------------------------------------------------------------- */

static int add(size_t first, size_t last, void *sum) {
    for (; first < last; first++) ADD((size_t *)sum, first);
    return 0;
}
static void forks(void *count) { ADD((int *)count, 1); }
static void *loops(void *unused) {
    size_t sum = 0;
    struct weft_task task[100];
    int count = 0, n = exhaust(0);
    CHECK_EQ(weft_for(0, 10000, add, &sum, NULL), 0);
    CHECK_EQ(sum, 10000 * 9999 / 2);
    for (int i = 0; i < 100; i++) CHECK_EQ(weft_task_fork(&task[i], forks, &count), 0);
    for (int i = 100; i > 0; i--) CHECK_EQ(weft_task_join(&task[i - 1]), 0);
    CHECK_EQ(LOAD(&count), 100);
    let_go(n);
    return unused;
}
static void loops_go_on(void *workers) {
    start(*(unsigned *)workers);
    join(spawn(loops, NULL));
    test_stop();
}
TEST(loops_and_forks_go_on) { with_each(loops_go_on); }

/* The handle of a fiber that waits for a stack is like any other. */
static void handles(void *workers) {
    start(*(unsigned *)workers);
    int n = exhaust(0);
    struct weft_fiber f[2];
    limit(SIZE_MAX);
    test_until(are_not_scarce, NULL);
    limit(0);
    let_go(n);
    test_until(all_ended, &n);
    STORE(&ended, 0);
    STORE(&began, 0);
    for (int i = 0; i < 2; i++) f[i] = spawn(hold, NULL);
    test_until(all_began, &(int){2});
    n = exhaust(0) + 2;
    CHECK_EQ(weft_unpark(f[0]), 0);
    CHECK_EQ(weft_cancel(f[1]), 0); /* which ends it: a waiting fiber gets its stack */
    join(f[1]);
    let_go(n);
    join(f[0]);
    test_stop();
}
TEST(handles_of_those_that_wait) { with_each(handles); }
