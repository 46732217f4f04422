/* SPDX-License-Identifier: MIT */
/*
 * Lives: threads start and stop the runtime, make, destroy, resize and drain clusters, spawn and move fibers, arm
 * timers and begin scopes, all at once and at random. Each fiber that was spawned successfully runs once, the others
 * never. Each timer is called, or its cancellation reports that it was not called. Every call returns a documented
 * result.
 */
#include "crowd.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 6, SLOTS = 4, ERRANDS = 1 << 17, LIVES_A_ROUND = 64 };

_Atomic uint64_t lives;
static _Atomic uint64_t lives_left;

/* --- errands: fibers that are accounted for --------------------------------------------------- */

struct errand {
    _Atomic uint32_t runs;
    bool accepted; /* written by the fiber or thread that spawned it */
    uint64_t random;
};
static struct errand *errands;
static _Atomic uint32_t errands_used;
static _Atomic uint64_t clusters[SLOTS], fibers[SLOTS]; /* handles, perhaps stale */

static struct weft_cluster some_cluster(uint64_t *random) {
    uint64_t n = below(random, 2 * SLOTS);
    return (struct weft_cluster){n < SLOTS ? atomic_load(&clusters[n]) : 0};
}

static void one_of(int err, int a, int b, int c) {
    if (err != a && err != b && err != c) WANT(err, a);
}

static void *run_errand(void *errand);

/* Returns whether the spawn was accepted. Then the caller joins the fiber, unless `fiber` is NULL. */
static bool launch(uint64_t *random, struct weft_fiber *fiber) {
    uint32_t n = atomic_fetch_add(&errands_used, 1);
    if (n >= ERRANDS) return false;
    struct weft_attr attr = {.cluster = some_cluster(random), .priority = (unsigned)below(random, 3)};
    if (below(random, 4) == 0) attr.pinned = 1 + (unsigned)below(random, workers);
    if (below(random, 4) == 0) attr.node = 1;
    errands[n].random = roll(random);
    int err = weft_spawn(fiber, &attr, run_errand, &errands[n]);
    one_of(err, 0, -ESRCH, -EINVAL); /* -EINVAL: pinned to a worker that does not exist */
    errands[n].accepted = !err;
    return !err;
}

static void resize_some(uint64_t *random) {
    int err = weft_cluster_resize(some_cluster(random), 1 + (unsigned)below(random, workers));
    one_of(err, 0, -ESRCH, 0);
}
static void move_some(uint64_t *random) {
    struct weft_fiber f = {atomic_load(&fibers[below(random, SLOTS)])};
    if (f.id) one_of(weft_cluster_move(f, some_cluster(random)), 0, -ESRCH, 0);
}

/* For a pinned fiber this sends mail to a worker that may have ended before it reads it. */
static void unpark_some(uint64_t *random) {
    struct weft_fiber f = {atomic_load(&fibers[below(random, SLOTS)])};
    one_of(weft_unpark(f), 0, -ESRCH, 0);
}

static void *run_errand(void *errand) {
    struct errand *e = errand;
    uint64_t *random = &e->random;
    WANT(atomic_fetch_add(&e->runs, 1), 0);
    atomic_store(&fibers[below(random, SLOTS)], weft_self().id);
    for (unsigned n = (unsigned)below(random, 5); n > 0; n--) {
        switch (below(random, 8)) {
        case 0: OK(weft_sleep_for(below(random, 50000))); break;
        case 1: one_of(weft_park_until(soon(random)), -ETIMEDOUT, 0, 0); break; /* 0: see unpark_some */
        case 2: one_of(weft_cluster_move((struct weft_fiber){0}, some_cluster(random)), 0, -ESRCH, 0); break;
        case 3: move_some(random); break;
        case 4: launch(random, NULL); break;
        case 5: resize_some(random); break;
        default: weft_yield();
        }
    }
    moved();
    return NULL;
}

static void check_errands(void) {
    uint32_t used = atomic_load(&errands_used);
    for (uint32_t i = 0; i < used && i < ERRANDS; i++) WANT(atomic_load(&errands[i].runs), errands[i].accepted);
}

