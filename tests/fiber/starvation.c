/* SPDX-License-Identifier: MIT */
/*
 * No fiber starves behind a fiber that computes. The ready fibers of its worker, and timers that become due there, run
 * on another worker, even if that worker always has work. If that is broken, a test here hangs, so no times are
 * asserted.
 *
 * Every test has two workers. On one of them a fiber computes and does not yield. The other worker sleeps, or has
 * fibers that always yield, so that it never runs out of work.
 */
#include "fiber.h"

enum { YIELDERS = 100, ROUNDS = 20 };

/* A build that moves every fiber puts it into the mailbox of a worker that may compute for ever. */
#ifdef WEFT_MIGRATE
#define NEEDS_STEALING() test_skip("fibers are forced to move")
#else
#define NEEDS_STEALING() ((void)0)
#endif

static void spin_until(const int *flag, int value) {
    while (LOAD(flag) < value) {
    }
}

static int seen;
static void *sees(void *unused) {
    (void)unused;
    ADD(&seen, 1);
    return NULL;
}
static void sees_it(void *unused) { sees(unused); }

/* --- work for all workers, until the end -------------------------------------------------------- */

static struct {
    struct weft_fiber fibers[YIELDERS];
    int started, stop;
} busy;

static void *yields(void *unused) {
    (void)unused;
    ADD(&busy.started, 1);
    while (!LOAD(&busy.stop)) weft_yield();
    return NULL;
}
static void busy_start(void) {
    STORE(&busy.started, 0);
    STORE(&busy.stop, 0);
    for (int i = 0; i < YIELDERS; i++) busy.fibers[i] = spawn(yields, NULL);
    await_yielding(&busy.started, YIELDERS);
}
static void busy_stop(void) {
    STORE(&busy.stop, 1);
    for (int i = 0; i < YIELDERS; i++) join(busy.fibers[i]);
}

/* Runs hog(NULL) as a fiber several times, while the other worker sleeps. with_others_busy does so while it is busy. */
static void with_others_asleep(void *(*hog)(void *)) {
    for (size_t i = test_size(ROUNDS); i > 0; i--) {
        STORE(&seen, 0);
        if (i % 2) CHECK_EQ(weft_sleep_for(3 * WEFT_MILLISECOND), 0);
        join(spawn(hog, NULL));
    }
}
static void with_others_busy(void *(*hog)(void *)) {
    busy_start();
    for (size_t i = test_size(ROUNDS); i > 0; i--) {
        STORE(&seen, 0);
        join(spawn(hog, NULL));
    }
    busy_stop();
}

/* --- a leader that every fiber must acknowledge -------------------------------------------------- */

static struct { int round, leader, acknowledged, rounds; } lead;

static void *follows(void *arg) {
    int me = (int)(intptr_t)arg, last = 0;
    while (last < lead.rounds) {
        if (LOAD(&lead.round) == last) {
            weft_yield();
            continue;
        }
        last++;
        if (lead.leader != me) {
            ADD(&lead.acknowledged, 1);
            continue;
        }
        spin_until(&lead.acknowledged, YIELDERS - 1);
        if (last == lead.rounds) break;
        lead.acknowledged = 0;
        lead.leader = (me * 31 + 17) % YIELDERS;
        STORE(&lead.round, last + 1);
    }
    return NULL;
}
static void leads(void *unused) {
    (void)unused;
    struct weft_fiber f[YIELDERS];
    lead.rounds = (int)test_size(ROUNDS);
    lead.leader = lead.acknowledged = 0;
    STORE(&lead.round, 1);
    for (intptr_t i = 0; i < YIELDERS; i++) f[i] = spawn(follows, (void *)i);
    for (int i = 0; i < YIELDERS; i++) join(f[i]);
}
TEST_WITHIN(a_leader_that_spins_is_acknowledged_by_all, 60) {
    NEEDS_STEALING();
    test_in_fiber(2, leads, NULL);
}

/* --- fibers that are ready on the worker that computes --------------------------------------------- */

static void *spawns_and_computes(void *unused) {
    (void)unused;
    for (int i = 0; i < 3; i++) spawn_detached(sees, NULL);
    spin_until(&seen, 3);
    return NULL;
}
static void spawned(void *unused) {
    (void)unused;
    with_others_busy(spawns_and_computes);
}
TEST_WITHIN(what_it_spawned_runs_on_a_busy_worker, 60) {
    NEEDS_STEALING();
    test_in_fiber(2, spawned, NULL);
}

