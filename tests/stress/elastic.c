/* SPDX-License-Identifier: MIT */
/* Parts in which the workers change: workers and clusters come and go, fibers block their kernel threads, and fibers
 * have priorities. */
#include "crowd.h"

#include <stdlib.h>
#include <time.h>

/* Each actor is inside at most once at a time, and its steps add up. So the test notices an actor that runs twice at
 * once, or never again. */
struct actor {
    uint64_t random;
    unsigned number;
    _Atomic int inside;
    uint64_t steps; /* its own, and not atomic: only one runs it */
};
static _Atomic uint64_t steps_done;

static void step_in(struct actor *a) { WANT(atomic_fetch_add(&a->inside, 1), 0); }
static void step_out(struct actor *a) {
    a->steps++;
    atomic_fetch_add(&steps_done, 1);
    WANT(atomic_fetch_sub(&a->inside, 1), 1);
    moved();
}

/* Waits of all kinds, none of them long. */
static struct weft_sem baton;
static void wait_somehow(uint64_t *random) {
    switch (below(random, 8)) {
    case 0: OK(weft_sleep_for(below(random, 50000))); break;
    case 1: WANT(weft_park_until(weft_now() + below(random, 30000)), -ETIMEDOUT); break;
    case 2:
        OK(weft_sem_post(&baton));
        OK(weft_sem_wait(&baton));
        break;
    default: weft_yield();
    }
}

enum { ACTORS = 96 };
static struct actor actors[ACTORS];
static void prepare_actors(uint64_t *random) {
    OK(weft_sem_init(&baton, 0));
    atomic_store(&steps_done, 0);
    for (unsigned i = 0; i < ACTORS; i++) {
        actors[i] = (struct actor){.random = roll(random), .number = i};
        atomic_store(&actors[i].inside, 0);
    }
}

/* --- resize: any number of workers at any time, one among them ----------------------------------------------- */

_Atomic uint64_t resizes;
static void resize(unsigned to) {
    OK(weft_cluster_resize((struct weft_cluster){0}, to));
    atomic_fetch_add(&resizes, 1);
}

static _Atomic uint64_t running;
static _Atomic bool all_there; /* no further fiber is spawned, because its worker may not exist */

static void *act(void *arg) {
    struct actor *a = arg;
    for (unsigned n = 400 / shrink; n > 0; n--) {
        step_in(a);
        if (a->number == 0 && atomic_load(&all_there) && below(&a->random, 4) == 0)
            resize(1 + (unsigned)below(&a->random, workers));
        step_out(a);
        wait_somehow(&a->random);
    }
    atomic_fetch_sub(&running, 1);
    return NULL;
}
static void *resize_all_the_time(void *random_of) {
    uint64_t random = *(uint64_t *)random_of;
    while (atomic_load(&running)) {
        unsigned most = workers < 2 ? 4 : workers;
        unsigned n = below(&random, 2) ? 1 : 1 + (unsigned)below(&random, most);
        resize(n);
        if (below(&random, 4) == 0) OK(weft_sleep_for(below(&random, 300000)));
    }
    return NULL;
}
static void resize_round(uint64_t random) {
    struct weft_fiber f[ACTORS];
    pthread_t t[2];
    uint64_t seed[2] = {roll(&random), roll(&random)};
    OK(weft_cluster_resize((struct weft_cluster){0}, workers));
    prepare_actors(&random);
    atomic_store(&running, ACTORS);
    atomic_store(&all_there, false);
    for (unsigned i = 0; i < ACTORS; i++) {
        struct weft_attr attr = {.pinned = i % 8 == 7 ? 1 + i % workers : 0, .priority = i % 5 < 3 ? i % 5 : 0};
        f[i] = spawn(&attr, act, &actors[i]);
    }
    atomic_store(&all_there, true);
    for (int i = 0; i < 2; i++) OK(pthread_create(&t[i], NULL, resize_all_the_time, &seed[i]));
    for (unsigned i = 0; i < ACTORS; i++) join(f[i]);
    for (int i = 0; i < 2; i++) OK(pthread_join(t[i], NULL));
    for (unsigned i = 0; i < ACTORS; i++) WANT(actors[i].steps, 400 / shrink);
    WANT(atomic_load(&steps_done), ACTORS * (uint64_t)(400 / shrink));
    OK(weft_cluster_resize((struct weft_cluster){0}, workers));
}

