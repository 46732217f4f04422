/* SPDX-License-Identifier: MIT */
/*
 * The monitor: a thread that looks at all workers once in a tick, while any of them runs, and rescues fibers that wait
 * behind a fiber that does not come back (rescue.c). After a rescue the ticks are short for a while: the spare may run
 * into the next fiber that blocks or computes.
 *
 * When all workers have been idle for a few ticks the monitor rests, and the first worker that finds work wakes it.
 *
 * Nothing may hold the monitor up. So it waits for no lock whose holder may do something slow, and drops its messages
 * if the pipe is full. Records of clusters and workers are kept for ever, so it looks at them without a lock. Only
 * the memory that a cluster frees at its end needs a handshake:
 *
 *   the monitor                                 the end of a cluster
 *   1. watched = the cluster                    1. running = false
 *   -- fence --                                 -- fence --
 *   2. if the cluster runs: looks at it         2. waits until `watched` is another cluster or none
 *   3. watched = none                           3. ends its carriers and frees
 *
 * Either the monitor's step 2 sees that the cluster has ended, or step 2 of the other side sees the monitor.
 */
#include "sched/elastic/monitor.h"
#include "sched/elastic/cpu_quota.h"
#include "sched/elastic/recording.h"
#include "sched/elastic/rescue.h"
#include "sched/elastic/resize.h"
#include "sched/wake/helpers.h"
#include "sched/wake/io_backpressure.h"

#define WEFT_QUICK_TICK (WEFT_TICK / 8)
#define WEFT_QUICK_TICKS 32
#define WEFT_IDLE_TICKS 3
#define WEFT_MONITOR_SLICE (100 * WEFT_MICROSECOND)
#define WEFT_QUOTA_EVERY (1 * WEFT_SECOND)

static pthread_t thread;
static _Atomic uint32_t quits;
static unsigned quick;      /* the next so many ticks are short */
static unsigned processors; /* number of processors that this process may use */
static _Atomic(struct weft__cluster *) watched;

static bool monitor_look_at(struct weft__cluster *c, void *rescue) {
    store_rlx(&watched, c);
    fence_sc(); /* pairs with weft__monitor_leaves */
    if (load_acq(&c->running)) weft__rescue(c, rescue);
    store_rel(&watched, NULL); /* pairs with weft__monitor_leaves: the monitor has looked */
    return true;
}

void weft__monitor_leaves(struct weft__cluster *c) {
    unsigned turn = 0;
    fence_sc();                                           /* pairs with look_at */
    while (load_acq(&watched) == c) weft__backoff(&turn); /* pairs with look_at */
}

static bool monitor_tick(uint64_t now) {
    struct weft__rescue rescue = {.now = now, .processors = processors};
    weft__poll_duty_tick();
    weft__each_cluster(monitor_look_at, &rescue);
    weft__recording_tick(now);
    if (rescue.urgent) quick = WEFT_QUICK_TICKS;
    return rescue.busy;
}

/* No worker has run anything for a while: the monitor sleeps until a worker finds work. */
static void monitor_rest(void) {
    store_rlx(&weft__monitor_rests, 1);
    weft__fence_heavy(); /* pairs with a worker that becomes busy: it sees that we rest, or we see that it is busy */
    while (!load_acq(&quits) && load_acq(&weft__monitor_rests) && !monitor_tick(weft__clock()))
        weft__futex_wait(&weft__monitor_rests, 1, WEFT_FOREVER);
    store_rlx(&weft__monitor_rests, 0);
}

static void *monitor_main(void *unused) {
    (void)unused;
    unsigned idle = 0;
    weft__thread_set_slice(WEFT_MONITOR_SLICE); /* it runs for a few microseconds, but must not wait for hogs */
    uint64_t next_quota = weft__clock() + WEFT_QUOTA_EVERY;
    while (!load_acq(&quits)) {
        weft__futex_wait(&quits, 0, weft__clock() + (quick ? WEFT_QUICK_TICK : WEFT_TICK));
        if (quick) quick--;
        uint64_t now = weft__clock();
        idle = monitor_tick(now) ? 0 : idle + 1;
        if (now >= next_quota) {
            processors = weft__follow_quota();
            next_quota = now + WEFT_QUOTA_EVERY;
        }
        if (idle >= WEFT_IDLE_TICKS) monitor_rest();
    }
    return NULL;
}

int weft__monitor_start(void) {
    store_rlx(&quits, 0);
    store_rlx(&weft__monitor_rests, 0);
    processors = weft__default_workers();
    return weft__thread_create(&thread, monitor_main,
                               NULL); /* carriers that the monitor makes inherit its signal mask */
}

void weft__monitor_stop(void) {
    store_rel(&quits, 1);
    weft__futex_wake(&quits, 1);
    weft__monitor_wake();
    pthread_join(thread, NULL);
}
