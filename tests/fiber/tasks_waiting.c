/* SPDX-License-Identifier: MIT */
/* Tasks and fibers that wait between fork and join: parked, in a join, blocked in C. */
#include "tasks.h"

#include "base/sys.h"

#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

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
