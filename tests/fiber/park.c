/* SPDX-License-Identifier: MIT */
/* Park and unpark: one permit, never lost, never two. */
#include "fiber.h"

static void permits(void *unused) {
    (void)unused;
    struct weft_fiber me = weft_self();
    uint64_t before;
    CHECK_EQ(weft_park_until(0), -ETIMEDOUT); /* at first there is no permit */
    CHECK_EQ(weft_unpark(me), 0);
    CHECK_EQ(weft_park(), 0); /* an unpark before the park is not lost */
    CHECK_EQ(weft_unpark(me), 0);
    CHECK_EQ(weft_unpark(me), 0);
    CHECK_EQ(weft_park(), 0); /* and two unparks make one permit */
    CHECK_EQ(weft_park_until(0), -ETIMEDOUT);
    CHECK_EQ(weft_unpark(me), 0);
    CHECK_EQ(weft_park_until(0), 0); /* the permit counts before the deadline */
    before = weft_now();
    CHECK_EQ(weft_park_until(before + 3 * WEFT_MILLISECOND), -ETIMEDOUT);
    CHECK(weft_now() >= before + 3 * WEFT_MILLISECOND);
    CHECK_EQ(weft_unpark(me), 0); /* and an unpark after the deadline is the permit of the next park */
    CHECK_EQ(weft_park(), 0);
}
TEST(one_permit) { each_size(permits); }

/* Other waits neither take the permit nor are ended by it. */
static struct weft_sem sem;
static int stage;
static void *waits_twice(void *unused) {
    (void)unused;
    STORE(&stage, 1);
    CHECK_EQ(weft_sem_wait(&sem), 0);
    CHECK_EQ(LOAD(&stage), 2);
    CHECK_EQ(weft_park(), 0); /* of the unpark during the wait */
    CHECK_EQ(weft_park_until(0), -ETIMEDOUT);
    return NULL;
}
static void during_other_waits(void *unused) {
    (void)unused;
    sem = (struct weft_sem)WEFT_SEM_INIT(0);
    STORE(&stage, 0);
    struct weft_fiber f = spawn(waits_twice, NULL);
    await_yielding(&stage, 1);
    settle();
    CHECK_EQ(weft_unpark(f), 0);
    settle();
    STORE(&stage, 2);
    CHECK_EQ(weft_sem_post(&sem), 0);
    join(f);
}
TEST(other_waits_leave_it_alone) { each_size(during_other_waits); }

/* After the park, the fiber sees everything that was written before the unpark, without any atomic in between. */
struct pair {
    struct weft_fiber fiber[2];
    int turns, value;
};
static void *ping(void *arg) {
    struct pair *p = arg;
    for (int i = 0; i < p->turns; i++) {
        CHECK_EQ(weft_park(), 0);
        CHECK_EQ(p->value, 2 * i);
        p->value++;
        CHECK_EQ(weft_unpark(p->fiber[1]), 0);
    }
    return NULL;
}
static void *pong(void *arg) {
    struct pair *p = arg;
    for (int i = 0; i < p->turns; i++) {
        CHECK_EQ(weft_unpark(p->fiber[0]), 0);
        CHECK_EQ(weft_park(), 0);
        CHECK_EQ(p->value, 2 * i + 1);
        p->value++;
    }
    return NULL;
}
static void ping_pong(void *unused) {
    (void)unused;
    struct pair p = {.turns = (int)test_size(50000)};
    p.fiber[0] = spawn(ping, &p);
    weft_yield();
    p.fiber[1] = weft_self();
    pong(&p);
    join(p.fiber[0]);
    CHECK_EQ(p.value, 2 * p.turns);
}
TEST_WITHIN(ping_pong, 60) { each_size(ping_pong); }

/* Surplus unparks from several fibers and threads: there are never more parks than unparks. */
enum { WAKERS = 4 };
static struct weft_fiber target;
static int wakers_done, unparks, parks;

static void *wakes(void *arg) {
    for (size_t i = test_size(20000); i > 0; i--) {
        ADD(&unparks, 1);
        CHECK_EQ(weft_unpark(target), 0);
        if (i % 64 == 0) weft_yield();
    }
    ADD(&wakers_done, 1);
    CHECK_EQ(weft_unpark(target), 0); /* so that the target sees the end */
    return arg;
}
static void *is_woken(void *unused) {
    (void)unused;
    do { /* on a busy machine all may be done before it begins: then there is the permit */
        CHECK_EQ(weft_park(), 0);
        parks++;
        CHECK(parks <= LOAD(&unparks) + WAKERS);
    } while (LOAD(&wakers_done) < WAKERS);
    return NULL;
}

TEST_WITHIN(unparks_from_fibers_and_threads, 60) {
    test_start(2);
    target = spawn(is_woken, NULL);
    struct weft_fiber f[WAKERS / 2];
    pthread_t t[WAKERS / 2];
    for (int i = 0; i < WAKERS / 2; i++) {
        f[i] = spawn(wakes, NULL);
        t[i] = thread_start(wakes, NULL);
    }
    for (int i = 0; i < WAKERS / 2; i++) {
        join(f[i]);
        thread_join(t[i]);
    }
    join(target);
    CHECK(parks > 0);
    test_stop();
}

TEST(a_thread_has_no_permit) {
    CHECK_EQ(weft_park_until(0), -EPERM);
    CHECK_EQ(weft_park(), -EPERM);
    test_start(1);
    CHECK_EQ(weft_park(), -EPERM);
    CHECK_EQ(weft_unpark(weft_self()), -ESRCH);
    test_stop();
}

static void *ended(void *arg) { return arg; }
static void unpark_of_the_ended(void *unused) {
    (void)unused;
    struct weft_fiber f = spawn(ended, &stage);
    settle();
    CHECK_EQ(weft_unpark(f), 0); /* the handle is valid until the join */
    CHECK(join(f) == &stage);
    CHECK_EQ(weft_unpark(f), -ESRCH);
}
TEST(unpark_of_one_that_has_ended) { each_size(unpark_of_the_ended); }
