/* SPDX-License-Identifier: MIT */
/*
 * rescue: a ticker fiber that sleeps a millisecond again and again, beside a hog: a fiber that keeps its worker,
 * because it blocks its kernel thread or computes.
 *
 *   span=   ms from the hog's start until it must leave
 *   block=  ms of each blocking call; 0: it computes and never yields
 *
 * The hog starts after the ticker has run a few times. A thread outside tells it to leave. The result is right if the
 * ticker ran more than once while the hog kept its worker. More than once, because the first tick may be due before the
 * hog has begun.
 * Metrics: ms by which the ticker is late: the median; the 99th percentile; the maximum, minus the time for which the
 * machine stood still (measure.h).
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
    APART int hogging; /* 1: the hog runs, 2: it has left */
    APART size_t samples;
    size_t beside; /* ticks while the hog kept its worker */
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
    r->room = 2 * span + 1000; /* more than the span, because the alarm may be late */
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
