/* SPDX-License-Identifier: MIT */
/* Parts with threads of the program at the edge of the runtime, and with workers that compute. */
#include "crowd.h"

#include <stdlib.h>

/* --- handshake --------------------------------------------------------------------------------------
 *
 * Threads make bursts of every kind of work from outside: spawns, pinned spawns, unparks of free and of pinned fibers,
 * posts, timers. In the pauses the workers fall asleep. Each item arrives once, and the thread waits for it. A lost
 * wake-up stops the thread, and the watchdog reports that.
 */
enum { OUTSIDERS = 3, PARKED = 8 };

struct outsider {
    uint64_t random;
    _Atomic uint64_t arrived, ends;
    struct weft_sem sem;
    struct weft_fiber parked[PARKED];
    _Atomic uint64_t wanted[PARKED], woken[PARKED];
    struct weft_timer timer[4];
};

struct parked {
    struct outsider *o;
    unsigned number;
};

static void *arrive(void *o) {
    atomic_fetch_add(&((struct outsider *)o)->arrived, 1);
    return NULL;
}
static void arrive_by_timer(void *o) { arrive(o); }
static void *take_one(void *o) {
    OK(weft_sem_wait(&((struct outsider *)o)->sem));
    return arrive(o);
}
static void *is_woken(void *arg) {
    struct parked *p = arg;
    struct outsider *o = p->o;
    for (;;) {
        OK(weft_park());
        if (atomic_load(&o->ends)) break;
        /* Only one permit is out at a time, so it is this permit. */
        uint64_t wanted = atomic_load(&o->wanted[p->number]); /* before we let it grow again */
        WANT(wanted, atomic_fetch_add(&o->woken[p->number], 1) + 1);
        atomic_fetch_add(&o->arrived, 1);
    }
    free(p);
    return NULL;
}

static uint64_t one_item(struct outsider *o, unsigned turn, uint64_t sent) {
    struct weft_attr pinned = {.pinned = 1 + (unsigned)below(&o->random, workers)};
    unsigned k = (unsigned)below(&o->random, PARKED);
    switch (below(&o->random, 5)) {
    case 0: OK(weft_spawn(NULL, NULL, arrive, o)); break;
    case 1: OK(weft_spawn(NULL, &pinned, arrive, o)); break;
    case 2:
        if (atomic_load(&o->wanted[k]) != atomic_load(&o->woken[k])) return sent;
        atomic_fetch_add(&o->wanted[k], 1);
        OK(weft_unpark(o->parked[k]));
        break;
    case 3:
        OK(weft_spawn(NULL, below(&o->random, 2) ? &pinned : NULL, take_one, o));
        OK(weft_sem_post(&o->sem));
        break;
    case 4: {
        int err = weft_timer_arm(&o->timer[turn % 4], weft_now() + below(&o->random, 100000), arrive_by_timer, o);
        if (err == -EBUSY) return sent; /* of this burst, and not due yet */
        OK(err);
        break;
    }
    }
    return sent + 1;
}

static void *hand_in(void *arg) {
    struct outsider *o = arg;
    uint64_t sent = 0;
    for (unsigned k = 0; k < PARKED; k++) {
        struct parked *p = malloc(sizeof *p);
        struct weft_attr pinned = {.pinned = k % 2 ? 1 + k % workers : 0};
        SO(p);
        *p = (struct parked){o, k};
        o->parked[k] = spawn(&pinned, is_woken, p);
    }
    while (!over()) {
        for (unsigned n = 1 + (unsigned)below(&o->random, 12); n; n--) sent = one_item(o, n, sent);
        while (atomic_load(&o->arrived) < sent) OK(weft_sleep_for(2000));
        WANT(atomic_load(&o->arrived), sent);
        moved();
        if (below(&o->random, 2)) OK(weft_sleep_for(below(&o->random, 500000)));
    }
    atomic_store(&o->ends, 1);
    for (unsigned k = 0; k < PARKED; k++) {
        OK(weft_unpark(o->parked[k]));
        join(o->parked[k]);
        WANT(atomic_load(&o->wanted[k]), atomic_load(&o->woken[k]));
    }
    WANT(atomic_load(&o->arrived), sent);
    return NULL;
}

static void handshake_round(uint64_t random) {
    struct outsider *o = calloc(OUTSIDERS, sizeof *o);
    SO(o);
    for (unsigned i = 0; i < OUTSIDERS; i++) o[i].random = roll(&random);
    crowd(0, OUTSIDERS, hand_in, o, sizeof *o);
    free(o);
}

