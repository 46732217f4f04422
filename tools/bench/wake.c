/*
 * wake: how long a wake-up takes when everything sleeps. A kernel thread that is no worker notes
 * the time and wakes a fiber; the fiber notes the time when it runs.
 *
 *   samples=     pause=  microseconds between two, for the workers to fall asleep
 *   spare=       processors that a system without workers has besides: the waker's
 *
 * The waker has a processor of its own, where the machine has two. Left alone, the kernel puts both
 * threads on one processor or on two, as it happened when they were made, and keeps them there: one
 * way costs three times as much as the other.
 *
 * Metric: the median, in microseconds.
 */
#include "benches.h"
#include "system.h"

#include <stdlib.h>

struct call {
    size_t samples;
    uint64_t pause;
    struct sys_permit permit;
    double *latencies;
    APART uint64_t called_at;
    APART size_t answered;
};

static void *sleeper(void *p) {
    struct call *call = (struct call *)p;
    for (size_t i = 0; i < call->samples; i++) {
        sys_permit_wait(&call->permit);
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
        sys_permit_give(&call->permit);
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
    sys_permit_init(&call.permit);
    sys_spawn(&fiber, sleeper, &call);
    sys_permit_bind(&call.permit, &fiber);
    must(-pthread_create(&thread, NULL, waker, &call), "pthread_create");
    sys_join(&fiber);
    pthread_join(thread, NULL);
    result->right = call.answered == call.samples;
    result->values[0] = median(call.latencies, call.samples);
    free(call.latencies);
}
