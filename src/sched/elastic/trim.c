/* SPDX-License-Identifier: MIT */
/*
 * Gives memory that is no longer needed back to the kernel.
 *
 * A worker keeps a few stacks, records and deques of its own. Once in a second it returns most of them to the pools,
 * when it is at home anyway; a sleeping worker wakes up once for that. The pools know for how long each item has not
 * been used (mem/aged.h). The trimmer gives back all items that were not needed for a whole period. It is a thread that
 * sleeps until a period ends, and for ever when nothing in the pools can grow old. So memory that is needed again
 * within a second or so is kept, and memory that a burst has left behind goes back, even while the workers are busy.
 * Meanwhile the trimmer uses at most half of a processor: some 0.7 us for each fiber of the burst.
 *
 * The monitor does not do this: unmapping takes a lock of the kernel that other threads may hold for long, and the
 * monitor must not wait.
 *
 * The trimmer also looks after two problems of stacks: fibers that wait for a stack (stack_shortage.c), and overflows
 * of bare stacks (stack_overflow.c).
 *
 *   the trimmer                                       a worker that has returned something
 *   1. rests = WEFT_TRIMMER_RESTS ...                 1. puts it into a pool
 *   -- fence --                                       -- fence --
 *   2. looks at the pools: when is there work?        2. does the trimmer rest, and for ever? Then wakes it
 *   3. sleeps until then, unless it was woken
 */
#include "sched/elastic/trim.h"
#include "sched/life/stack_overflow.h"
#include "sched/life/stack_shortage.h"
#include "sched/wake/helpers.h"

#include "queue/deque.h"

#define WEFT_PERIOD (750 * WEFT_MILLISECOND)
#define WEFT_SLICE (2 * WEFT_MILLISECOND)       /* the trimmer works this long, then pauses as long */
#define WEFT_LOOK_EVERY (10 * WEFT_MILLISECOND) /* time between two looks at bare stacks */
#define WEFT_LOOK_AT_REST WEFT_SECOND           /* the same while nothing runs */
#define WEFT_KEEP_AT_STOP 4096 /* if the pools hold more stacks than this at a stop, all of them are given back */

static pthread_t thread;
static _Atomic uint32_t quits;
/* The trimmer's own. */
static uint64_t next_look; /* at bare stacks */
static uint64_t next_turn; /* the end of the period */
static bool grows_old;     /* something in the pools can grow older */

/* --- the trimmer ------------------------------------------------------------------------------------ */

/* Gives some of the old memory back. False: there is none. */
static bool trim_now(void) {
    bool stacks = weft__stacks_trim(), records = weft__slab_trim(&weft__fibers);
    return stacks || records;
}

/* Ends a period; false: nothing can grow older. */
static bool trim_turn(void) {
    bool stacks = weft__stacks_end_period(), records = weft__slab_end_period(&weft__fibers);
    weft__deque_trim();
    return stacks || records;
}

static uint64_t sooner_time(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* Checks bare stacks, if there are any. Returns when to look again. */
static uint64_t trim_look(uint64_t now) {
    if (likely(!load_rlx(&weft__stack_has_bare))) return WEFT_FOREVER;
    if (now < next_look) return next_look;
    weft__overrun_look();
    return next_look = now + (load_rlx(&weft__monitor_rests) ? WEFT_LOOK_AT_REST : WEFT_LOOK_EVERY);
}

/* Trims for one slice at most. Returns when to continue. woken: memory has come to a pool. */
static uint64_t trim_slice(uint64_t now, bool woken) {
    uint64_t due = sooner_time(weft__starved_tend(now), trim_look(now));
    grows_old |= woken;
    if (now >= next_turn) {
        next_turn = now + WEFT_PERIOD;
        grows_old = trim_turn();
    }
    while (trim_now())
        if (weft__clock() > now + WEFT_SLICE) return sooner_time(due, now + 2 * WEFT_SLICE);
    return grows_old ? sooner_time(due, next_turn) : due;
}

static void *trimmer_main(void *unused) {
    bool woken = true;
    while (!load_acq(&quits)) {
        store_rlx(&weft__trimmer_rests, WEFT_TRIMMER_RESTS_FOR_EVER);
        fence_sc(); /* pairs with weft__worker_flush, and the other callers of weft__trimmer_wake */
        uint64_t due = trim_slice(weft__clock(), woken);
        uint32_t how = WEFT_TRIMMER_RESTS_FOR_EVER,
                 next = due == WEFT_FOREVER ? WEFT_TRIMMER_RESTS_FOR_EVER : WEFT_TRIMMER_RESTS;
        woken = !cas_ar(&weft__trimmer_rests, &how, next); /* pairs with weft__trimmer_wake */
        if (!woken && !load_acq(&quits)) woken = weft__futex_wait(&weft__trimmer_rests, next, due) != -ETIMEDOUT;
    }
    return unused;
}

int weft__trimmer_start(void) {
    store_rlx(&quits, 0);
    store_rlx(&weft__trimmer_rests, WEFT_TRIMMER_WORKS);
    return weft__thread_create_masked(&thread, trimmer_main, NULL);
}

/* After a large program, gives everything in the pools back at once: the trimmer does not run any more. */
static void trim_at_stop(void) {
    if (weft__stacks_count_pooled() <= WEFT_KEEP_AT_STOP) return;
    for (unsigned i = 0; i < WEFT_AGES; i++) {
        trim_turn();
        while (trim_now()) continue;
    }
}

void weft__trimmer_stop(void) {
    store_rel(&quits, 1);
    fence_sc(); /* pairs with trimmer_main: the trimmer sees `quits`, or this thread sees that the trimmer rests */
    weft__trimmer_wake(true);
    pthread_join(thread, NULL);
    trim_at_stop();
}

void weft__trimmer_after_fork(void) { store_rlx(&weft__trimmer_rests, WEFT_TRIMMER_WORKS); }