/* These fibers wait until the hog wakes them. */
static struct weft_sem woken = WEFT_SEM_INIT(0);
static int waiting;
static void *waits(void *unused) {
    (void)unused;
    ADD(&waiting, 1);
    CHECK_EQ(weft_sem_wait(&woken), 0);
    return sees(NULL);
}
static void *wakes_and_computes(void *unused) {
    (void)unused;
    STORE(&waiting, 0);
    for (int i = 0; i < 3; i++) spawn_detached(waits, NULL);
    await_yielding(&waiting, 3);
    for (int i = 0; i < 3; i++) CHECK_EQ(weft_sem_post(&woken), 0);
    spin_until(&seen, 3);
    return NULL;
}
static void woken_up(void *unused) {
    (void)unused;
    with_others_busy(wakes_and_computes);
}
TEST_WITHIN(what_it_woke_runs_on_a_busy_worker, 60) {
    NEEDS_STEALING();
    test_in_fiber(2, woken_up, NULL);
}

/* These fibers were ready before: the hog computes until each busy fiber has run again. */
static int turns;
static void *counts_turns(void *unused) {
    (void)unused;
    ADD(&busy.started, 1);
    for (int last = 0; !LOAD(&busy.stop); weft_yield()) {
        int now = LOAD(&turns);
        if (now != last) ADD(&seen, 1);
        last = now;
    }
    return NULL;
}
static void *computes_for_a_turn(void *unused) {
    (void)unused;
    ADD(&turns, 1);
    spin_until(&seen, YIELDERS);
    return NULL;
}
static void all_run(void *unused) {
    (void)unused;
    STORE(&turns, 0);
    STORE(&busy.started, 0);
    STORE(&busy.stop, 0);
    for (int i = 0; i < YIELDERS; i++) busy.fibers[i] = spawn(counts_turns, NULL);
    await_yielding(&busy.started, YIELDERS);
    for (size_t i = test_size(ROUNDS); i > 0; i--) {
        STORE(&seen, 0);
        join(spawn(computes_for_a_turn, NULL));
    }
    busy_stop();
}
TEST_WITHIN(what_was_queued_before_runs_on_a_busy_worker, 60) {
    NEEDS_STEALING();
    test_in_fiber(2, all_run, NULL);
}

/* --- deadlines of the worker that computes ------------------------------------------------------ */

static void *arms_and_computes(void *unused) {
    (void)unused;
    struct weft_timer timer = WEFT_TIMER_INIT;
    CHECK_EQ(weft_timer_arm(&timer, weft_now() + WEFT_MILLISECOND, sees_it, NULL), 0);
    spin_until(&seen, 1);
    CHECK_EQ(weft_timer_cancel(&timer), -EALREADY);
    return NULL;
}
static void timer_others_asleep(void *unused) {
    (void)unused;
    with_others_asleep(arms_and_computes);
}
static void timer_others_busy(void *unused) {
    (void)unused;
    with_others_busy(arms_and_computes);
}
TEST_WITHIN(its_timer_wakes_a_worker_that_sleeps, 60) { test_in_fiber(2, timer_others_asleep, NULL); }
TEST_WITHIN(its_timer_fires_on_a_busy_worker, 60) { test_in_fiber(2, timer_others_busy, NULL); }

/* A fiber goes to sleep on some worker. Then another fiber computes on that worker until the sleeper has woken. */
static int sleeper_on; /* the worker, plus 1 */
static void *sleeps(void *unused) {
    (void)unused;
    STORE(&sleeper_on, weft_worker() + 1);
    CHECK_EQ(weft_sleep_for(20 * WEFT_MILLISECOND), 0);
    return sees(NULL);
}
static void *computes(void *unused) {
    (void)unused;
    spin_until(&seen, 1);
    return NULL;
}
static void hog_a_sleeper(void) {
    for (size_t i = test_size(ROUNDS); i > 0; i--) {
        STORE(&seen, 0);
        STORE(&sleeper_on, 0);
        struct weft_fiber sleeper = spawn(sleeps, NULL);
        await_yielding(&sleeper_on, 1);
        struct weft_attr there = {.pinned = (unsigned)LOAD(&sleeper_on)};
        /* A spare worker may have run the sleeper. No fiber can be pinned there. */
        if (there.pinned <= weft_workers()) join(spawn_with(&there, computes, NULL));
        join(sleeper);
    }
}
static void sleeper_others_asleep(void *unused) {
    (void)unused;
    hog_a_sleeper();
}
static void sleeper_others_busy(void *unused) {
    (void)unused;
    busy_start();
    hog_a_sleeper();
    busy_stop();
}
TEST_WITHIN(its_sleeper_gets_up_on_a_worker_that_sleeps, 60) {
    NEEDS_STEALING();
    test_in_fiber(2, sleeper_others_asleep, NULL);
}
TEST_WITHIN(its_sleeper_gets_up_on_a_busy_worker, 60) {
    NEEDS_STEALING();
    test_in_fiber(2, sleeper_others_busy, NULL);
}
