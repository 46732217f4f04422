/* SPDX-License-Identifier: MIT */
/*
 * Every fiber gets to run: fibers that yield take turns, work runs beside a fiber that computes, sleeping workers are
 * woken. If any of that is broken the test hangs, so no times are asserted.
 */
#include "fiber.h"

#include <stdlib.h>

/* --- yield ------------------------------------------------------------------------------------------------- */

enum { N = 50 };
static long turns[N];
static int stop;

static void *yields(void *turn) {
    while (!LOAD(&stop)) {
        __atomic_fetch_add((long *)turn, 1, __ATOMIC_RELAXED);
        weft_yield();
    }
    return NULL;
}
static void round_robin(void *unused) {
    (void)unused;
    struct weft_fiber f[N];
    STORE(&stop, 0);
    for (int i = 0; i < N; i++) turns[i] = 0;
    for (int i = 0; i < N; i++) f[i] = spawn(yields, &turns[i]);
    for (size_t i = test_size(2000); i > 0; i--) weft_yield();
    STORE(&stop, 1);
    for (int i = 0; i < N; i++) join(f[i]);
    for (int i = 0; i < N; i++) CHECK(labs(turns[i] - turns[0]) <= 1);
    CHECK(turns[0] > 0);
}
TEST(one_worker_goes_round) {
    no_rescue();
    test_in_fiber(1, round_robin, NULL);
}

static void all_move(void *unused) {
    (void)unused;
    struct weft_fiber f[N];
    STORE(&stop, 0);
    for (int i = 0; i < N; i++) turns[i] = 0;
    for (int i = 0; i < N; i++) f[i] = spawn(yields, &turns[i]);
    for (int least = 0; least < 100;) {
        least = 1000;
        CHECK_EQ(weft_sleep_for(WEFT_MILLISECOND), 0); /* a sleep passes between yields, too */
        for (int i = 0; i < N; i++) {
            long n = __atomic_load_n(&turns[i], __ATOMIC_RELAXED);
            if (n < least) least = (int)n;
        }
    }
    STORE(&stop, 1);
    for (int i = 0; i < N; i++) join(f[i]);
}
TEST(no_fiber_is_starved_by_yields) { each_size(all_move); }

/* A single fiber yields for ever. Its worker still sees injected fibers and timers. */
static int seen;
static void *sees(void *unused) {
    (void)unused;
    ADD(&seen, 1);
    return NULL;
}
static void sees_it(void *unused) { sees(unused); }
TEST(a_lone_yielder_does_not_shut_others_out) {
    static struct weft_timer timer;
    for (unsigned workers = 1; workers <= 2; workers++) {
        long n = 0;
        STORE(&stop, 0);
        STORE(&seen, 0);
        test_start(workers);
        struct weft_fiber f = spawn(yields, &n);
        test_nap_ms(2);
        spawn_detached(sees, NULL);
        test_await(&seen, 1);
        CHECK_EQ(weft_spawn(NULL, &(struct weft_attr){.pinned = 1}, sees, NULL), 0);
        test_await(&seen, 2);
        CHECK_EQ(weft_timer_arm(&timer, weft_now() + WEFT_MILLISECOND, sees_it, NULL), 0);
        test_await(&seen, 3);
        STORE(&stop, 1);
        join(f);
        test_stop();
    }
}

/* If dispatches take long, fewer of them pass before the worker looks for timers: counted, not timed. */
static void *turns_until_seen(void *unused) {
    enum { TURN = 200 * WEFT_MICROSECOND, FIRST = 150 };
    struct weft_timer timer = WEFT_TIMER_INIT;
    int turns = 0;
    (void)unused;
    for (int i = -FIRST; turns < 2 && !(i >= 0 && LOAD(&seen)); i++) {
        if (!i) CHECK_EQ(weft_timer_arm(&timer, weft_now(), sees_it, NULL), 0);
        for (uint64_t end = weft_now() + TURN; weft_now() < end;) {
        }
        weft_yield();
        if (i > 8) turns++;
    }
    CHECK_EQ(turns, 0);
    return NULL;
}
TEST(long_turns_let_timers_in) {
#ifdef WEFT_MIGRATE
    test_skip("each turn ends at home");
#endif
    no_rescue();
    STORE(&seen, 0);
    test_start(1);
    join(spawn(turns_until_seen, NULL));
    test_stop();
}

/* --- fibers that compute -------------------------------------------------------------------------------------- */

static void spin_until(const int *flag, int value) {
    while (LOAD(flag) < value) {
    }
}

/*
 * Before round i the workers have just been awake, have slept for a moment, or have slept so long that they have also
 * returned their memory. Before it returns memory, a sleeping worker wakes up for that, and would find work that it had
 * missed: late, but without a hang.
 */
static void let_sleep(int i) {
    if (i % 10 == 9)
        test_nap_ms(250);
    else if (i % 2)
        test_nap_ms(3);
}

