/* SPDX-License-Identifier: MIT */
/* Shared by parts with many actors: checked calls, pauses, and groups of fibers and threads. */
#ifndef WEFT_TESTS_STRESS_CROWD_H
#define WEFT_TESTS_STRESS_CROWD_H

#include "stress.h"

#include <pthread.h>
#include <stddef.h>

#define SO(condition) WANT(!!(condition), 1)

/* Is the time of the whole run over? */
static inline bool over(void) { return weft_now() >= end_at; }
static inline uint64_t below(uint64_t *random, uint64_t n) { return roll(random) % n; }

static inline struct weft_fiber spawn(const struct weft_attr *attr, void *(*fn)(void *), void *arg) {
    struct weft_fiber f = {0};
    OK(weft_spawn(&f, attr, fn, arg));
    return f;
}
static inline void *join(struct weft_fiber f) {
    void *result = NULL;
    OK(weft_join(f, &result));
    return result;
}

/* Pauses: often not at all, sometimes by a yield, a short sleep, or some work. */
static inline void pause_a_bit(uint64_t *random) {
    switch (below(random, 8)) {
    case 0:
    case 1: weft_yield(); break;
    case 2: weft_sleep_for(below(random, 20000)); break;
    case 3:
        for (uint64_t n = below(random, 500); n; n--) __asm__ volatile("" ::: "memory");
        break;
    default: break;
    }
}

static inline uint64_t soon(uint64_t *random) { return weft_now() + below(random, 30000); }

/* Checks that the call may have this outcome. True: the call succeeded. */
static inline bool got(int err, bool timed, bool tried) {
    if (err == 0) return true;
    SO(err == -ECANCELED ? weft_cancelled() : timed ? err == -ETIMEDOUT : tried && (err == -EAGAIN || err == -EBUSY));
    return false;
}

/* Until the time is over: spawns fibers that run work(&seed), and cancels some of them at any moment. A thread cannot
 * be cancelled: it does the work itself. */
void employ_one_after_another(uint64_t *random, const struct weft_attr *attr, void *(*work)(void *seed));

/* Runs fn(&each[i]) in `fibers` fibers and `threads` threads, until all have returned. */
void crowd(unsigned fibers, unsigned threads, void *(*fn)(void *), void *each, size_t size);

#endif
