/* SPDX-License-Identifier: MIT */
/* Converts times of POSIX to deadlines of weft, which are times of CLOCK_MONOTONIC. */
#include "threads/threads.h"

bool weft__time_is_bad(const struct timespec *t) { return t->tv_nsec < 0 || t->tv_nsec >= 1000000000; }

static uint64_t nanoseconds(const struct timespec *t) {
    return (uint64_t)t->tv_sec * WEFT_SECOND + (uint64_t)t->tv_nsec;
}

static bool is_far(const struct timespec *t) { return (uint64_t)t->tv_sec > UINT64_C(9000000000); }

uint64_t weft__time_deadline(const struct timespec *t, clockid_t clock) {
    struct timespec now;
    if (t->tv_sec < 0) return 1;
    if (is_far(t)) return WEFT_FOREVER;
    if (clock == CLOCK_MONOTONIC) return nanoseconds(t);
    clock_gettime(clock, &now);
    int64_t left = (int64_t)(nanoseconds(t) - nanoseconds(&now)), at = (int64_t)weft_now() + left;
    return at <= 0 ? 1 : (uint64_t)at;
}

uint64_t weft__time_after(const struct timespec *t) {
    if (t->tv_sec < 0) return 1;
    return is_far(t) ? WEFT_FOREVER : weft_now() + nanoseconds(t);
}
