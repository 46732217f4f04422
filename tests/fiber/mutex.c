/* Mutexes: exclusion, order, and an owner that is checked. */
#include "chain.h"

static struct weft_mutex m;

static void errors(void *unused) {
    (void)unused;
    struct weft_mutex mutex = WEFT_MUTEX_INIT;
    CHECK_EQ(weft_mutex_unlock(&mutex), -EPERM);
    CHECK_EQ(weft_mutex_lock(&mutex), 0);
    CHECK_EQ(weft_mutex_lock(&mutex), -EDEADLK);
    CHECK_EQ(weft_mutex_lock_until(&mutex, 0), -EDEADLK);
    CHECK_EQ(weft_mutex_try(&mutex), -EBUSY);
    CHECK_EQ(weft_mutex_unlock(&mutex), 0);
    CHECK_EQ(weft_mutex_unlock(&mutex), -EPERM);
    CHECK_EQ(weft_mutex_try(&mutex), 0);
    CHECK_EQ(weft_mutex_unlock(&mutex), 0);
}
TEST(errors_of_one_caller) { each_size(errors); }
TEST(errors_of_a_thread) { errors(NULL); }

static void *not_mine(void *arg) {
    (void)arg;
    CHECK_EQ(weft_mutex_unlock(&m), -EPERM);
    CHECK_EQ(weft_mutex_try(&m), -EBUSY);
    CHECK_EQ(weft_mutex_lock_until(&m, weft_now() + WEFT_MILLISECOND), -ETIMEDOUT);
    return NULL;
}
static void of_another(void *unused) {
    (void)unused;
    m = (struct weft_mutex)WEFT_MUTEX_INIT;
    CHECK_EQ(weft_mutex_lock(&m), 0);
    join(spawn(not_mine, NULL));
    CHECK_EQ(weft_mutex_unlock(&m), 0);
}
TEST(held_by_another) { each_size(of_another); }
TEST(held_by_a_thread) {
    test_start(2);
    of_another(NULL);
    CHECK_EQ(weft_mutex_lock(&m), 0);
    thread_join(thread_start(not_mine, NULL));
    CHECK_EQ(weft_mutex_unlock(&m), 0);
    test_stop();
}

/* A mutex is locked on one worker and unlocked on another: its owner is the fiber. */
static void *holds_across_moves(void *unused) {
    (void)unused;
    for (size_t i = test_size(500); i > 0; i--) {
        CHECK_EQ(weft_mutex_lock(&m), 0);
        weft_yield();
        if (i % 50 == 0) CHECK_EQ(weft_sleep(1000), 0);
        CHECK_EQ(weft_mutex_lock(&m), -EDEADLK);
        CHECK_EQ(weft_mutex_unlock(&m), 0);
    }
    return NULL;
}
static void moves(void *unused) {
    (void)unused;
    struct weft_fiber f[8];
    m = (struct weft_mutex)WEFT_MUTEX_INIT;
    for (int i = 0; i < 8; i++) f[i] = spawn(holds_across_moves, NULL);
    for (int i = 0; i < 8; i++) join(f[i]);
}
TEST_WITHIN(the_owner_is_the_fiber, 60) { each_size(moves); }

/* --- order ----------------------------------------------------------------------------------------------- */

enum { LINE = 16 };
static int order[LINE], served;

static void *stands_in_line(void *arg) {
    CHECK_EQ(weft_mutex_lock(&m), 0);
    order[served++] = (int)(intptr_t)arg;
    CHECK_EQ(weft_mutex_unlock(&m), 0);
    return NULL;
}
TEST(first_come_first_served_fibers_and_threads) {
    test_start(2);
    struct weft_fiber f[LINE];
    pthread_t t[LINE];
    CHECK_EQ(weft_mutex_lock(&m), 0);
    for (intptr_t i = 0; i < LINE; i++) {
        if (i % 2)
            t[i] = thread_start(stands_in_line, (void *)i);
        else
            f[i] = spawn(stands_in_line, (void *)i);
        await_chain(&m.queue, (int)i + 1);
    }
    CHECK_EQ(served, 0);
    CHECK_EQ(weft_mutex_unlock(&m), 0);
    for (int i = 0; i < LINE; i++) {
        if (i % 2)
            thread_join(t[i]);
        else
            join(f[i]);
    }
    for (int i = 0; i < LINE; i++) CHECK_EQ(order[i], i);
    test_stop();
}

/* --- exclusion -------------------------------------------------------------------------------------------- */

static long guarded, entered; /* plain: ThreadSanitizer watches, too */

static void *enters(void *seed) {
    uint64_t random = (uint64_t)(uintptr_t)seed;
    long mine = 0;
    for (size_t i = test_size(3000); i > 0; i--) {
        uint64_t way = test_below(&random, 3);
        int err = way == 0   ? weft_mutex_lock(&m)
                  : way == 1 ? weft_mutex_lock_until(&m, weft_now() + test_below(&random, 50000))
                             : weft_mutex_try(&m);
        if (err) {
            CHECK_EQ(err, way == 1 ? -ETIMEDOUT : -EBUSY);
            CHECK(way);
            continue;
        }
        long seen = ++guarded;
        if (i % 8 == 0) weft_yield();
        CHECK_EQ(guarded, seen);
        mine++;
        CHECK_EQ(weft_mutex_unlock(&m), 0);
    }
    __atomic_fetch_add(&entered, mine, __ATOMIC_RELAXED);
    return NULL;
}
TEST_WITHIN(exclusion_of_fibers_and_threads, 60) {
    test_start(3);
    struct weft_fiber f[8];
    pthread_t t[3];
    for (uintptr_t i = 0; i < 8; i++) f[i] = spawn(enters, (void *)(i + 1));
    for (uintptr_t i = 0; i < 3; i++) t[i] = thread_start(enters, (void *)(i + 100));
    for (int i = 0; i < 8; i++) join(f[i]);
    for (int i = 0; i < 3; i++) thread_join(t[i]);
    CHECK_EQ(guarded, entered);
    CHECK_EQ(weft_mutex_try(&m), 0);
    test_stop();
}
