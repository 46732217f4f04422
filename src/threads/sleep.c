/* SPDX-License-Identifier: MIT */
/* Sleeping and yielding. */
#define _GNU_SOURCE
#include "threads/threads.h"

#include <errno.h>
#include <unistd.h>

REAL(nanosleep);
REAL(clock_nanosleep);
REAL(usleep);
REAL(sleep);
REAL(sched_yield);

/* Sleeps. 0; EINTR: a handler has run. For the program's own fibers also ECANCELED, or ETIMEDOUT for the deadline of a
 * scope. */
static int thread_sleep_until(uint64_t deadline) {
    if (!weft__thread_self()) return -weft_sleep_until(deadline);
    _Atomic uint32_t never = 0;
    weft__cancel_point();
    int err =
        weft__lot_wait(&never, 0, deadline, WEFT_LOT_CANCEL | WEFT_LOT_SIGNAL, weft__lot_for(WEFT_WAITS_SLEEP, NULL));
    if (err == ECANCELED) weft__cancel_point();
    return err == EINTR ? EINTR : 0;
}

static void store_rest(uint64_t deadline, struct timespec *left) {
    uint64_t now = weft_now(), rest = now < deadline ? deadline - now : 0;
    if (left) *left = (struct timespec){(time_t)(rest / WEFT_SECOND), (long)(rest % WEFT_SECOND)};
}

WEFT_INTERPOSED int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time, struct timespec *left) {
    bool known = clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC;
    if (!weft__caller_parks() || !known) return real(clock_nanosleep)(clock, flags, time, left);
    if (weft__time_is_bad(time) || time->tv_sec < 0) return EINVAL;
    uint64_t deadline = flags & TIMER_ABSTIME ? weft__time_deadline(time, clock) : weft__time_after(time);
    int err = thread_sleep_until(deadline);
    if (err && !(flags & TIMER_ABSTIME)) store_rest(deadline, left);
    return err;
}
WEFT_INTERPOSED int nanosleep(const struct timespec *time, struct timespec *left) {
    if (!weft__caller_parks()) return real(nanosleep)(time, left);
    int err = clock_nanosleep(CLOCK_MONOTONIC, 0, time, left);
    if (err) errno = err;
    return err ? -1 : 0;
}
WEFT_INTERPOSED int usleep(useconds_t time) {
    if (!weft__caller_parks()) return real(usleep)(time);
    int err = thread_sleep_until(weft_now() + time * WEFT_MICROSECOND);
    if (err) errno = err;
    return err ? -1 : 0;
}
WEFT_INTERPOSED unsigned sleep(unsigned seconds) {
    if (!weft__caller_parks()) return real(sleep)(seconds);
    uint64_t deadline = weft_now() + seconds * WEFT_SECOND;
    if (!thread_sleep_until(deadline)) return 0;
    struct timespec left;
    store_rest(deadline, &left);
    return (unsigned)left.tv_sec + (left.tv_nsec > 0);
}
WEFT_INTERPOSED int sched_yield(void) {
    if (!weft__caller_parks()) return real(sched_yield)();
    int err = errno;
    weft__thread_enter();
    weft_yield();
    weft__thread_leave();
    errno = err;
    return 0;
}
