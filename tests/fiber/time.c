/* SPDX-License-Identifier: MIT */
/* Sleeps and timers: never early, exactly once, and never lost, even while all workers sleep. */
#include "fiber.h"

#include "driver/wheel.h"

static void *sleeps(void *seed) {
    uint64_t random = (uint64_t)(uintptr_t)seed;
    for (size_t i = test_size(30); i > 0; i--) {
        uint64_t length = test_below(&random, 5 * WEFT_MILLISECOND), start = weft_now();
        CHECK_EQ(weft_sleep_for(length), 0);
        CHECK(weft_now() >= start + length);
        uint64_t until = weft_now() + test_below(&random, WEFT_MILLISECOND);
        CHECK_EQ(weft_sleep_until(until), 0);
        CHECK(weft_now() >= until);
    }
    return NULL;
}
static void never_early(void *unused) {
    (void)unused;
    enum { N = 50 };
    struct weft_fiber f[N];
    for (uintptr_t i = 0; i < N; i++) f[i] = spawn(sleeps, (void *)(i + 1));
    for (int i = 0; i < N; i++) join(f[i]);
}
TEST_WITHIN(a_sleep_is_never_early, 60) { each_size(never_early); }
TEST(a_thread_sleeps_too) {
    sleeps((void *)1); /* without a runtime */
    test_start(1);
    sleeps((void *)2);
    test_stop();
}

static void no_length(void *unused) {
    (void)unused;
    CHECK_EQ(weft_sleep_for(0), 0);
    CHECK_EQ(weft_sleep_until(0), 0);
    CHECK_EQ(weft_sleep_until(1), 0);
    CHECK_EQ(weft_sleep_until(weft_now()), 0);
}
TEST(sleeps_that_are_over) { each_size(no_length); }

static void *sleeps_for_ever(void *arg) {
    uint64_t *length = arg;
    CHECK_EQ(*length ? weft_sleep_for(*length) : weft_sleep_until(WEFT_FOREVER), -ECANCELED);
    return NULL;
}
static void for_ever(void *unused) {
    (void)unused;
    uint64_t lengths[] = {0, WEFT_FOREVER, WEFT_FOREVER - 1, WEFT_FOREVER - weft_now(), WEFT_FOREVER / 2};
    struct weft_fiber f[5];
    for (int i = 0; i < 5; i++) f[i] = spawn(sleeps_for_ever, &lengths[i]);
    settle();
    for (int i = 0; i < 5; i++) CHECK_EQ(weft_cancel(f[i]), 0);
    for (int i = 0; i < 5; i++) join(f[i]);
}
TEST(sleeps_without_end) { each_size(for_ever); }

/* Many fibers sleep with a few different deadlines, and another fiber sleeps beside them. All wake. */
static int awake;
static void *sleeps_until(void *until) {
    CHECK_EQ(weft_sleep_until(*(uint64_t *)until), 0);
    CHECK(weft_now() >= *(uint64_t *)until);
    ADD(&awake, 1);
    return NULL;
}
static void crowd(void *unused) {
    (void)unused;
    int n = (int)test_fibers(20000);
    uint64_t until[10];
    STORE(&awake, 0);
    for (int i = 0; i < 10; i++) until[i] = weft_now() + (uint64_t)(20 + i) * WEFT_MILLISECOND;
    for (int i = 0; i < n; i++) spawn_detached(sleeps_until, &until[i % 10]);
    while (LOAD(&awake) < n) CHECK_EQ(weft_sleep_for(WEFT_MILLISECOND), 0);
}
TEST_WITHIN(a_crowd_of_sleepers, 60) { each_size(crowd); }

/* --- timers ----------------------------------------------------------------------------------------------- */

struct alarm {
    struct weft_timer timer;
    uint64_t deadline;
    int fired, cancelled;
};
static int fired;

