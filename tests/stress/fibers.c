/* SPDX-License-Identifier: MIT */
/* Parts about fibers: trees of spawns, yields, joins that race with ends, bursts from threads, pinned fibers beside
 * others, starts and stops. */
#include "stress.h"

#include <pthread.h>
#include <stdlib.h>

/* --- tree: each fiber spawns two and adds up what they counted ----------------------------------- */

static void *tree(void *depth) {
    uintptr_t d = (uintptr_t)depth;
    if (!d) return (void *)1;
    struct weft_fiber child[2];
    uintptr_t sum = 1;
    for (int i = 0; i < 2; i++) OK(weft_spawn(&child[i], NULL, tree, (void *)(d - 1)));
    for (int i = 0; i < 2; i++) {
        void *n;
        OK(weft_join(child[i], &n));
        sum += (uintptr_t)n;
    }
    return (void *)sum;
}

static void tree_round(uint64_t random) {
    uintptr_t depth = shrink > 1 ? 6 : 8 + random % 6;
    struct weft_fiber root;
    void *sum;
    OK(weft_spawn(&root, NULL, tree, (void *)depth));
    OK(weft_join(root, &sum));
    WANT((uintptr_t)sum, (2u << depth) - 1);
}

/* --- yields: many fibers, each so many yields, all counted ---------------------------------------- */

static _Atomic uint64_t yielded;

static void *yielder(void *times) {
    for (uintptr_t n = (uintptr_t)times; n > 0; n--) {
        weft_yield();
        atomic_fetch_add(&yielded, 1);
    }
    return NULL;
}

static void yields_round(uint64_t random) {
    uint64_t fibers = (100 + random % 400) / shrink, wanted = 0;
    struct weft_counter all = WEFT_COUNTER_INIT;
    struct weft_attr attr = {.counter = &all};
    atomic_store(&yielded, 0);
    OK(weft_counter_add(&all, fibers));
    for (uint64_t i = 0; i < fibers; i++) {
        uintptr_t times = roll(&random) % 200;
        wanted += times;
        OK(weft_spawn(NULL, &attr, yielder, (void *)times));
    }
    OK(weft_counter_wait(&all, 0));
    WANT(atomic_load(&yielded), wanted);
}

/* --- joins: several join, detach and cancel one fiber at once; one of them gets it ------------------ */

struct prey {
    struct weft_fiber fiber;
    _Atomic int got, refused;
    _Atomic uint64_t random;
};

static void *short_life(void *random) {
    uint64_t r = (uintptr_t)random;
    for (uint64_t n = r % 4; n > 0; n--) weft_yield();
    if (r % 5 == 0) weft_sleep_for(r % 20000);
    if (r % 7 == 0) weft_fiber_exit(random);
    return random;
}

static void *hunter(void *p) {
    struct prey *prey = p;
    uint64_t r = atomic_fetch_add(&prey->random, 0x9e3779b97f4a7c15ULL);
    r ^= r >> 31;
    void *result;
    int err;
    switch (r % 4) {
    case 0: err = weft_join(prey->fiber, &result); break;
    case 1: err = weft_detach(prey->fiber); break;
    case 2:
        do err = weft_join_until(prey->fiber, &result, weft_now() + r % 30000);
        while (err == -ETIMEDOUT);
        break;
    default: err = weft_cancel(prey->fiber) ? -ESRCH : -EBUSY; break;
    }
    if (!err)
        atomic_fetch_add(&prey->got, 1);
    else if (err == -ESRCH || err == -EINVAL || err == -EBUSY)
        atomic_fetch_add(&prey->refused, 1);
    else
        WANT(err, -ESRCH);
    return NULL;
}

static void *hunt(void *random) {
    enum { HUNTERS = 4 };
    uint64_t r = (uintptr_t)random;
    struct prey prey = {.got = 0, .refused = 0, .random = r};
    struct weft_fiber hunters[HUNTERS];
    OK(weft_spawn(&prey.fiber, NULL, short_life, (void *)(uintptr_t)(r | 1)));
    for (int i = 0; i < HUNTERS; i++) OK(weft_spawn(&hunters[i], NULL, hunter, &prey));
    for (int i = 0; i < HUNTERS; i++) OK(weft_join(hunters[i], NULL));
    WANT(atomic_load(&prey.got) + atomic_load(&prey.refused), HUNTERS);
    if (atomic_load(&prey.got) == 0) OK(weft_join(prey.fiber, NULL)); /* all of them only cancelled */
    WANT(atomic_load(&prey.got) <= 1, 1);
    moved();
    return NULL;
}

static void joins_round(uint64_t random) {
    enum { HUNTS = 64 };
    struct weft_fiber f[HUNTS];
    for (int i = 0; i < HUNTS; i++) OK(weft_spawn(&f[i], NULL, hunt, (void *)(uintptr_t)roll(&random)));
    for (int i = 0; i < HUNTS; i++) OK(weft_join(f[i], NULL));
}

/* --- late: a detached fiber has no owner until it ends ----------------------------------------------- */

static _Atomic uint64_t detached;
static _Atomic bool enough;

static void *try_to_join(void *unused) {
    for (unsigned turn = 0; !atomic_load(&enough); turn++) {
        if (turn % 256 == 0) weft_yield();
        int err = weft_join_until((struct weft_fiber){atomic_load(&detached)}, NULL, 0);
        if (err != -EINVAL) WANT(err, -ESRCH);
    }
    return unused;
}

