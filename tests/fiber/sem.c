/* SPDX-License-Identifier: MIT */
/* Semaphores: no unit is lost or duplicated, and units go to the longest waiter. */
#include "chain.h"

static void values(void *unused) {
    (void)unused;
    struct weft_sem s = WEFT_SEM_INIT(2), zero = WEFT_SEM_INIT(0);
    CHECK_EQ(weft_sem_try(&s), 0);
    CHECK_EQ(weft_sem_wait(&s), 0);
    CHECK_EQ(weft_sem_try(&s), -EAGAIN);
    CHECK_EQ(weft_sem_wait_until(&s, 0), -ETIMEDOUT);
    CHECK_EQ(weft_sem_post(&s), 0);
    CHECK_EQ(weft_sem_wait_until(&s, 0), 0);
    CHECK_EQ(weft_sem_try(&zero), -EAGAIN);
    CHECK_EQ(weft_sem_init(&s, 5), 0);
    for (int i = 0; i < 5; i++) CHECK_EQ(weft_sem_try(&s), 0);
    CHECK_EQ(weft_sem_try(&s), -EAGAIN);
    CHECK_EQ(weft_sem_init(&s, UINT64_C(1) << 60), 0);
    CHECK_EQ(weft_sem_post(&s), -EOVERFLOW);
    CHECK_EQ(weft_sem_try(&s), 0);
    CHECK_EQ(weft_sem_post(&s), 0);
    CHECK_EQ(weft_sem_init(&s, (UINT64_C(1) << 60) + 1), -EINVAL);
}
TEST(values) { each_size(values); }
TEST(values_without_a_runtime) { values(NULL); }

/* --- order --------------------------------------------------------------------------------------------- */

static struct weft_sem line_sem;
static int arrived, order[LINE], served;

static void *stands_in_line(void *arg) {
    ADD(&arrived, 1);
    CHECK_EQ(weft_sem_wait(&line_sem), 0);
    order[served++] = (int)(intptr_t)arg; /* one at a time: each posts for the next */
    CHECK_EQ(weft_sem_post(&line_sem), 0);
    return NULL;
}

TEST(first_come_first_served_fibers_and_threads) {
    test_start(2);
    struct line line;
    line_begin(&line, stands_in_line, &line_sem.queue);
    CHECK_EQ(weft_sem_post(&line_sem), 0);
    line_join(&line);
    for (int i = 0; i < LINE; i++) CHECK_EQ(order[i], i);
    CHECK_EQ(weft_sem_try(&line_sem), 0);
    CHECK_EQ(weft_sem_try(&line_sem), -EAGAIN);
    test_stop();
}

/* --- units ----------------------------------------------------------------------------------------------- */

static struct weft_sem pool;
static int inside;
enum { UNITS = 3 };

static void *borrows(void *seed) {
    uint64_t random = (uint64_t)(uintptr_t)seed;
    for (size_t i = test_size(2000); i > 0; i--) {
        uint64_t way = test_below(&random, 3);
        int err = way == 0   ? weft_sem_wait(&pool)
                  : way == 1 ? weft_sem_wait_until(&pool, weft_now() + test_below(&random, 20000))
                             : weft_sem_try(&pool);
        if (err) {
            CHECK_EQ(err, way == 1 ? -ETIMEDOUT : -EAGAIN);
            CHECK(way);
            weft_yield();
            continue;
        }
        CHECK(ADD(&inside, 1) < UNITS);
        if (i % 4 == 0) weft_yield();
        ADD(&inside, -1);
        CHECK_EQ(weft_sem_post(&pool), 0);
    }
    return NULL;
}
TEST_WITHIN(no_unit_is_lost_or_made, 60) {
    test_start(3);
    struct weft_fiber f[8];
    pthread_t t[3];
    CHECK_EQ(weft_sem_init(&pool, UNITS), 0);
    for (uintptr_t i = 0; i < 8; i++) f[i] = spawn(borrows, (void *)(i + 1));
    for (uintptr_t i = 0; i < 3; i++) t[i] = thread_start(borrows, (void *)(i + 100));
    for (int i = 0; i < 8; i++) join(f[i]);
    for (int i = 0; i < 3; i++) thread_join(t[i]);
    for (int i = 0; i < UNITS; i++) CHECK_EQ(weft_sem_try(&pool), 0);
    CHECK_EQ(weft_sem_try(&pool), -EAGAIN);
    test_stop();
}

/* A fiber posts; a thread waits, and then frees the semaphore at once. */
static void *posts(void *s) {
    CHECK_EQ(weft_sem_post(s), 0);
    return NULL;
}
TEST_WITHIN(freed_when_the_wait_has_returned, 60) {
    test_start(2);
    for (size_t i = test_size(3000); i > 0; i--) {
        struct weft_sem s = WEFT_SEM_INIT(0);
        spawn_detached(posts, &s);
        CHECK_EQ(weft_sem_wait(&s), 0);
        s.queue.word = ~UINT64_C(0);
        s.queue.first = (struct weft_waiter *)(uintptr_t)8;
    }
    test_stop();
}

/* Two fibers pass one unit back and forth. */
static struct weft_sem ball[2];
static void *plays(void *arg) {
    intptr_t me = (intptr_t)arg;
    for (size_t i = test_size(50000); i > 0; i--) {
        CHECK_EQ(weft_sem_wait(&ball[me]), 0);
        CHECK_EQ(weft_sem_post(&ball[!me]), 0);
    }
    return NULL;
}
static void ping_pong(void *unused) {
    (void)unused;
    ball[0] = (struct weft_sem)WEFT_SEM_INIT(1);
    ball[1] = (struct weft_sem)WEFT_SEM_INIT(0);
    struct weft_fiber a = spawn(plays, (void *)0), b = spawn(plays, (void *)1);
    join(a);
    join(b);
    CHECK_EQ(weft_sem_try(&ball[0]), 0);
    CHECK_EQ(weft_sem_try(&ball[1]), -EAGAIN);
}
TEST_WITHIN(ping_pong, 60) { each_size(ping_pong); }