static void on_alarm(void *arg) {
    struct alarm *a = arg;
    CHECK(weft_now() >= a->deadline);
    ADD(&a->fired, 1);
    ADD(&fired, 1);
}
static void arm(struct alarm *a, uint64_t from_now) {
    a->deadline = weft_now() + from_now;
    CHECK_EQ(weft_timer_arm(&a->timer, a->deadline, on_alarm, a), 0);
}

static void once(void *unused) {
    (void)unused;
    struct alarm a = {.fired = 0};
    STORE(&fired, 0);
    CHECK_EQ(weft_timer_cancel(&a.timer), -EALREADY); /* it was never armed */
    arm(&a, 3600 * WEFT_SECOND);
    CHECK_EQ(weft_timer_arm(&a.timer, 0, on_alarm, &a), -EBUSY);
    CHECK_EQ(weft_timer_cancel(&a.timer), 0);
    arm(&a, 50 * WEFT_MILLISECOND);
    while (LOAD(&fired) < 1) CHECK_EQ(weft_sleep_for(WEFT_MILLISECOND), 0);
    CHECK_EQ(weft_timer_cancel(&a.timer), -EALREADY);
    arm(&a, 0); /* the timer is used again */
    while (LOAD(&fired) < 2) CHECK_EQ(weft_sleep_for(WEFT_MILLISECOND), 0);
    arm(&a, WEFT_SECOND * 3600);
    CHECK_EQ(weft_timer_cancel(&a.timer), 0);
    CHECK_EQ(weft_timer_cancel(&a.timer), -EALREADY);
    settle();
    CHECK_EQ(a.fired, 2);
}
TEST(a_timer_fires_once) { each_size(once); }
TEST(a_timer_of_a_thread_fires_once) {
    CHECK_EQ(weft_timer_arm(&(struct weft_timer)WEFT_TIMER_INIT, 0, on_alarm, NULL), -ESRCH);
    for (unsigned workers = 1; workers <= 4; workers *= 2) {
        test_start(workers);
        once(NULL);
        test_stop();
    }
}

/* Many timers: each is either cancelled or fires, and never both. */
static void fires_or_is_cancelled(void *unused) {
    (void)unused;
    enum { N = 2000 };
    static struct alarm a[N];
    uint64_t random = 4;
    int cancelled = 0;
    STORE(&fired, 0);
    for (int i = 0; i < N; i++) {
        a[i] = (struct alarm){.fired = 0};
        bool far = i % 64 == 1; /* some timers must be left, however slow the machine is */
        arm(&a[i], far ? 3600 * WEFT_SECOND : test_below(&random, 3 * WEFT_MILLISECOND));
        if (i % 16 == 0) weft_yield();
        int victim = (int)test_below(&random, (uint64_t)i + 1);
        if (a[victim].cancelled) continue;
        a[victim].cancelled = weft_timer_cancel(&a[victim].timer) == 0;
        cancelled += a[victim].cancelled;
    }
    for (int i = 1; i < N; i += 64) {
        if (a[i].cancelled) continue;
        CHECK_EQ(weft_timer_cancel(&a[i].timer), 0);
        a[i].cancelled = 1;
        cancelled++;
    }
    while (LOAD(&fired) + cancelled < N) CHECK_EQ(weft_sleep_for(WEFT_MILLISECOND), 0);
    settle();
    for (int i = 0; i < N; i++) CHECK_EQ(LOAD(&a[i].fired), !a[i].cancelled);
    CHECK(cancelled > 10);
}
TEST_WITHIN(a_timer_fires_or_is_cancelled, 60) { each_size(fires_or_is_cancelled); }

/* A thread arms a timer while all workers sleep, perhaps with a later timer. */
TEST_WITHIN(armed_by_a_thread_while_all_sleep, 60) {
    static struct alarm late, soon;
    for (unsigned workers = 1; workers <= 4; workers *= 4) {
        test_start(workers);
        late = (struct alarm){.fired = 0};
        arm(&late, 3600 * WEFT_SECOND);
        for (int i = 0; i < 20; i++) {
            test_nap_ms(i % 10 == 9 ? 250 : 3); /* after the long pause the workers have also returned memory */
            soon = (struct alarm){.fired = 0};
            arm(&soon, (uint64_t)(i % 3) * WEFT_MILLISECOND);
            test_await(&soon.fired, 1); /* hangs if no worker wakes for the timer */
        }
        CHECK_EQ(weft_timer_cancel(&late.timer), 0);
        test_stop();
    }
}