/* --- clusters: made, filled, left, drained and ended by many ---------------------------------------------------- */

enum { SLOTS = 6, KEEPERS = 6, KEEPER_THREADS = 2, ROAMER_STEPS = 12 };
static _Atomic uint64_t slots[SLOTS];   /* handles; 0: none */
static _Atomic uint64_t roamers[SLOTS]; /* some of the running fibers, recorded by their spawners */
static _Atomic uint64_t born, died, roamer_steps;
static struct weft_counter roaming;

static struct weft_cluster some_cluster(uint64_t *random) {
    return (struct weft_cluster){atomic_load(&slots[below(random, SLOTS)])};
}
static void gone_or(int err, int other) {
    if (err && err != other) WANT(err, -ESRCH);
}

static void *roam(void *seed) {
    uint64_t random = (uintptr_t)seed | 1;
    for (unsigned i = 0; i < ROAMER_STEPS; i++) {
        struct weft_cluster to = some_cluster(&random);
        struct weft_fiber other = {atomic_load(&roamers[below(&random, SLOTS)])};
        if (below(&random, 2)) gone_or(weft_cluster_move((struct weft_fiber){0}, to), 0);
        if (other.id && below(&random, 4) == 0) gone_or(weft_cluster_move(other, to), 0);
        if (to.id && below(&random, 16) == 0) gone_or(weft_cluster_resize(to, 1 + (unsigned)below(&random, 3)), 0);
        if (below(&random, 4) == 0) OK(weft_sleep_for(below(&random, 30000)));
        if (below(&random, 4) == 0) weft_yield();
        atomic_fetch_add(&roamer_steps, 1);
        moved();
    }
    atomic_fetch_add(&died, 1);
    return NULL;
}

static void make_one(uint64_t *random, unsigned slot) {
    struct weft_config config = {.workers = 1 + (unsigned)below(random, 3), .unpark = (unsigned)below(random, 2)};
    struct weft_cluster c = {0};
    uint64_t none = 0;
    int err = weft_cluster_create(&c, &config);
    if (err) {
        WANT(err, -ENOMEM); /* all that there can be */
        return;
    }
    if (!atomic_compare_exchange_strong(&slots[slot], &none, c.id))
        OK(weft_cluster_destroy(c)); /* no other actor knows it */
}
static void fill(uint64_t *random, unsigned slot) {
    struct weft_attr attr = {
        .counter = &roaming, .cluster = some_cluster(random), .priority = (unsigned)below(random, 3)};
    struct weft_fiber f;
    OK(weft_counter_add(&roaming, 1));
    int err = weft_spawn(&f, &attr, roam, (void *)(uintptr_t)roll(random));
    if (err) {
        WANT(err, -ESRCH);
        OK(weft_counter_complete(&roaming));
        return;
    }
    atomic_fetch_add(&born, 1);
    atomic_store(&roamers[slot], f.id);
    OK(weft_detach(f));
}
static void *keep(void *seed) {
    uint64_t random = *(uint64_t *)seed;
    for (unsigned n = 60 / shrink; n > 0; n--) {
        unsigned slot = (unsigned)below(&random, SLOTS);
        uint64_t id = atomic_load(&slots[slot]);
        struct weft_cluster c = {id};
        switch (below(&random, 6)) {
        case 0: make_one(&random, slot); break;
        case 1:
            if (!id) break;
            int err = weft_cluster_destroy(c);
            if (!err) atomic_compare_exchange_strong(&slots[slot], &id, 0);
            if (err != -EBUSY && err != -EDEADLK) gone_or(err, 0);
            break;
        case 2: gone_or(weft_cluster_drain_until(c, weft_now() + below(&random, 100000)), -ETIMEDOUT); break;
        default: fill(&random, slot);
        }
        moved();
        pause_a_bit(&random);
    }
    return NULL;
}
static void end_all(void) {
    for (unsigned i = 0; i < SLOTS; i++) {
        struct weft_cluster c = {atomic_exchange(&slots[i], 0)};
        if (c.id) gone_or(weft_cluster_destroy(c), 0); /* no fiber is left in it */
        atomic_store(&roamers[i], 0);
    }
}
static void clusters_round(uint64_t random) {
    uint64_t seed[KEEPERS + KEEPER_THREADS];
    for (unsigned i = 0; i < KEEPERS + KEEPER_THREADS; i++) seed[i] = roll(&random);
    atomic_store(&born, 0);
    atomic_store(&died, 0);
    atomic_store(&roamer_steps, 0);
    crowd(KEEPERS, KEEPER_THREADS, keep, seed, sizeof *seed);
    OK(weft_counter_wait(&roaming, 0));
    WANT(atomic_load(&died), atomic_load(&born));
    WANT(atomic_load(&roamer_steps), ROAMER_STEPS * atomic_load(&born));
    end_all();
}

