/* SPDX-License-Identifier: MIT */
/* The kernel refuses membarrier while the runtime runs, as with a seccomp filter: everything still works. */
#include "../forbid.h"
#include "fiber.h"

static void refuse(int err) {
    if (forbid(SYS_membarrier, err)) test_skip("no filter can be installed");
}

static int ran, over, hogging;

static void *runs(void *unused) {
    ADD(&ran, 1);
    return unused;
}
static void *computes(void *wanted) {
    STORE(&hogging, 1);
    while (LOAD(&ran) < (int)(uintptr_t)wanted) {
    }
    return NULL;
}
static const struct weft_cluster own; /* {0}: the caller's */

/* --- one worker, which has its queue to itself ----------------------------------------------------------------- */

enum { WAITING = 10 };

static void behind_a_hog(void *unused) {
    (void)unused;
    for (int i = 0; i < 100; i++) weft_yield(); /* it has noticed that it is alone */
    for (int i = 0; i < WAITING; i++) spawn_detached(runs, NULL);
    refuse(EPERM);
    computes((void *)(uintptr_t)WAITING); /* until others have taken all of them */
}
TEST(what_waits_behind_a_hog_runs) { test_in_fiber(1, behind_a_hog, NULL); }

static void with_more_workers(void *unused) {
    (void)unused;
    for (int i = 0; i < 100; i++) weft_yield();
    refuse(EPERM);
    CHECK_EQ(weft_cluster_resize(own, 3), 0);
    weft_sleep_for(WEFT_MILLISECOND); /* it comes home, and must share */
    for (int round = 1; round <= 20; round++) {
        struct weft_fiber hog = spawn(computes, (void *)(uintptr_t)(round * WAITING));
        for (int i = 0; i < WAITING; i++) spawn_detached(runs, NULL);
        join(hog);
        CHECK_EQ(weft_cluster_resize(own, 1 + (unsigned)round % 3), 0);
    }
}
TEST(a_queue_is_shared_again) { test_in_fiber(1, with_more_workers, NULL); }

/* --- sleepers, wakers, forks ------------------------------------------------------------------------------------ */

static struct weft_sem ping = WEFT_SEM_INIT(0), pong = WEFT_SEM_INIT(0);

static void *answers(void *rounds) {
    for (size_t i = (size_t)(uintptr_t)rounds; i > 0; i--) {
        CHECK_EQ(weft_sem_wait(&ping), 0);
        CHECK_EQ(weft_sem_post(&pong), 0);
    }
    return NULL;
}

WEFT_TASK_1(unsigned, fib, unsigned, n) {
    if (n < 2) return n;
    WEFT_SPAWN(fib, n - 1);
    unsigned b = WEFT_CALL(fib, n - 2);
    return WEFT_SYNC(fib) + b;
}
static void *forks(void *unused) {
    while (!LOAD(&over)) {
        CHECK_EQ(WEFT_RUN(fib, 15), 610);
        weft_yield();
    }
    return unused;
}

static void in_the_middle(void *unused) {
    (void)unused;
    size_t rounds = test_size(20000);
    struct weft_fiber other = spawn(answers, (void *)(uintptr_t)rounds), forker = spawn(forks, NULL);
    for (size_t i = 0; i < rounds; i++) {
        if (i == rounds / 2) refuse(EPERM);
        CHECK_EQ(weft_sem_post(&ping), 0);
        CHECK_EQ(weft_sem_wait(&pong), 0);
        if (i % 64 == 0) CHECK_EQ(weft_sleep_for(20 * WEFT_MICROSECOND), 0); /* so that workers go to sleep */
    }
    STORE(&over, 1);
    join(other);
    join(forker);
}
TEST(nothing_is_lost_in_the_middle) { test_in_fiber(4, in_the_middle, NULL); }