/* The function of a timer may spawn, post, unpark, complete, cancel and arm. */
static struct weft_sem sem;
static struct weft_counter counter;
static struct alarm second;
static void *posts(void *s) {
    CHECK_EQ(weft_sem_post(s), 0);
    return NULL;
}
static void does_much(void *fiber) {
    CHECK_EQ(weft_self().id, 0);
    CHECK_EQ(weft_spawn(NULL, NULL, posts, &sem), 0);
    CHECK_EQ(weft_sem_post(&sem), 0);
    CHECK_EQ(weft_counter_complete(&counter), 0);
    CHECK_EQ(weft_unpark(*(struct weft_fiber *)fiber), 0);
    arm(&second, 0);
}
static void from_a_timer(void *unused) {
    (void)unused;
    struct weft_fiber me = weft_self();
    struct weft_timer timer = WEFT_TIMER_INIT;
    sem = (struct weft_sem)WEFT_SEM_INIT(0);
    second = (struct alarm){.fired = 0};
    CHECK_EQ(weft_counter_add(&counter, 1), 0);
    CHECK_EQ(weft_timer_arm(&timer, weft_now() + WEFT_MILLISECOND, does_much, &me), 0);
    CHECK_EQ(weft_park(), 0);
    CHECK_EQ(weft_sem_wait(&sem), 0);
    CHECK_EQ(weft_sem_wait(&sem), 0);
    CHECK_EQ(weft_counter_wait(&counter, 0), 0);
    while (!LOAD(&second.fired)) CHECK_EQ(weft_sleep_for(WEFT_MILLISECOND), 0);
}
TEST(what_a_timer_may_do) { each_size(from_a_timer); }

/* Timers arm themselves for the past from their own functions. The worker must run fibers between its checks of the
 * timers. */
static int rearming;
static void arms_itself(void *alarm) {
    struct alarm *a = alarm;
    ADD(&a->fired, 1);
    if (LOAD(&rearming)) CHECK_EQ(weft_timer_arm(&a->timer, 0, arms_itself, a), 0);
}
static void beside_timers_for_the_past(void *unused) {
    (void)unused;
    static struct alarm a[200]; /* more than one check of the timers fires */
    STORE(&rearming, 1);
    for (unsigned i = 0; i < 200; i++) {
        a[i] = (struct alarm){.fired = 0};
        CHECK_EQ(weft_timer_arm(&a[i].timer, 0, arms_itself, &a[i]), 0);
    }
    for (int i = 0; i < 200; i++) weft_yield();
    CHECK_EQ(weft_sleep_for(WEFT_MILLISECOND), 0);
    for (int i = 0; i < 200; i++)
        while (LOAD(&a[i].fired) < 3) weft_yield(); /* each timer fires again and again */
    STORE(&rearming, 0);
    for (int i = 0; i < 200; i++) /* when this returns, no timer may still fire */
        while (weft__timer_is_armed((struct weft__timer *)(void *)&a[i].timer)) weft_yield();
    CHECK_EQ(weft_cluster_drain_until((struct weft_cluster){0}, weft_now() + 60 * WEFT_SECOND), 0);
}
TEST(fibers_run_beside_timers_for_the_past) { each_size(beside_timers_for_the_past); }

/* Fibers, a thread and the function of a timer arm this timer at the same time, and cancel it. Each arm that succeeds
 * ends in a call or in a cancel, and all others return -EBUSY. */