/* --- rivals -----------------------------------------------------------------------------------------
 *
 * A fiber or thread arms timers, and two others try to cancel them: armed = fired + cancelled.
 */
enum { TIMERS = 64, FIBERS = 8, THREADS = 2 };

struct contested {
    struct weft_timer timer;
    _Atomic uint64_t armed, fired, cancelled;
};
static struct contested contested[FIBERS + THREADS][TIMERS];
struct owner {
    uint64_t random;
    unsigned number;
};

static void fire(void *c) {
    atomic_fetch_add(&((struct contested *)c)->fired, 1);
    moved();
}
static void *own_timers(void *arg) {
    struct owner *o = arg;
    while (!over()) {
        struct contested *c = &contested[o->number][below(&o->random, TIMERS)];
        struct contested *other = &contested[below(&o->random, FIBERS + THREADS)][below(&o->random, TIMERS)];
        int err = weft_timer_arm(&c->timer, weft_now() + below(&o->random, 300000), fire, c);
        if (err)
            WANT(err, -EBUSY);
        else
            atomic_fetch_add(&c->armed, 1);
        struct contested *doomed = below(&o->random, 2) ? c : other;
        err = below(&o->random, 2) ? weft_timer_cancel(&doomed->timer) : -EALREADY;
        if (err)
            WANT(err, -EALREADY);
        else
            atomic_fetch_add(&doomed->cancelled, 1);
        pause_a_bit(&o->random);
    }
    return NULL;
}
static void rivals_round(uint64_t random) {
    struct owner owner[FIBERS + THREADS];
    for (unsigned i = 0; i < FIBERS + THREADS; i++) owner[i] = (struct owner){roll(&random), i};
    crowd(FIBERS, THREADS, own_timers, owner, sizeof *owner);
    for (unsigned i = 0; i < FIBERS + THREADS; i++)
        for (unsigned k = 0; k < TIMERS; k++) {
            struct contested *c = &contested[i][k];
            if (!weft_timer_cancel(&c->timer)) atomic_fetch_add(&c->cancelled, 1);
            while (atomic_load(&c->fired) + atomic_load(&c->cancelled) < atomic_load(&c->armed))
                OK(weft_sleep_for(100000));
            WANT(atomic_load(&c->fired) + atomic_load(&c->cancelled), atomic_load(&c->armed));
        }
}

/* --- hogs ---------------------------------------------------------------------------------------------
 *
 * Fibers make other fibers ready and then compute until these have run. There is always a free worker or a new spare,
 * so all fibers end. If that worker does not wake, nothing moves any more.
 */
static struct weft_sem may_hog;

/* Builds that move every fiber put it into the mailbox of a worker that may compute for ever. */
#ifdef WEFT_MIGRATE
enum { MOVES_BY_FORCE = 1 };
#else
enum { MOVES_BY_FORCE = 0 };
#endif

static void *set_flag(void *flag) {
    atomic_store((_Atomic unsigned *)flag, 1);
    return NULL;
}
static void *hog(void *arg) {
    uint64_t *random = arg;
    while (!over()) {
        _Atomic unsigned flag[3] = {0, 0, 0};
        unsigned n = 1 + (unsigned)below(random, 3);
        OK(weft_sem_wait(&may_hog));
        for (unsigned i = 0; i < n; i++) OK(weft_spawn(NULL, NULL, set_flag, &flag[i]));
        for (unsigned i = 0; i < n; i++)
            while (!atomic_load(&flag[i])) {
            }
        OK(weft_sem_post(&may_hog));
        moved();
        if (below(random, 4) == 0) OK(weft_sleep_for(below(random, 300000)));
    }
    return NULL;
}
static void hogs_round(uint64_t random) {
    uint64_t each[6];
    unsigned most = workers - 1 < 3 ? workers - 1 : 3; /* as many processors as there are would be too slow */
    for (unsigned i = 0; i < 6; i++) each[i] = roll(&random);
    if (!most) most = 1; /* and another in its place */
    if (MOVES_BY_FORCE) return;
    OK(weft_sem_init(&may_hog, most));
    crowd(6, 0, hog, each, sizeof *each);
}

const struct part parts_from_outside[] = {{"handshake", handshake_round, false, false},
                                          {"rivals", rivals_round, false, false},
                                          {"hogs", hogs_round, false, true},
                                          {NULL, NULL, false, false}};