static void late_round(uint64_t random) {
    struct weft_counter ends = WEFT_COUNTER_INIT;
    struct weft_attr attr = {.detached = 1, .counter = &ends};
    pthread_t t[2];
    atomic_store(&detached, 0);
    atomic_store(&enough, false);
    for (int i = 0; i < 2; i++) OK(pthread_create(&t[i], NULL, try_to_join, NULL));
    for (unsigned i = 0; i < 2000 / shrink && weft_now() < end_at; i++) {
        struct weft_fiber f;
        OK(weft_counter_add(&ends, 1));
        OK(weft_spawn(&f, &attr, short_life, (void *)(uintptr_t)(roll(&random) % 4)));
        atomic_store(&detached, f.id);
        if (i % 4 == 0) OK(weft_counter_wait(&ends, 0));
        moved();
    }
    OK(weft_counter_wait(&ends, 0));
    atomic_store(&enough, true);
    for (int i = 0; i < 2; i++) OK(pthread_join(t[i], NULL));
}

/* --- bursts: threads hand in bursts with pauses in which the workers fall asleep -------------------- */

static _Atomic uint64_t arrived;
static struct weft_sem answers;

static void *arrive(void *unused) {
    (void)unused;
    atomic_fetch_add(&arrived, 1);
    return NULL;
}

static void *answer(void *unused) {
    (void)unused;
    OK(weft_sem_post(&answers));
    return NULL;
}

static void *burster(void *random) {
    uint64_t r = (uintptr_t)random, sent = 0;
    for (int burst = 0; burst < 20; burst++) {
        for (uint64_t n = roll(&r) % 30; n > 0; n--, sent++) OK(weft_spawn(NULL, NULL, arrive, NULL));
        /* A request that must be answered before this thread continues. A lost wake-up stops the thread. */
        OK(weft_spawn(NULL, NULL, answer, NULL));
        OK(weft_sem_wait(&answers));
        moved();
        weft_sleep_for(roll(&r) % 200000);
    }
    return (void *)(uintptr_t)sent;
}

static void bursts_round(uint64_t random) {
    enum { THREADS = 3 };
    pthread_t t[THREADS];
    uint64_t sent = 0;
    atomic_store(&arrived, 0);
    for (int i = 0; i < THREADS; i++) OK(pthread_create(&t[i], NULL, burster, (void *)(uintptr_t)roll(&random)));
    for (int i = 0; i < THREADS; i++) {
        void *n;
        OK(pthread_join(t[i], &n));
        sent += (uintptr_t)n;
    }
    while (atomic_load(&arrived) < sent) weft_sleep_for(10000);
    WANT(atomic_load(&arrived), sent);
}

/* --- pinned: fibers that may run on one worker only, woken by others --------------------------------- */

struct pair {
    struct weft_sem there, back;
    unsigned worker; /* 0: free */
    unsigned times;
};

static void *pinned_one(void *p) {
    struct pair *pair = p;
    for (unsigned i = 0; i < pair->times; i++) {
        OK(weft_sem_wait(&pair->there));
        if (pair->worker) WANT(weft_worker(), pair->worker - 1);
        if (i % 3 == 0) weft_yield();
        if (pair->worker) WANT(weft_worker(), pair->worker - 1);
        OK(weft_sem_post(&pair->back));
    }
    return NULL;
}

static void *free_one(void *p) {
    struct pair *pair = p;
    for (unsigned i = 0; i < pair->times; i++) {
        OK(weft_sem_post(&pair->there));
        OK(weft_sem_wait(&pair->back));
        moved();
    }
    return NULL;
}

static void pinned_round(uint64_t random) {
    enum { PAIRS = 16 };
    struct pair pairs[PAIRS];
    struct weft_fiber f[2 * PAIRS];
    for (int i = 0; i < PAIRS; i++) {
        pairs[i] = (struct pair){.worker = (unsigned)(roll(&random) % (workers + 1)), .times = 100 / shrink + 1};
        struct weft_attr attr = {.pinned = pairs[i].worker};
        OK(weft_spawn(&f[2 * i], &attr, pinned_one, &pairs[i]));
        OK(weft_spawn(&f[2 * i + 1], NULL, free_one, &pairs[i]));
    }
    for (int i = 0; i < 2 * PAIRS; i++) OK(weft_join(f[i], NULL));
}

/* --- restart: start, work, stop, with a thread that hands in all the while ------------------------------ */

static _Atomic bool restart_over;
static _Atomic uint64_t handed_in, ran;

static void *run_once(void *unused) {
    (void)unused;
    weft_yield();
    atomic_fetch_add(&ran, 1);
    return NULL;
}

static void *hands_in(void *unused) {
    (void)unused;
    while (!atomic_load(&restart_over)) {
        int err = weft_spawn(NULL, NULL, run_once, NULL);
        if (!err)
            atomic_fetch_add(&handed_in, 1);
        else
            WANT(err, -ESRCH);
        if (err) weft_sleep_for(1000);
    }
    return NULL;
}

static void restart_round(uint64_t random) {
    pthread_t t;
    struct weft_config config = {.workers = workers};
    atomic_store(&restart_over, false);
    atomic_store(&handed_in, 0);
    atomic_store(&ran, 0);
    OK(pthread_create(&t, NULL, hands_in, NULL));
    for (int i = 0; i < 10; i++) {
        OK(weft_start(&config));
        weft_sleep_for(roll(&random) % 300000);
        if (i == 9) atomic_store(&restart_over, true);
        OK(weft_stop());
        moved();
    }
    OK(pthread_join(t, NULL));
    WANT(atomic_load(&ran), atomic_load(&handed_in));
}

const struct part parts_of_fibers[] = {{"tree", tree_round, false, false},      {"yields", yields_round, false, false},
                                       {"joins", joins_round, false, false},    {"late", late_round, false, true},
                                       {"bursts", bursts_round, false, false},  {"pinned", pinned_round, false, false},
                                       {"restart", restart_round, true, false}, {NULL, NULL, false, false}};