static struct weft_timer shared;
static int armed, called, taken_back, ending;
static void arms_shared(void *unused);
static void arm_shared(uint64_t deadline) {
    int err = weft_timer_arm(&shared, deadline, arms_shared, NULL);
    CHECK(err == 0 || err == -EBUSY);
    if (!err) ADD(&armed, 1);
}
static void arms_shared(void *unused) {
    (void)unused;
    ADD(&called, 1);
    if (!LOAD(&ending)) arm_shared(0);
}
static void *arms_and_takes_back(void *unused) {
    for (size_t i = test_size(100000); i > 0; i--) {
        arm_shared(weft_now() + i % 7 * WEFT_MICROSECOND);
        if (i % 3 == 0 && !weft_timer_cancel(&shared)) ADD(&taken_back, 1);
        if (i % 16 == 0) weft_yield();
    }
    return unused;
}
static void armed_by_many(void *unused) {
    enum { N = 4 };
    struct weft_fiber f[N];
    shared = (struct weft_timer)WEFT_TIMER_INIT;
    armed = called = taken_back = ending = 0;
    pthread_t t = thread_start(arms_and_takes_back, unused);
    for (int i = 0; i < N; i++) f[i] = spawn(arms_and_takes_back, unused);
    for (int i = 0; i < N; i++) join(f[i]);
    thread_join(t);
    STORE(&ending, 1);
    if (!weft_timer_stop(&shared)) ADD(&taken_back, 1);
    CHECK_EQ(LOAD(&armed), LOAD(&called) + LOAD(&taken_back));
}
TEST_WITHIN(armed_by_many_at_once, 60) { each_size(armed_by_many); }

/* A timer that is armed when the runtime stops does not fire. Cancelling it then succeeds. It can be armed in the next
 * runtime. */
TEST(a_timer_left_armed_at_the_stop) {
    static struct alarm a;
    for (int i = 0; i < 3; i++) {
        test_start(2);
        arm(&a, 3600 * WEFT_SECOND);
        test_stop();
        CHECK_EQ(weft_timer_cancel(&a.timer), 0);
        CHECK_EQ(weft_timer_cancel(&a.timer), -EALREADY);
    }
    test_start(2);
    arm(&a, 3600 * WEFT_SECOND);
    test_stop();
    test_start(1);
    arm(&a, 0);
    test_await(&a.fired, 1);
    test_stop();
    CHECK_EQ(a.fired, 1);
    CHECK_EQ(weft_timer_cancel(&a.timer), -EALREADY);
}

/* A thread arms timers, cancels them and lets them fire, while the runtime stops and starts. Each timer fires or not,
 * as the calls report. */
static int over;
static void *arms_and_cancels(void *alarm) {
    struct alarm *a = alarm;
    uint64_t random = (uintptr_t)alarm;
    while (!LOAD(&over)) {
        int before = LOAD(&a->fired);
        a->deadline = weft_now() + test_below(&random, 100 * WEFT_MICROSECOND);
        int err = weft_timer_arm(&a->timer, a->deadline, on_alarm, a);
        CHECK(err == 0 || err == -ESRCH);
        if (err) {
            CHECK_EQ(weft_timer_cancel(&a->timer), -EALREADY);
            continue;
        }
        for (uint64_t i = test_below(&random, 100); i > 0; i--) weft_yield();
        if (weft_timer_cancel(&a->timer))
            test_await(&a->fired, before + 1);
        else
            CHECK_EQ(LOAD(&a->fired), before);
    }
    return NULL;
}
TEST_WITHIN(armed_and_cancelled_during_starts_and_stops, 60) {
    static struct alarm a[3];
    pthread_t t[3];
    for (int i = 0; i < 3; i++) t[i] = thread_start(arms_and_cancels, &a[i]);
    for (size_t i = test_size(1000); i > 0; i--) {
        test_start(1 + (unsigned)i % 3);
        if (i % 4 == 0) test_nap_ms(1);
        test_stop();
    }
    STORE(&over, 1);
    for (int i = 0; i < 3; i++) thread_join(t[i]);
}
