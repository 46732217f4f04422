/* SPDX-License-Identifier: MIT */
/*
 * Overload: more fibers compute than there are processors, each on a kernel thread of its own (rescue.c).
 *
 * The kernel runs a thread soon after it wakes up if the thread has had less than its fair share. A worker with a fiber
 * that is always ready would use all that it gets, and then wait behind every other thread: n / p slices for n threads
 * on p processors. Quick fibers of that worker, such as a fiber that sleeps for a millisecond at a time, would wait
 * as long.
 *
 * So during overload a worker without a hog uses a little less than its share, and naps in between. It earns time at
 * the rate that the monitor has set, and naps when it has used more than it has earned. A nap ends when the worker's
 * next timer is due, and after WEFT_NAP_MOST at the latest. A fiber that another worker makes ready for it meanwhile
 * waits for the end of the nap.
 */
#include "sched/loop/loop.h"

#include <time.h>

#define WEFT_SAVED_MOST (100 * WEFT_MICROSECOND) /* what a worker may use at once after it has been idle */
#define WEFT_NAP_MOST (2 * WEFT_MILLISECOND)     /* half a tick: the monitor does not take the worker for stuck */
#define WEFT_RATE_ONE 1024

/* Three quarters of the share that one more thread would get. */
unsigned weft__overload_rate(unsigned computing, unsigned processors) {
    return computing < processors ? 0 : WEFT_RATE_ONE * 3 / 4 * processors / (computing + 1);
}

static int64_t clamp_to(int64_t n, int64_t least, int64_t most) { return n < least ? least : n > most ? most : n; }

static uint64_t own_cpu_time(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Brings the account up to date: time is earned by the clock and spent on the processor. */
static void overload_settle(struct weft__earned *e, unsigned rate, uint64_t now) {
    uint64_t used = own_cpu_time();
    int64_t earned = clamp_to((int64_t)(now - e->at), 0, WEFT_SECOND) * rate / WEFT_RATE_ONE;
    e->balance = clamp_to(e->balance + earned - (int64_t)(used - e->used), -WEFT_SAVED_MOST, WEFT_SAVED_MOST);
    e->at = now;
    e->used = used;
}

WEFT_COLD void weft__overload_rest(struct weft__worker *w, unsigned rate) {
    struct weft__earned *e = &w->earned;
    uint64_t now = weft__clock(), due = weft__wheel_next(&w->wheel);
    overload_settle(e, rate, now);
    if (e->balance >= 0 || due <= now || w->search.is_searcher || load_rlx(&w->cluster->stopping)) return;
    uint64_t nap = (uint64_t)clamp_to(-e->balance * WEFT_RATE_ONE / rate, 0, WEFT_NAP_MOST);
    weft__nap(nap < due - now ? nap : due - now);
}
