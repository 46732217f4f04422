/* SPDX-License-Identifier: MIT */
/* A part about locks of all kinds, with deadlines and cancellation fired at random. */
#include "crowd.h"

/* --- locks ------------------------------------------------------------------------------------------
 *
 * Fibers of two clusters, and threads, use a recursive mutex, a reader-writer lock, a barrier, onces and a latch, all
 * at the same time. The guarded number grows by one for each success. A round of the barrier has its number of parties
 * and exactly one serial party. Each once-function ran once, and the latch was counted down by the number of counts.
 */

enum { FIBERS = 20, THREADS = 3, PARTIES = 3, ONCES = 16 };
#define LATCH (UINT64_C(1) << 40)

static struct weft_cluster second; /* the first round makes it, and it lasts until the stop */

static struct weft_mutex mutex = WEFT_MUTEX_RECURSIVE_INIT;
static uint64_t guarded; /* plain, by the mutex */
static _Atomic uint64_t locked;

static struct weft_rwlock rwlock;
static uint64_t left, right; /* plain, protected by the reader-writer lock: equal whenever no writer is inside */
static _Atomic uint64_t written;
static _Atomic int readers, writers;

static struct weft_barrier barrier = WEFT_BARRIER_INIT(PARTIES);
static _Atomic uint64_t passed, serials;

static struct weft_once onces[ONCES];
static unsigned done[ONCES]; /* plain: a caller that learns that the once is done sees it */

static struct weft_latch latch;
static _Atomic uint64_t counted;

static void use_mutex(uint64_t *random) {
    uint64_t depth = 0, wanted = 1 + below(random, 3);
    for (; depth < wanted; depth++) {
        uint64_t way = below(random, 3);
        int err = way == 0   ? weft_mutex_lock(&mutex)
                  : way == 1 ? weft_mutex_lock_cancellable(&mutex, soon(random))
                             : weft_mutex_try(&mutex);
        if (depth) OK(err); /* it is ours, cancelled or not */
        if (!got(err, way == 1, way == 2)) return;
    }
    uint64_t seen = ++guarded;
    if (below(random, 4) == 0) weft_yield();
    WANT(guarded, seen);
    while (depth--) OK(weft_mutex_unlock(&mutex));
    atomic_fetch_add(&locked, 1);
}

static void read_it(uint64_t *random) {
    uint64_t way = below(random, 3);
    int err = way == 0   ? weft_rwlock_read(&rwlock)
              : way == 1 ? weft_rwlock_read_cancellable(&rwlock, soon(random))
                         : weft_rwlock_read_try(&rwlock);
    if (!got(err, way == 1, way == 2)) return;
    atomic_fetch_add(&readers, 1);
    WANT(left, right);
    if (below(random, 4) == 0) weft_yield();
    WANT(atomic_load(&writers), 0);
    WANT(left, right);
    atomic_fetch_sub(&readers, 1);
    OK(weft_rwlock_unlock_read(&rwlock));
}

static void write_it(uint64_t *random) {
    uint64_t way = below(random, 3);
    int err = way == 0   ? weft_rwlock_write(&rwlock)
              : way == 1 ? weft_rwlock_write_cancellable(&rwlock, soon(random))
                         : weft_rwlock_write_try(&rwlock);
    if (!got(err, way == 1, way == 2)) return;
    WANT(atomic_fetch_add(&writers, 1), 0);
    left++;
    if (below(random, 4) == 0) weft_yield();
    right++;
    WANT(atomic_load(&readers), 0);
    atomic_fetch_sub(&writers, 1);
    OK(weft_rwlock_unlock_write(&rwlock));
    atomic_fetch_add(&written, 1);
}

/* With a deadline, because at the end of the round some parties would wait for ever. */
static void use_barrier(uint64_t *random) {
    int r = weft_barrier_wait_until(&barrier, soon(random));
    if (r == WEFT_BARRIER_SERIAL) atomic_fetch_add(&serials, 1);
    if (r == WEFT_BARRIER_SERIAL || got(r, true, false)) atomic_fetch_add(&passed, 1);
}

struct errand {
    unsigned which;
    uint64_t *random;
};
static int do_it(void *arg) {
    struct errand *e = arg;
    if (below(e->random, 4) == 0) weft_yield();
    if (below(e->random, 2)) return -EIO;
    done[e->which]++;
    return 0;
}
static void use_once(uint64_t *random) {
    struct errand e = {(unsigned)below(random, ONCES), random};
    bool timed = below(random, 2);
    int err = timed ? weft_once_run_until(&onces[e.which], do_it, &e, soon(random))
                    : weft_once_run(&onces[e.which], do_it, &e);
    if (err == -EIO) return;
    if (got(err, timed, false)) WANT(done[e.which], 1);
}

static void use_latch(uint64_t *random) {
    uint64_t n = below(random, 3);
    if (below(random, 4) == 0) {
        SO(!got(weft_latch_wait_until(&latch, soon(random)), true, false));
        return;
    }
    OK(weft_latch_count_down(&latch, n));
    atomic_fetch_add(&counted, n);
}

static void *work_a_while(void *arg) {
    static void (*const uses[])(uint64_t *) = {use_mutex, read_it, read_it, write_it, use_barrier, use_once, use_latch};
    uint64_t random = *(uint64_t *)arg;
    for (uint64_t turns = 1 + below(&random, 200); turns && !over() && !weft_cancelled(); turns--) {
        uses[below(&random, sizeof uses / sizeof *uses)](&random);
        if (below(&random, 16) == 0) pause_a_bit(&random);
        moved();
    }
    return NULL;
}

static void *employ(void *random) {
    struct weft_attr there = {.cluster = second};
    employ_one_after_another(random, below(random, 2) ? &there : NULL, work_a_while);
    return NULL;
}

static void locks_round(uint64_t random) {
    uint64_t each[FIBERS + THREADS];
    if (!second.id) OK(weft_cluster_create(&second, &(struct weft_config){.workers = 2}));
    for (unsigned i = 0; i < FIBERS + THREADS; i++) each[i] = roll(&random);
    OK(weft_latch_init(&latch, LATCH));
    atomic_store(&counted, 0);
    crowd(FIBERS, THREADS, employ, each, sizeof *each);
    WANT(guarded, atomic_load(&locked));
    OK(weft_mutex_try(&mutex));
    OK(weft_mutex_unlock(&mutex));
    WANT(left, atomic_load(&written));
    WANT(left, right);
    OK(weft_rwlock_write_try(&rwlock));
    OK(weft_rwlock_unlock_write(&rwlock));
    WANT(atomic_load(&passed), PARTIES * atomic_load(&serials));
    WANT(weft_barrier_wait_until(&barrier, 0), -ETIMEDOUT);
    for (unsigned i = 0; i < ONCES; i++) SO(done[i] <= 1);
    OK(weft_latch_count_down(&latch, LATCH - atomic_load(&counted)));
    OK(weft_latch_try(&latch));
}

const struct part parts_of_locks[] = {{"locks", locks_round, false, false}, {NULL, NULL, false, false}};
