/* SPDX-License-Identifier: MIT */
/*
 * wake: the time of a wake-up when everything sleeps. A kernel thread that is not a worker records the time and wakes a
 * fiber. The fiber records the time when it runs.
 *
 *   samples=     pause=  microseconds between two wake-ups, so that the workers fall asleep
 *   primitive=   sem: a semaphore; park: the system's cheapest wait
 *   spare=       further processors for a system without workers: for the waker
 *
 * If the machine has two processors, the waker has one for itself. Otherwise the kernel places both threads on one
 * processor or on two, depending on how they were made, and keeps them there. One case is three times slower than the
 * other.
 *
 * Metric: the median, in microseconds.
 */
#include "baton.h"
#include "benches.h"

#include <stdlib.h>

struct call {
    size_t samples;
    uint64_t pause;
    struct baton baton;
    double *latencies;
    APART uint64_t called_at;
    APART size_t answered;
};

static void *sleeper(void *p) {
    struct call *call = (struct call *)p;
    for (size_t i = 0; i < call->samples; i++) {
        baton_wait(&call->baton);
        call->latencies[i] = (double)(clock_ns() - call->called_at) / 1e3;
        __atomic_store_n(&call->answered, i + 1, __ATOMIC_RELEASE);
    }
    return NULL;
}

static void *waker(void *p) {
    struct call *call = (struct call *)p;
    keep_apart();
    for (size_t i = 0; i < call->samples; i++) {
        do pause_ns(call->pause);
        while (__atomic_load_n(&call->answered, __ATOMIC_ACQUIRE) < i);
        call->called_at = clock_ns();
        baton_give(&call->baton);
    }
    return NULL;
}

void bench_wake(const struct args *args, struct result *result) {
    struct call call;
    struct sys_fiber fiber;
    pthread_t thread;
    call.samples = arg(args, "samples");
    call.pause = arg(args, "pause") * 1000;
    call.answered = 0;
    call.latencies = (double *)allocate(call.samples, sizeof *call.latencies);
    baton_init(&call.baton, baton_is_bare(args));
    sys_spawn(&fiber, sleeper, &call);
    baton_bind(&call.baton, &fiber);
    must(-pthread_create(&thread, NULL, waker, &call), "pthread_create");
    sys_join(&fiber);
    pthread_join(thread, NULL);
    result->right = call.answered == call.samples;
    result->values[0] = median(call.latencies, call.samples);
    measure_quantiles("late", call.latencies, call.samples);
    free(call.latencies);
}
