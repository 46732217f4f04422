/* SPDX-License-Identifier: MIT */
/* Parts about time: cancelled sleeps; timers that are armed, cancelled and expire. */
#include "stress.h"

#include <stdlib.h>

/* --- sleeps: never early, and ended by exactly one of time and cancellation -------------------------- */

static _Atomic uint64_t slept, cancelled;

static void *sleeper(void *random) {
    uint64_t r = (uintptr_t)random | 1;
    for (int i = 0; i < 20; i++) {
        uint64_t until = weft_now() + roll(&r) % 300000;
        int err = weft_sleep_until(until);
        if (err == -ECANCELED) {
            atomic_fetch_add(&cancelled, 1);
            return NULL;
        }
        OK(err);
        WANT(weft_now() >= until, 1);
        moved();
    }
    atomic_fetch_add(&slept, 1);
    return NULL;
}

static void sleeps_round(uint64_t random) {
    enum { SLEEPERS = 300 };
    static struct weft_fiber f[SLEEPERS];
    atomic_store(&slept, 0);
    atomic_store(&cancelled, 0);
    for (unsigned i = 0; i < SLEEPERS / shrink; i++)
        OK(weft_spawn(&f[i], NULL, sleeper, (void *)(uintptr_t)roll(&random)));
    for (int i = 0; i < 50; i++) {
        weft_sleep_for(roll(&random) % 50000);
        weft_cancel(f[roll(&random) % (SLEEPERS / shrink)]);
    }
    for (unsigned i = 0; i < SLEEPERS / shrink; i++) OK(weft_join(f[i], NULL));
    WANT(atomic_load(&slept) + atomic_load(&cancelled), SLEEPERS / shrink);
}

/* --- timers: each fires once or was cancelled --------------------------------------------------------- */

struct alarm_clock {
    struct weft_timer timer;
    _Atomic unsigned fired;
    struct weft_sem done;
};

static void ring(void *p) {
    struct alarm_clock *a = p;
    atomic_fetch_add(&a->fired, 1);
    weft_sem_post(&a->done);
}

static void *timer_user(void *random) {
    enum { TIMERS = 20 };
    uint64_t r = (uintptr_t)random | 1;
    struct alarm_clock a[TIMERS];
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < TIMERS; i++) {
            a[i] = (struct alarm_clock){.timer = WEFT_TIMER_INIT, .fired = 0, .done = WEFT_SEM_INIT(0)};
            OK(weft_timer_arm(&a[i].timer, weft_now() + roll(&r) % 200000, ring, &a[i]));
        }
        if (roll(&r) % 2) weft_sleep_for(roll(&r) % 100000);
        for (int i = 0; i < TIMERS; i++) {
            if (roll(&r) % 2 && !weft_timer_cancel(&a[i].timer)) {
                WANT(atomic_load(&a[i].fired), 0);
                continue;
            }
            OK(weft_sem_wait(&a[i].done));
            WANT(atomic_load(&a[i].fired), 1);
        }
        moved();
    }
    return NULL;
}

static void timers_round(uint64_t random) {
    enum { USERS = 16 };
    struct weft_fiber f[USERS];
    for (int i = 0; i < USERS; i++) OK(weft_spawn(&f[i], NULL, timer_user, (void *)(uintptr_t)roll(&random)));
    timer_user((void *)(uintptr_t)roll(&random)); /* this thread is one of them */
    for (int i = 0; i < USERS; i++) OK(weft_join(f[i], NULL));
}

const struct part parts_of_time[] = {
    {"sleeps", sleeps_round, false, false}, {"timers", timers_round, false, false}, {NULL, NULL, false, false}};
