/* SPDX-License-Identifier: MIT */
/* Shared by the tests of behaviour: checked spawns and joins, and runs with several numbers of workers. */
#ifndef WEFT_TESTS_FIBER_H
#define WEFT_TESTS_FIBER_H

#include "../test.h"

#include <pthread.h>
#include <stdlib.h>

#define LOAD(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define STORE(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)
#define ADD(p, n) __atomic_fetch_add(p, n, __ATOMIC_ACQ_REL)

/* Macros, so that a message shows the place in the test. */
#define spawn(fn, arg) spawn_at(NULL, fn, arg, WEFT_HERE)
#define spawn_with(attr, fn, arg) spawn_at(attr, fn, arg, WEFT_HERE)
static inline struct weft_fiber spawn_at(const struct weft_attr *attr, void *(*fn)(void *), void *arg,
                                         const char *where) {
    struct weft_fiber f = {0};
    CHECK_EQ(weft_spawn_at(&f, attr, fn, arg, where), 0);
    CHECK(f.id != 0);
    return f;
}

static inline void *join(struct weft_fiber f) {
    void *result = NULL;
    CHECK_EQ(weft_join(f, &result), 0);
    return result;
}

/* A fiber that runs fn(NULL) says this, and aborts. */
static inline void run_in_fiber(void *fn) { test_in_fiber(1, *(void (**)(void *))fn, NULL); }
static inline void check_aborts(void (*fn)(void *), const char *said) {
    struct test_child child;
    test_child(&child, run_in_fiber, &fn);
    CHECK(test_child_aborted(&child));
    CHECK_HAS(child.said, said);
}

static inline void spawn_detached(void *(*fn)(void *), void *arg) { CHECK_EQ(weft_spawn(NULL, NULL, fn, arg), 0); }

/* Runs fn(NULL) as a fiber of runtimes of 1, 2 and 4 workers: one worker shows orders, several show races. */
static inline void each_size(void (*fn)(void *)) {
    for (unsigned workers = 1; workers <= 4; workers *= 2) test_in_fiber(workers, fn, NULL);
}

/*
 * For tests of an order on one worker. If its kernel thread has no processor for a while, the worker may look stuck
 * to the monitor, and then another worker runs in its place.
 */
static inline void no_rescue(void) { CHECK(!setenv("WEFT_RESCUE", "0", 1)); }

/* Usually returns when the other ready fibers, and the fibers that they make ready, all wait. On a busy machine it may
 * return earlier: then a test shows less, but it must not fail. See state.h. */
static inline void settle(void) {
    for (int i = 0; i < 20; i++) weft_yield();
    CHECK_EQ(weft_sleep_for(2 * WEFT_MILLISECOND), 0);
}

/* Waits for a flag, as a fiber or thread does. */
static inline void await_yielding(const int *flag, int value) {
    while (LOAD(flag) < value) weft_yield();
}

static inline pthread_t thread_start(void *(*fn)(void *), void *arg) {
    pthread_t t;
    CHECK(!pthread_create(&t, NULL, fn, arg));
    return t;
}
static inline void *thread_join(pthread_t t) {
    void *result;
    CHECK(!pthread_join(t, &result));
    return result;
}

#endif