/* A build that moves every fiber puts it into the mailbox of a worker that may compute for ever. */
#ifdef WEFT_MIGRATE
#define NEEDS_STEALING() test_skip("fibers are forced to move")
#else
#define NEEDS_STEALING() ((void)0)
#endif

/* The fiber makes others ready and then keeps its worker. Another worker sleeps, and has to find them. */
static void *hogs(void *arg) {
    int n = (int)(intptr_t)arg;
    for (int i = 0; i < n; i++) spawn_detached(sees, NULL);
    spin_until(&seen, n);
    return NULL;
}
TEST_WITHIN(work_of_a_worker_that_computes_is_found, 60) {
    NEEDS_STEALING();
    test_start(2);
    for (intptr_t n = 1; n <= 3; n++)
        for (int i = 0; i < 10; i++) {
            STORE(&seen, 0);
            let_sleep(i);
            join(spawn(hogs, (void *)n));
        }
    test_stop();
}

/* All workers but one compute. Each waits for a fiber that it has made ready. */
struct hog {
    int seen;
};
static void *sees_mine(void *hog) {
    STORE(&((struct hog *)hog)->seen, 1);
    return NULL;
}
static void *hogs_for_one(void *unused) {
    (void)unused;
    struct hog mine = {0};
    spawn_detached(sees_mine, &mine);
    spin_until(&mine.seen, 1);
    return NULL;
}
static void one_is_free(void *unused) {
    (void)unused;
    struct weft_fiber f[3];
    unsigned hogs = weft_workers() - 1;
    for (size_t i = 0; i < test_size(30); i++) {
        for (unsigned k = 0; k < hogs; k++) f[k] = spawn(hogs_for_one, NULL);
        for (unsigned k = 0; k < hogs; k++) join(f[k]);
        if (i % 3 == 0) CHECK_EQ(weft_sleep_for(2 * WEFT_MILLISECOND), 0);
    }
}
TEST_WITHIN(one_free_worker_is_enough, 60) {
    NEEDS_STEALING();
    test_in_fiber(2, one_is_free, NULL);
    test_in_fiber(3, one_is_free, NULL);
    test_in_fiber(4, one_is_free, NULL);
}

/* Two fibers wait for each other by spinning: both must run at the same time, on two workers. */
static int meeting;
static void *meets(void *unused) {
    (void)unused;
    ADD(&meeting, 1);
    spin_until(&meeting, 2);
    return NULL;
}
TEST_WITHIN(two_ready_fibers_two_idle_workers, 60) {
    NEEDS_STEALING();
    test_start(2);
    for (int i = 0; i < 40; i++) {
        STORE(&meeting, 0);
        let_sleep(i);
        struct weft_fiber a = spawn(meets, NULL), b = spawn(meets, NULL);
        join(a);
        join(b);
    }
    test_stop();
}
static void meet_in_fiber(void *unused) {
    (void)unused;
    for (int i = 0; i < 40; i++) {
        STORE(&meeting, 0);
        struct weft_fiber a = spawn(meets, NULL);
        if (i % 2) CHECK_EQ(weft_sleep_for(2 * WEFT_MILLISECOND), 0);
        struct weft_fiber b = spawn(meets, NULL);
        join(a);
        join(b);
    }
}
TEST_WITHIN(two_fibers_of_one_spawner_meet, 60) {
    NEEDS_STEALING();
    test_in_fiber(2, meet_in_fiber, NULL);
}

/* --- spawn, then block; the other worker is asleep -------------------------------------------- */

static struct weft_sem answer;
static void *answers(void *unused) {
    (void)unused;
    CHECK_EQ(weft_sem_post(&answer), 0);
    return NULL;
}
static void spawns_and_blocks(void *unused) {
    (void)unused;
    for (size_t i = 0; i < test_size(300); i++) {
        if (i % 10 == 0) CHECK_EQ(weft_sleep_for(WEFT_MILLISECOND), 0); /* the others fall asleep */
        spawn_detached(answers, NULL);
        CHECK_EQ(weft_sem_wait(&answer), 0);
        spawn_detached(answers, NULL);
        spawn_detached(answers, NULL);
        CHECK_EQ(weft_sem_wait(&answer), 0);
        CHECK_EQ(weft_sem_wait(&answer), 0);
    }
}
TEST_WITHIN(spawn_and_block_with_the_others_asleep, 60) { each_size(spawns_and_blocks); }

/* All workers sleep. A thread hands in one fiber, again and again. */
TEST_WITHIN(one_fiber_for_sleeping_workers, 60) {
    for (unsigned workers = 1; workers <= 4; workers *= 2) {
        test_start(workers);
        for (size_t i = 0; i < test_size(20) + 10; i++) {
            STORE(&seen, 0);
            let_sleep((int)i);
            spawn_detached(sees, NULL);
            test_await(&seen, 1);
        }
        test_stop();
    }
}
