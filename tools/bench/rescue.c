/* SPDX-License-Identifier: MIT */
/*
 * rescue: a fiber that sleeps a millisecond, again and again, beside a fiber that does not give its
 * worker back: it blocks its kernel thread, or it computes.
 *
 *   span=   ms from the hog's start until it is asked to leave
 *   block=  ms that it blocks at a time; 0: it computes and never yields
 *
 * The hog starts when the ticker has run a few times. A thread outside asks it to leave. The
 * result is right if the ticker ran while the hog kept at it: more than once, because the first time
 * may be due before the hog has begun.
 * Metrics: ms that the ticker is late: the median; 99 in a hundred are less; at worst, without the
 * time that the machine was away (measure.h).
 */
#include "benches.h"
#include "system.h"

#include <stdlib.h>

#define MILLISECOND UINT64_C(1000000)
#define BEFORE 5 /* ticks until the hog starts */

struct rescue {
    struct alarm_clock alarm;
    struct sys_sem ready;
    size_t room;
    double *late;
    uint64_t block;
    APART int hogging; /* 1: since the first look of the hog, 2: it has left */
    APART size_t samples;
    size_t beside; /* ticks while the hog kept at it */
};

static void *tick(void *p) {
    struct rescue *r = (struct rescue *)p;
    bool early = false;
    for (size_t n = 0; r->samples < r->room; n++) {
        uint64_t began = clock_ns();
        sys_sleep(MILLISECOND);
        uint64_t slept = clock_ns() - began;
        early |= slept < MILLISECOND;
        if (n == BEFORE) sys_sem_post(&r->ready);
        int hogging = __atomic_load_n(&r->hogging, __ATOMIC_ACQUIRE); /* pairs with the stores: the alarm is set */
        if (!hogging) continue;
        r->late[r->samples++] = ((double)slept - (double)MILLISECOND) / 1e6;
        r->beside += hogging == 1;
        if (hogging == 2 || alarm_rung(&r->alarm)) break;
    }
    if (early) r->beside = 0;
    return NULL;
}

static void *hog(void *p) {
    struct rescue *r = (struct rescue *)p;
    __atomic_store_n(&r->hogging, 1, __ATOMIC_RELEASE);
    while (!alarm_rung(&r->alarm))
        if (r->block) pause_ns(r->block);
    __atomic_store_n(&r->hogging, 2, __ATOMIC_RELEASE);
    return NULL;
}

void bench_rescue(const struct args *args, struct result *result) {
    struct sys_fiber ticker, hogger;
    struct control control;
    uint64_t span = arg(args, "span");
    struct rescue *r = (struct rescue *)allocate(1, sizeof *r);
    r->block = arg(args, "block") * MILLISECOND;
    r->room = 2 * span + 1000; /* the alarm may be late */
    r->late = (double *)allocate(r->room, sizeof *r->late);
    sys_sem_init(&r->ready, 0);
    sys_spawn(&ticker, tick, r);
    sys_sem_wait(&r->ready);

    control_start(&control);
    alarm_start(&r->alarm, span);
    sys_spawn(&hogger, hog, r);
    sys_join(&ticker);
    sys_join(&hogger);
    alarm_join(&r->alarm);
    double away = (double)control_stop(&control) / 1e6;

    result->right = r->beside > 1;
    result->values[0] = percentile(r->late, r->samples, 50);
    result->values[1] = percentile(r->late, r->samples, 99);
    result->values[2] = without_control(percentile(r->late, r->samples, 100), away);
    measure_quantiles("late", r->late, r->samples);
    free(r->late);
    free(r);
}