/* --- timers ----------------------------------------------------------------------------------- */

struct bell {
    struct weft_timer timer;
    uint64_t random;
    _Atomic uint64_t rung;
};
static void ring(void *bell) {
    struct bell *b = bell;
    if (below(&b->random, 2)) launch(&b->random, NULL);
    atomic_fetch_add(&b->rung, 1);
}
static void set_bell(struct bell *b, uint64_t *random) {
    uint64_t before = atomic_load(&b->rung);
    int err = weft_timer_arm(&b->timer, below(random, 4) ? soon(random) : 0, ring, b);
    one_of(err, 0, -ESRCH, 0);
    if (err) WANT(weft_timer_cancel(&b->timer), -EALREADY);
    if (err) return;
    pause_a_bit(random);
    err = weft_timer_cancel(&b->timer);
    one_of(err, 0, -EALREADY, 0);
    if (!err) WANT(atomic_load(&b->rung), before);
    while (err && atomic_load(&b->rung) == before) weft_yield();
}

/* --- scopes ----------------------------------------------------------------------------------- */

struct pupil {
    struct weft_sem never;
    _Atomic uint32_t told;
};
static int waits_to_be_told(void *pupil) {
    struct pupil *p = pupil;
    WANT(weft_sem_wait(&p->never), -ETIMEDOUT);
    atomic_fetch_add(&p->told, 1);
    moved();
    return 0;
}
/* With a deadline, over starts and stops. */
static void keep_a_scope(uint64_t *random) {
    struct weft_scope scope;
    struct pupil pupil = {.never = WEFT_SEM_INIT(0)};
    uint32_t accepted = 0;
    OK(weft_scope_begin(&scope, weft_now() + below(random, 300000)));
    for (unsigned n = (unsigned)below(random, 4); n > 0; n--) {
        int err = weft_scope_spawn(&scope, NULL, waits_to_be_told, &pupil);
        one_of(err, 0, -ESRCH, -ECANCELED);
        accepted += !err;
        pause_a_bit(random);
    }
    if (below(random, 2)) WANT(weft_sem_wait(&pupil.never), -ETIMEDOUT);
    int err = weft_scope_end(&scope); /* if no pupil was spawned, the deadline may not have passed yet */
    one_of(err, accepted ? -ETIMEDOUT : err, -ETIMEDOUT, 0);
    WANT(atomic_load(&pupil.told), accepted);
}

/* --- threads ---------------------------------------------------------------------------------- */

static void start_some(uint64_t *random) {
    struct weft_config config = {.workers = 1 + (unsigned)below(random, workers),
                                 .no_stealing = below(random, 8) == 0,
                                 .no_helping = below(random, 8) == 0,
                                 .unpark = (unsigned)below(random, 2)};
    one_of(weft_start(&config), 0, -EBUSY, 0);
}
static void stop_it(void) {
    int err = weft_stop();
    one_of(err, 0, -ESRCH, -EBUSY); /* -EBUSY: another thread is starting or stopping */
    if (err) return;
    atomic_fetch_add(&lives, 1);
    if (atomic_load(&lives_left)) atomic_fetch_sub(&lives_left, 1);
    moved();
}
static int run_main(void *random) {
    for (unsigned n = (unsigned)below(random, 4); n > 0; n--) launch(random, NULL);
    return 7;
}
static void run_some(uint64_t *random) {
    struct weft_config config = {.workers = 1 + (unsigned)below(random, workers)};
    int result = weft_run(run_main, random, &config);
    one_of(result, 7, -EBUSY, -EBUSY);
    if (result == 7) atomic_fetch_add(&lives, 1);
}

/* A child with its own runtime. Not with sanitizers: threads that only the parent has may have held locks of their
 * allocators, and a thread of the child that begins waits for these. */
static void *return_it(void *arg) { return arg; }
static void fork_one(void) {
    int status;
    if (TEST_TSAN || TEST_ASAN) return;
    pid_t child = fork();
    SO(child >= 0);
    if (!child) {
        int here = 0;
        alarm(100);
        OK(weft_start(&(struct weft_config){.workers = 2}));
        SO(join(spawn(NULL, return_it, &here)) == &here);
        OK(weft_stop());
        _exit(0);
    }
    WANT(waitpid(child, &status, 0), child);
    OK(status);
    moved();
}

