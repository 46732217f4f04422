/* SPDX-License-Identifier: MIT */
/*
 * transfer: one fiber leads. It spins, without a yield, until all other fibers have acknowledged it, and then makes a
 * random fiber the leader. The other fibers acknowledge each leader once, and then wait for the next: at a semaphore,
 * where the new leader wakes them, or by yielding.
 *
 *   fibers=  for each worker     park=  1: wait at a semaphore, 0: yield
 *
 * Fibers that are ready on the leader's worker run only if another worker steals them: an idle worker if fibers park, a
 * worker that always has work if they yield. With a single worker the benchmark ends only in a system that preempts
 * fibers.
 *
 * A leader that has waited for five seconds gives up, and all fibers leave. The result is then wrong, and the figure
 * only shows where the time went. Otherwise each fiber must have led or acknowledged in every round.
 * Metric: us for a transfer from one leader to the next. The first transfer, which opens the gate, does not count.
 */
#include "benches.h"
#include "crowd.h"

#include <stdlib.h>

#define LIMIT UINT64_C(5000000000)
#define SPINS 1000 /* steps between two reads of the clock */
#define OVER UINT64_MAX

struct place {
    APART struct sys_sem sem;
};

struct transfer {
    /* The leader writes these after all others have acknowledged it. The others read them when the round has begun. */
    APART uint64_t round; /* from 1 on, or OVER; stored last */
    size_t leader, previous;
    /* Used only by the leader. */
    APART uint64_t random;
    uint64_t rounds; /* completed */
    uint64_t began, ended;
    bool gave_up;
    bool park;
    struct place *places;
    APART size_t acknowledged;
};

static void wake(struct transfer *t, size_t fiber) {
    if (t->park) sys_sem_post(&t->places[fiber].sem);
}

static bool all_acknowledged(struct transfer *t, size_t others) {
    uint64_t began = clock_ns();
    do {
        for (int i = 0; i < SPINS; i++) /* pairs with the release of each acknowledgement */
            if (__atomic_load_n(&t->acknowledged, __ATOMIC_ACQUIRE) == others) return true;
    } while (clock_ns() - began < LIMIT);
    return false;
}

static void lead(struct transfer *t, struct seat *seat) {
    size_t me = seat->index, size = seat->crowd->size;
    uint64_t round = t->round;
    if (round == 1)
        t->began = clock_ns();
    else
        for (size_t i = 0; i < size; i++)
            if (i != me && i != t->previous) wake(t, i);

    t->gave_up = !all_acknowledged(t, size - 1);
    t->ended = clock_ns();
    t->rounds += !t->gave_up;
    if (round == 1 && !t->gave_up) t->began = t->ended;
    if (t->gave_up || (round > 1 && crowd_stopped(seat->crowd))) {
        __atomic_store_n(&t->round, OVER, __ATOMIC_RELEASE);
        for (size_t i = 0; i < size; i++) wake(t, i);
        return;
    }
    size_t next = (me + 1 + random_below(&t->random, size - 1)) % size;
    t->acknowledged = 0;
    t->previous = me;
    t->leader = next;
    __atomic_store_n(&t->round, round + 1,
                     __ATOMIC_RELEASE); /* pairs with the load of a fiber that waits for a new round */
    wake(t, next);
}

static void *body(void *p) {
    struct seat *seat = (struct seat *)p;
    struct transfer *t = (struct transfer *)seat->crowd->own;
    uint64_t seen = 0, count = 0;

    baton_wait(&seat->baton);
    for (;;) {
        uint64_t round = __atomic_load_n(&t->round, __ATOMIC_ACQUIRE);
        if (round == OVER) break;
        if (round != seen) {
            seen = round;
            count++;
            if (t->leader == seat->index)
                lead(t, seat);
            else
                __atomic_fetch_add(&t->acknowledged, 1, __ATOMIC_RELEASE);
        } else if (t->park) {
            sys_sem_wait(&t->places[seat->index].sem);
        } else {
            sys_yield();
        }
    }
    crowd_leave(seat, count);
    return NULL;
}

void bench_transfer(const struct args *args, struct result *result) {
    size_t fibers = arg(args, "fibers") * arg(args, "workers");
    if (fibers < 2) fail("fibers", EINVAL);
    struct transfer *t = (struct transfer *)allocate(1, sizeof *t);
    t->round = t->random = 1;
    t->park = arg(args, "park");
    t->places = (struct place *)allocate(fibers, sizeof *t->places);
    for (size_t i = 0; i < fibers; i++) sys_sem_init(&t->places[i].sem, 0);

    struct crowd crowd;
    crowd.own = t;
    crowd_run(&crowd, fibers, 1, arg(args, "ms"), body);
    result->right = crowd.right && !t->gave_up;
    for (size_t i = 0; i < fibers; i++) result->right &= crowd.counts[i] == t->rounds;
    uint64_t transfers = t->rounds > 1 ? t->rounds - 1 : 1;
    result->values[0] = (double)(t->ended - t->began) / (double)transfers / 1e3;
    crowd_free(&crowd);
    free(t->places);
    free(t);
}
