/* SPDX-License-Identifier: MIT */
/* Fiber-local values: each fiber has its own, on whichever worker it runs, and they are destroyed at its end. */
#include "fiber.h"

static struct weft_key key, plain;
static int destroyed;
static intptr_t sum;

static void destroy(void *value) {
    ADD(&destroyed, 1);
    __atomic_fetch_add(&sum, (intptr_t)value, __ATOMIC_RELAXED);
}

static void *has_its_own(void *arg) {
    CHECK(!weft_local_get(key));
    CHECK_EQ(weft_local_set(key, arg), 0);
    CHECK_EQ(weft_local_set(plain, (char *)arg + 1), 0);
    for (int i = 0; i < 50; i++) {
        weft_yield();
        if (i == 25) CHECK_EQ(weft_sleep_for(100 * WEFT_MICROSECOND), 0);
        CHECK(weft_local_get(key) == arg);
        CHECK(weft_local_get(plain) == (char *)arg + 1);
    }
    return NULL;
}
static void own_values(void *unused) {
    (void)unused;
    enum { N = 40 };
    struct weft_fiber f[N];
    destroyed = 0;
    sum = 0;
    CHECK_EQ(weft_key_create(&key, destroy), 0);
    CHECK_EQ(weft_key_create(&plain, NULL), 0);
    for (intptr_t i = 0; i < N; i++) f[i] = spawn(has_its_own, (void *)(i + 1));
    for (int i = 0; i < N; i++) join(f[i]);
    CHECK_EQ(LOAD(&destroyed), N); /* before the join has returned */
    CHECK_EQ(sum, N * (N + 1) / 2);
    CHECK_EQ(weft_key_delete(key), 0);
    CHECK_EQ(weft_key_delete(plain), 0);
}
TEST(values_follow_the_fiber) { each_size(own_values); }

static void *exits(void *arg) {
    CHECK_EQ(weft_local_set(key, arg), 0);
    weft_fiber_exit(arg);
}
static void at_exit(void *unused) {
    (void)unused;
    destroyed = 0;
    CHECK_EQ(weft_key_create(&key, destroy), 0);
    CHECK(join(spawn(exits, &sum)) == &sum);
    CHECK_EQ(LOAD(&destroyed), 1);
    CHECK_EQ(weft_key_delete(key), 0);
}
TEST(destroyed_at_exit) { each_size(at_exit); }

/* A destructor runs in the fiber: it may park, and move to another worker. */
static struct weft_sem sem;
static struct weft_fiber ends;
static void destroy_parking(void *value) {
    CHECK(weft_self().id == ends.id);
    CHECK_EQ(weft_sleep_for(WEFT_MILLISECOND), 0);
    CHECK_EQ(weft_sem_wait(&sem), 0);
    weft_yield();
    CHECK(weft_self().id == ends.id);
    ADD((int *)value, 1);
}
static void *sets(void *arg) {
    ends = weft_self();
    CHECK_EQ(weft_local_set(key, arg), 0);
    return arg;
}
static void parking(void *unused) {
    (void)unused;
    int value = 0;
    sem = (struct weft_sem)WEFT_SEM_INIT(0);
    CHECK_EQ(weft_key_create(&key, destroy_parking), 0);
    struct weft_fiber f = spawn(sets, &value);
    CHECK_EQ(weft_join_until(f, NULL, weft_now() + 5 * WEFT_MILLISECOND), -ETIMEDOUT); /* not ended yet */
    CHECK_EQ(weft_sem_post(&sem), 0);
    CHECK(join(f) == &value);
    CHECK_EQ(value, 1);
    CHECK_EQ(weft_key_delete(key), 0);
}
TEST(a_destructor_may_park) { each_size(parking); }

/* A reused record has no values of its last life. */
static void *sees_none(void *arg) {
    CHECK(!weft_local_get(key));
    CHECK_EQ(weft_local_set(key, arg), 0);
    return NULL;
}
static void reused(void *unused) {
    (void)unused;
    destroyed = 0;
    CHECK_EQ(weft_key_create(&key, destroy), 0);
    for (int i = 0; i < 500; i++) join(spawn(sees_none, &sum));
    CHECK_EQ(LOAD(&destroyed), 500);
    CHECK_EQ(weft_key_delete(key), 0);
}
TEST(nothing_is_left_of_the_last_life) { each_size(reused); }

/* A long-lived fiber keeps the value of a key that was deleted. However many keys have been made and deleted since, no
 * later key has that value, and no destructor gets it. */
static void of_an_old_key(void *unused) {
    struct weft_key later;
    destroyed = 0;
    CHECK_EQ(weft_key_create(&key, destroy), 0);
    CHECK_EQ(weft_local_set(key, &destroyed), 0);
    CHECK_EQ(weft_key_delete(key), 0);
    for (unsigned i = 1; i < 1 << 24; i++) {
        CHECK_EQ(weft_key_create(&later, destroy), 0);
        CHECK_EQ(weft_key_delete(later), 0);
    }
    CHECK_EQ(weft_key_create(&later, destroy), 0); /* 24 bits have come round */
    CHECK(!weft_local_get(later));
    (void)unused;
}
TEST_WITHIN(values_of_an_old_key_stay_gone, 60) {
    if (test_valgrind() || test_emulated()) test_skip("sixteen million keys");
    test_in_fiber(1, of_an_old_key, NULL);
    CHECK_EQ(LOAD(&destroyed), 0);
}