/* --- blockers: fibers sit on their kernel threads, all over the place ------------------------- */

static void sit(uint64_t *random) {
    uint64_t ns = below(random, 8) ? below(random, 300000) : below(random, 12000000);
    if (below(random, 2)) {
        struct timespec t = {0, (long)ns};
        nanosleep(&t, NULL);
        return;
    }
    for (uint64_t until = weft_now() + ns / 4; weft_now() < until;) {
    }
}
static void *sit_now_and_then(void *arg) {
    struct actor *a = arg;
    for (unsigned n = 60 / shrink; n > 0; n--) {
        step_in(a);
        if (a->number % 8 == 0 && below(&a->random, 4) == 0) sit(&a->random);
        step_out(a);
        wait_somehow(&a->random);
    }
    return NULL;
}
static void blockers_round(uint64_t random) {
    struct weft_fiber f[ACTORS];
    prepare_actors(&random);
    for (unsigned i = 0; i < ACTORS; i++) {
        struct weft_attr attr = {.pinned = i % 5 == 4 ? 1 + i % workers : 0, .priority = i % 7 < 3 ? i % 7 : 0};
        f[i] = spawn(&attr, sit_now_and_then, &actors[i]);
    }
    for (unsigned i = 0; i < ACTORS; i++) join(f[i]);
    for (unsigned i = 0; i < ACTORS; i++) WANT(actors[i].steps, 60 / shrink);
    WANT(atomic_load(&steps_done), ACTORS * (uint64_t)(60 / shrink));
}

/* --- priorities: of all kinds, spawned, woken and waiting for each other ---------------------- */

struct mixed {
    uint64_t random;
    _Atomic uint64_t *children;
};
static void *be_a_child(void *children) {
    weft_yield();
    atomic_fetch_add((_Atomic uint64_t *)children, 1);
    moved();
    return NULL;
}
static void *mix(void *arg) {
    struct mixed *m = arg;
    for (unsigned n = 40 / shrink + 1; n > 0; n--) {
        struct weft_fiber f[4];
        _Atomic uint64_t children = 0;
        unsigned count = 1 + (unsigned)below(&m->random, 4);
        for (unsigned i = 0; i < count; i++) {
            struct weft_attr attr = {.priority = (unsigned)below(&m->random, 3),
                                     .pinned = below(&m->random, 4) ? 0 : 1 + (unsigned)below(&m->random, workers)};
            f[i] = spawn(&attr, be_a_child, &children);
        }
        if (weft_self().id) wait_somehow(&m->random);
        for (unsigned i = 0; i < count; i++) join(f[i]);
        WANT(atomic_load(&children), count);
        atomic_fetch_add(m->children, count);
    }
    return NULL;
}
static void priorities_round(uint64_t random) {
    enum { FIBERS = 30, THREADS = 2 };
    struct mixed m[FIBERS + THREADS];
    struct weft_fiber f[FIBERS];
    static _Atomic uint64_t children;
    OK(weft_sem_init(&baton, 0));
    for (unsigned i = 0; i < FIBERS + THREADS; i++) m[i] = (struct mixed){roll(&random), &children};
    for (unsigned i = 0; i < FIBERS; i++) f[i] = spawn(&(struct weft_attr){.priority = i % 3}, mix, &m[i]);
    crowd(0, THREADS, mix, &m[FIBERS], sizeof *m);
    for (unsigned i = 0; i < FIBERS; i++) join(f[i]);
}

const struct part parts_of_elastic[] = {{"resize", resize_round, false, true},
                                        {"clusters", clusters_round, false, false},
                                        {"blockers", blockers_round, false, true},
                                        {"priorities", priorities_round, false, true},
                                        {NULL, NULL, false, false}};