static void make_some(uint64_t *random) {
    struct weft_config config = {.workers = 1 + (unsigned)below(random, 3), .unpark = (unsigned)below(random, 2)};
    struct weft_cluster c = {0};
    uint64_t none = 0;
    int err = weft_cluster_create(&c, &config);
    one_of(err, 0, -ESRCH, -ENOMEM); /* -ENOMEM: all that there can be */
    if (err) return;
    one_of(weft_cluster_workers(c), (int)config.workers, -ESRCH,
           -ESRCH); /* no other thread knows the cluster, or the runtime was stopped */
    if (!atomic_compare_exchange_strong(&clusters[below(random, SLOTS)], &none, c.id))
        one_of(weft_cluster_destroy(c), 0, -ESRCH, 0);
}
static void destroy_some(uint64_t *random) {
    unsigned slot = (unsigned)below(random, SLOTS);
    uint64_t id = atomic_load(&clusters[slot]);
    if (!id) return;
    int err = weft_cluster_destroy((struct weft_cluster){id});
    one_of(err, 0, -ESRCH, -EBUSY);
    if (err != -EBUSY) atomic_compare_exchange_strong(&clusters[slot], &id, 0);
}
static void ask_some(uint64_t *random) {
    struct weft_stats stats;
    struct weft_delays delays;
    struct weft_hog hogs[2];
    struct weft_cluster c = some_cluster(random);
    one_of(weft_stats_read(&stats), 0, -ESRCH, 0);
    one_of(weft_delays_read(c, &delays), 0, -ESRCH, 0);
    one_of(weft_stats_worker((unsigned)below(random, workers), &stats), 0, -ESRCH, -EINVAL);
    SO(weft_hogs(c, hogs, 2) >= -ESRCH);
    SO(weft_cluster_workers(c) >= -ESRCH);
    SO(weft_workers() <= WEFT_WORKERS_MAX);
}

struct busybody {
    uint64_t random;
    struct bell bell;
};
static void *meddle(void *busybody) {
    struct busybody *b = busybody;
    uint64_t *random = &b->random;
    struct weft_fiber f;
    while (atomic_load(&lives_left)) {
        if (!weft_workers() && below(random, 2)) start_some(random);
        switch (below(random, 24)) {
        case 0: stop_it(); break;
        case 1: make_some(random); break;
        case 2: destroy_some(random); break;
        case 3: resize_some(random); break;
        case 4: one_of(weft_cluster_drain_until(some_cluster(random), soon(random)), 0, -ESRCH, -ETIMEDOUT); break;
        case 5: move_some(random); break;
        case 6: ask_some(random); break;
        case 7: keep_a_scope(random); break;
        case 8:
        case 9: set_bell(&b->bell, random); break;
        case 10:
        case 11:
        case 12:
            if (launch(random, &f)) join(f);
            break;
        case 13: pause_a_bit(random); break;
        case 14: unpark_some(random); break;
        case 15: run_some(random); break;
        case 16:
            if (below(random, 16) == 0) fork_one();
            break;
        default: launch(random, NULL);
        }
    }
    return NULL;
}

static void lives_round(uint64_t random) {
    static struct busybody busybodies[THREADS];
    if (!errands) SO(errands = calloc(ERRANDS, sizeof *errands));
    memset(errands, 0, ERRANDS * sizeof *errands);
    memset(busybodies, 0, sizeof busybodies);
    atomic_store(&errands_used, 0);
    atomic_store(&lives_left, LIVES_A_ROUND / shrink);
    for (unsigned i = 0; i < THREADS; i++) {
        busybodies[i].random = roll(&random);
        busybodies[i].bell.random = roll(&random);
    }
    crowd(0, THREADS, meddle, busybodies, sizeof *busybodies);
    int err = weft_stop();
    one_of(err, 0, -ESRCH, 0);
    check_errands();
}

const struct part parts_of_lives[] = {{"lives", lives_round, true, true}, {NULL, NULL, false, false}};
