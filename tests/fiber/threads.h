/* SPDX-License-Identifier: MIT */
/* Sets of thread ids: which kernel threads have run fibers. */
#ifndef WEFT_TESTS_THREADS_H
#define WEFT_TESTS_THREADS_H

#include "fiber.h"

#include <sys/syscall.h>
#include <unistd.h>

#define THREADS_MOST 1200

struct threads {
    int id[THREADS_MOST]; /* 0: free */
};

static inline int thread_id(void) { return (int)syscall(SYS_gettid); }

static inline void threads_clear(struct threads *s) {
    for (int i = 0; i < THREADS_MOST; i++) STORE(&s->id[i], 0);
}

/* Adds the calling thread. Any number of threads may do so at the same time. */
static inline void threads_add(struct threads *s) {
    int me = thread_id();
    for (int i = 0; i < THREADS_MOST; i++) {
        int there = LOAD(&s->id[i]);
        if (there == me) return;
        if (there) continue;
        if (__atomic_compare_exchange_n(&s->id[i], &there, me, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return;
        if (there == me) return;
    }
    CHECK(!"room for another thread");
}

static inline unsigned threads_count(const struct threads *s) {
    unsigned n = 0;
    while (n < THREADS_MOST && LOAD(&s->id[n])) n++;
    return n;
}

static inline bool threads_has(const struct threads *s, int id) {
    for (int i = 0; i < THREADS_MOST && LOAD(&s->id[i]); i++)
        if (LOAD(&s->id[i]) == id) return true;
    return false;
}

static inline bool threads_meet(const struct threads *a, const struct threads *b) {
    for (int i = 0; i < THREADS_MOST && LOAD(&a->id[i]); i++)
        if (threads_has(b, LOAD(&a->id[i]))) return true;
    return false;
}

/* Has the process at most this many threads? The kernel may count a joined thread for another moment. */
static inline bool threads_at_most(void *n) { return test_threads() <= *(size_t *)n; }
static inline void await_threads(size_t most) { test_until(threads_at_most, &most); }

/* Is the calling thread the only one? */
static inline bool alone(void *unused) {
    (void)unused;
    return test_threads() == 1;
}
static inline void await_alone(void) {
    if (!TEST_TSAN && !test_emulated()) test_until(alone, NULL); /* these tools have threads of their own */
}

#endif
