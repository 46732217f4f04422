/* SPDX-License-Identifier: MIT */
/*
 * mutex: each fiber computes with the mutex held, and then without it.
 *
 *   fibers=  in all      inside=, outside=  steps of integer work (60 are about 100 ns)
 *   yield=1  the holder yields in the middle of the section
 *   span=    ms; a second, because unfairness shows only over time
 *
 * Metrics: million sections a second, most served over least. mutex-alone: without contention; ns for a lock and an
 * unlock.
 */
#include "benches.h"
#include "crowd.h"

struct section {
    APART struct sys_mutex mutex;
    APART uint64_t entered, work; /* written with the mutex held */
    uint64_t inside, outside;
    bool yields;
};

static void *body(void *p) {
    struct seat *seat = (struct seat *)p;
    struct section *section = (struct section *)seat->crowd->own;
    uint64_t inside = section->inside, outside = section->outside, count = 0, own = seat->index;
    bool yields = section->yields;

    baton_wait(&seat->baton);
    while (!crowd_stopped(seat->crowd)) {
        sys_mutex_lock(&section->mutex);
        section->entered++;
        section->work = work_done(section->work, inside);
        if (yields) sys_yield();
        sys_mutex_unlock(&section->mutex);
        own = work_done(own, outside);
        count++;
    }
    crowd_leave(seat, count);
    return NULL;
}

void bench_mutex(const struct args *args, struct result *result) {
    struct section section;
    struct crowd crowd;
    sys_mutex_init(&section.mutex);
    section.entered = section.work = 0;
    section.inside = arg(args, "inside");
    section.outside = arg(args, "outside");
    section.yields = arg_or(args, "yield", 0);
    crowd.own = &section;
    crowd_run(&crowd, arg(args, "fibers"), 1, arg(args, "span"), body);
    result->right =
        crowd.right && section.entered == crowd.total && section.work == work_expected(0, crowd.total * section.inside);
    result->values[0] = (double)crowd.total / crowd.seconds / 1e6;
    result->values[1] = most_over_least(crowd.counts, crowd.size);
    crowd_free(&crowd);
}

void bench_mutex_alone(const struct args *args, struct result *result) {
    const int stride = 1000;
    struct alarm_clock alarm;
    struct sys_mutex mutex;
    uint64_t entered = 0, count = 0;
    sys_mutex_init(&mutex);
    alarm_start(&alarm, arg(args, "ms"));
    uint64_t began = clock_ns();
    do {
        for (int i = 0; i < stride; i++) {
            sys_mutex_lock(&mutex);
            entered++;
            sys_mutex_unlock(&mutex);
        }
        count += stride;
    } while (!alarm_rung(&alarm));
    result->values[0] = (double)(clock_ns() - began) / (double)count;
    alarm_join(&alarm);
    result->right = entered == count;
}
