/* SPDX-License-Identifier: MIT */
/*
 * Every call for memory, mappings and threads fails once. A scenario that uses all of weft runs in a
 * child with the Nth such call failing, for N = 1, 2, ... until a run has fewer calls than that. Each
 * run must end with documented errors, each failed call can be tried again, every fiber that was
 * spawned ran exactly once, and the runtime stops.
 */
#include "nth.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FIBERS = 600, FEW = 30, TASKS = 3000 };

static int fibers; /* to spawn */
static _Atomic int ran;
static struct weft_key key;
static struct weft_sem sem;
static struct weft_mutex mutex;

static void *child(void *number) {
    uintptr_t n = (uintptr_t)number;
    int err = weft_local_set(key, &sem);
    MUST(!err || err == -ENOMEM);
    MUST(weft_local_get(key) == (err ? NULL : &sem));
    weft_yield();
    if (n % 7 == 0) MUST(!weft_sleep_for(n % 50 * 1000));
    MUST(!weft_sem_post(&sem));
    MUST(!weft_mutex_lock(&mutex));
    weft_yield();
    MUST(!weft_mutex_unlock(&mutex));
    int timed = weft_park_until(weft_now() + 1000);
    MUST(timed == -ETIMEDOUT);
    atomic_fetch_add(&ran, 1);
    return number;
}

static void forked(void *count) { atomic_fetch_add((_Atomic int *)count, 1); }

/* More than the first slots of a deque hold. A fork without memory runs the call itself. */
static void fork_many(void) {
    static struct weft_task tasks[TASKS];
    _Atomic int count = 0;
    for (int i = 0; i < TASKS; i++) MUST(!weft_task_fork(&tasks[i], forked, &count));
    for (int i = TASKS; i > 0; i--) MUST(!weft_task_join(&tasks[i - 1]));
    MUST(atomic_load(&count) == TASKS);
}

/* A channel on the heap, and futures that are too many for the stack. */
static void channels(void) {
    enum { MANY = 20 };
    struct weft_future futures[MANY], *all[MANY];
    struct weft_chan *c;
    int which;
    while (!(c = weft_chan_make(8, 100))) weft_yield();
    MUST(!weft_chan_send(c, &(uint64_t){7}) && !weft_chan_free(c));
    for (int i = 0; i < MANY; i++) {
        futures[i] = (struct weft_future)WEFT_FUTURE_INIT;
        all[i] = &futures[i];
    }
    MUST(!weft_future_set(&futures[MANY - 1], NULL));
    while ((which = weft_future_any(all, MANY)) == -ENOMEM) weft_yield();
    MUST(which == MANY - 1);
}

/* More than one call cancels by itself: without memory for a fiber that does the rest, the caller does it. */
static _Atomic int begun, told;
static int waits_in_scope(void *unused) {
    (void)unused;
    atomic_fetch_add(&begun, 1);
    if (weft_park() == -ECANCELED) atomic_fetch_add(&told, 1);
    return 0;
}
static void cancel_many(void) {
    struct weft_scope scope, inner;
    MUST(!weft_scope_begin(&scope, weft_now() + 3600 * WEFT_SECOND));
    MUST(!weft_scope_begin(&inner, WEFT_FOREVER));
    for (int i = 0; i < fibers; i++)
        while (try_again(weft_scope_spawn(i % 2 ? &scope : &inner, NULL, waits_in_scope, NULL))) weft_yield();
    while (atomic_load(&begun) < fibers) weft_yield();
    MUST(!weft_scope_cancel(&scope));
    MUST(weft_scope_end(&inner) == -ECANCELED);
    MUST(weft_scope_end(&scope) == -ECANCELED);
    MUST(atomic_load(&told) == fibers);
}

/* Makes the poll thread and its descriptors. */
static void wait_outside(void) {
    struct weft_signals signals = WEFT_SIGNALS_INIT;
    int ends[2], err;
    MUST(!pipe(ends));
    while (try_again(weft_signals_begin(&signals, WEFT_SIGNAL(SIGUSR1)))) {
    }
    MUST(!raise(SIGUSR1));
    MUST(weft_signals_next(&signals, NULL) == SIGUSR1);
    MUST(!weft_signals_end(&signals));
    while ((err = weft_ready_until(ends[0], POLLIN, weft_now() + 1000)) != -ETIMEDOUT) try_again(err);
    close(ends[0]);
    close(ends[1]);
}

static void *root(void *unused) {
    (void)unused;
    static struct weft_fiber f[FIBERS];
    fork_many();
    cancel_many();
    channels();
    for (uintptr_t i = 0; i < (uintptr_t)fibers; i++) {
        struct weft_attr attr = {
            .name = "child", .stack_size = i % 3 ? 0 : (size_t)16384 << i % 5, .pinned = i % 11 == 0};
        while (try_again(weft_spawn(&f[i], &attr, child, (void *)i))) weft_yield();
    }
    for (int i = 0; i < fibers; i++) MUST(!weft_sem_wait(&sem));
    for (uintptr_t i = 0; i < (uintptr_t)fibers; i++) {
        void *n;
        MUST(!weft_join(f[i], &n));
        MUST((uintptr_t)n == i);
    }
    wait_outside();
    return NULL;
}

static void fired(void *flag) { atomic_store((_Atomic int *)flag, 1); }

static void *from_a_thread(void *unused) {
    (void)unused;
    struct weft_fiber f;
    _Atomic int flag = 0;
    struct weft_timer timer = WEFT_TIMER_INIT;
    while (try_again(weft_spawn(&f, NULL, root, NULL))) {
    }
    MUST(!weft_timer_arm(&timer, weft_now() + 100000, fired, &flag));
    while (try_again(weft_join(f, NULL))) {
    }
    while (!atomic_load(&flag)) weft_sleep_for(10000);
    struct weft_scope scope; /* the record of a thread */
    while (try_again(weft_scope_begin(&scope, WEFT_FOREVER))) {
    }
    MUST(!weft_scope_end(&scope));
    return NULL;
}

static unsigned deque; /* the kind */

static int scenario(long nth) {
    struct weft_config config = {.workers = 3, .deque = deque};
    pthread_t thread;
    alarm(20);
    store_rlx(&weft__fault_countdown, nth);
    while (try_again(weft_start(&config))) {
    }
    MUST(!weft_key_create(&key, NULL));
    MUST(!pthread_create(&thread, NULL, from_a_thread, NULL));
    MUST(!pthread_join(thread, NULL));
    MUST(!weft_stop());
    MUST(atomic_load(&ran) == fibers);
    int outcome = fault_outcome();
    /* Runs once more: the failed calls have left nothing behind. */
    MUST(!weft_start(&config));
    MUST(!weft_stop());
    return outcome;
}

/* Runs the other kinds of deques with fewer fibers, because the fibers do not differ; and only at full size, in the
 * soak. */
int main(void) {
    const char *scale = getenv("WEFT_TEST_SCALE");
    int passed = 0, failed = 0;
    unsigned kinds = scale && atoi(scale) > 1 ? 1 : WEFT_DEQUES;
    for (deque = 0; deque < kinds; deque++) {
        fibers = deque ? FEW : FIBERS;
        each_fault(scenario, &passed, &failed);
    }
    printf("fault/fault: %d passed, %d failed\n", passed, failed);
    return failed > 0;
}
