/* SPDX-License-Identifier: MIT */
/* Parts about races for one fiber: for its park, and for the next life of its record. */
#include "crowd.h"

/* --- wake ---------------------------------------------------------------------------------------
 *
 * Permit, deadline and cancellation race for every park. Each seat has a fiber that parks, a keeper that cancels and
 * replaces it, and visiting wakers, which are fibers and threads. The accounting: a waker sets the seat's flag from 0
 * to 1 before its unpark, and counts. A park that returns 0 finds the flag at 1, clears it, and counts. So at the end
 * of a life, woken = sent, or one less with the flag still set.
 */

enum { SEATS = 24, WAKERS = 6, THREADS = 2 };

struct seat {
    struct weft_fiber sitter;
    _Atomic bool open;
    _Atomic unsigned inside; /* wakers that look at this life */
    _Atomic unsigned flag;
    _Atomic uint64_t sent;
    uint64_t woken, late, random, sitter_random;
};
static struct seat seats[SEATS];

static void *sit(void *arg) {
    struct seat *s = arg;
    uint64_t random = s->sitter_random;
    for (;;) {
        int err = below(&random, 2) ? weft_park() : weft_park_until(weft_now() + below(&random, 40000));
        if (err == 0) {
            WANT(atomic_exchange(&s->flag, 0), 1);
            s->woken++;
            moved();
        } else if (err == -ETIMEDOUT) {
            s->late++;
        } else {
            WANT(err, -ECANCELED);
            SO(weft_cancelled());
            return s;
        }
        if (below(&random, 16) == 0) pause_a_bit(&random);
    }
}

static void *wake(void *arg) {
    uint64_t *random = arg;
    while (!over()) {
        struct seat *s = &seats[below(random, SEATS)];
        atomic_fetch_add(&s->inside, 1);
        if (atomic_load(&s->open)) {
            unsigned down = 0;
            if (atomic_compare_exchange_strong(&s->flag, &down, 1)) {
                atomic_fetch_add(&s->sent, 1);
                OK(weft_unpark(s->sitter));
            }
        }
        atomic_fetch_sub(&s->inside, 1);
        if (below(random, 4) == 0) pause_a_bit(random);
    }
    return NULL;
}

static void *keep(void *arg) {
    struct seat *s = arg;
    while (!over()) {
        s->woken = s->late = 0;
        s->sitter_random = roll(&s->random);
        atomic_store(&s->flag, 0);
        atomic_store(&s->sent, 0);
        s->sitter = spawn(NULL, sit, s);
        atomic_store(&s->open, true);
        OK(weft_sleep_for(below(&s->random, 2000000)));
        bool close_first = below(&s->random, 2);
        if (!close_first) OK(weft_cancel(s->sitter));
        atomic_store(&s->open, false);
        while (atomic_load(&s->inside)) weft_yield();
        if (close_first) OK(weft_cancel(s->sitter));
        SO(join(s->sitter) == s);
        WANT(atomic_load(&s->sent), s->woken + atomic_load(&s->flag));
    }
    return NULL;
}

struct actor {
    void *(*fn)(void *);
    void *arg;
};
static void *act(void *arg) {
    struct actor *a = arg;
    return a->fn(a->arg);
}

static void wake_round(uint64_t random) {
    struct actor actor[SEATS + WAKERS + THREADS];
    uint64_t each[WAKERS + THREADS];
    for (unsigned i = 0; i < SEATS; i++) {
        seats[i].random = roll(&random);
        actor[i] = (struct actor){keep, &seats[i]};
    }
    for (unsigned i = 0; i < WAKERS + THREADS; i++) {
        each[i] = roll(&random);
        actor[SEATS + i] = (struct actor){wake, &each[i]};
    }
    crowd(SEATS + WAKERS, THREADS, act, actor, sizeof *actor);
}

/* --- stale ---------------------------------------------------------------------------------------
 *
 * Records are reused at once while other fibers still hold handles of their last lives, and use these to unpark,
 * cancel, join and detach. That must not affect a new life.
 */
enum { HANDLES = 64 };
static _Atomic uint64_t handles[HANDLES];

static void *new_life(void *arg) {
    uint64_t random = (uintptr_t)arg;
    SO(!weft_cancelled());
    WANT(weft_park_until(0), -ETIMEDOUT); /* no permit of another fiber */
    if (below(&random, 2)) weft_yield();
    WANT(weft_sleep_for(below(&random, 2) ? 0 : 1000), 0);
    SO(!weft_cancelled());
    WANT(weft_park_until(0), -ETIMEDOUT);
    return arg;
}

/* Handles are published only after they have become stale. */
static void *live_on(void *arg) {
    uint64_t *random = arg;
    while (!over()) {
        void *mark = (void *)(uintptr_t)(roll(random) | 1);
        struct weft_fiber f = spawn(NULL, new_life, mark);
        SO(join(f) == mark);
        atomic_store(&handles[below(random, HANDLES)], f.id);
        moved();
    }
    return NULL;
}

static void *disturb(void *arg) {
    uint64_t *random = arg;
    while (!over()) {
        struct weft_fiber f = {atomic_load(&handles[below(random, HANDLES)])};
        switch (below(random, 4)) {
        case 0: WANT(weft_unpark(f), -ESRCH); break;
        case 1: WANT(weft_cancel(f), -ESRCH); break;
        case 2: WANT(weft_join_until(f, NULL, 0), -ESRCH); break;
        case 3: WANT(weft_detach(f), -ESRCH); break;
        }
        if (below(random, 16) == 0) weft_yield();
    }
    return NULL;
}

/*
 * The narrow case: the handle is valid when the call looks it up. Then the fiber ends, is joined, and its record begins
 * another life, before the call has done its work. The victim is cancelled before it ends, so new_life above or this
 * code notices a request that reaches another fiber.
 */
static _Atomic uint64_t victim;
static void *short_life(void *arg) {
    SO(!weft_cancelled()); /* of the previous life: no other fiber knows this life yet */
    return arg;
}
static void *breed(void *arg) {
    uint64_t *random = arg;
    while (!over()) {
        struct weft_fiber old = spawn(NULL, short_life, NULL);
        join(old);
        struct weft_fiber f = spawn(NULL, short_life, NULL);
        join(f);
        atomic_store(&victim, f.id); /* stale, and the record comes next */
        if (below(random, 8) == 0) weft_yield();
        moved();
    }
    return NULL;
}
static void *shoot(void *arg) {
    uint64_t *random = arg;
    while (!over()) {
        struct weft_fiber f = {atomic_load(&victim)};
        WANT(below(random, 2) ? weft_cancel(f) : weft_unpark(f), -ESRCH);
    }
    return NULL;
}

static void stale_round(uint64_t random) {
    static void *(*const roles[])(void *) = {live_on, live_on, disturb, breed, live_on, breed, disturb, shoot};
    enum { FIBERS = 6, THREADS_TOO = 2 };
    struct actor actor[FIBERS + THREADS_TOO];
    uint64_t each[FIBERS + THREADS_TOO];
    for (unsigned i = 0; i < FIBERS + THREADS_TOO; i++) {
        each[i] = roll(&random);
        actor[i] = (struct actor){roles[i], &each[i]};
    }
    crowd(FIBERS, THREADS_TOO, act, actor, sizeof *actor);
}

const struct part parts_of_races[] = {
    {"wake", wake_round, false, false}, {"stale", stale_round, false, false}, {NULL, NULL, false, false}};
