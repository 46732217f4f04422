/* SPDX-License-Identifier: MIT */
/*
 * conditions: a queue with a limit between producers and consumers, fibers and threads, with deadlines, cancellations,
 * signals and broadcasts. Every item is consumed once.
 */
#include "crowd.h"

enum { ROOM = 5, MAKERS = 6, USERS = 6, THREADS = 2 };

static struct weft_mutex mutex;
static struct weft_cond not_full, not_empty;
/* By the mutex. */
static uint64_t item[ROOM], length, made, sum_made, used, sum_used, makers_left;

/* Waits once. False: the caller was cancelled. The caller holds the mutex in both cases. */
static bool await(struct weft_cond *cond, uint64_t *random) {
    int err = below(random, 2) ? weft_cond_wait(cond, &mutex)
                               : weft_cond_wait_until(cond, &mutex, weft_now() + below(random, 50000));
    SO(err == 0 || err == -ETIMEDOUT || (err == -ECANCELED && weft_cancelled()));
    return err != -ECANCELED;
}

static void tell(struct weft_cond *cond, uint64_t *random) {
    WANT(below(random, 8) ? weft_cond_signal(cond) : weft_cond_broadcast(cond), 0);
}

/* Locks by trying, which a cancelled fiber can do, too. */
static void lock(void) {
    while (weft_mutex_lock(&mutex)) {
        SO(weft_cancelled());
        weft_yield();
    }
}

static void *make_some(void *arg) {
    uint64_t random = *(uint64_t *)arg;
    for (uint64_t n = 1 + below(&random, 100); n; n--) {
        lock();
        bool go_on = true;
        while (length == ROOM && go_on) go_on = await(&not_full, &random);
        if (length < ROOM) {
            item[length++] = ++made;
            sum_made += made;
            tell(&not_empty, &random);
        }
        OK(weft_mutex_unlock(&mutex));
        if (!go_on) {
            tell(&not_full, &random); /* passes on the signal that it may have received */
            break;
        }
    }
    return NULL;
}

static void *make(void *arg) {
    uint64_t *random = arg;
    while (!over()) {
        uint64_t seed = roll(random);
        struct weft_fiber f = spawn(NULL, make_some, &seed);
        if (below(random, 3) == 0) {
            pause_a_bit(random);
            OK(weft_cancel(f));
        }
        join(f);
    }
    lock();
    if (--makers_left == 0) OK(weft_cond_broadcast(&not_empty));
    OK(weft_mutex_unlock(&mutex));
    return NULL;
}

static void *use(void *arg) {
    uint64_t *random = arg;
    lock();
    for (;;) {
        while (!length && makers_left) await(&not_empty, random);
        if (!length) break;
        sum_used += item[--length];
        used++;
        moved();
        tell(&not_full, random);
        if (below(random, 4)) continue;
        OK(weft_mutex_unlock(&mutex));
        pause_a_bit(random);
        lock();
    }
    OK(weft_mutex_unlock(&mutex));
    return NULL;
}

struct actor {
    uint64_t random;
    void *(*fn)(void *);
};
static void *act(void *arg) {
    struct actor *a = arg;
    return a->fn(&a->random);
}

static void conditions_round(uint64_t random) {
    struct actor actor[MAKERS + USERS + 2 * THREADS];
    for (unsigned i = 0; i < MAKERS + USERS + 2 * THREADS; i++)
        actor[i] = (struct actor){roll(&random), i % 2 ? use : make};
    makers_left = MAKERS + THREADS;
    crowd(MAKERS + USERS, 2 * THREADS, act, actor, sizeof *actor);
    WANT(used, made);
    WANT(sum_used, sum_made);
    WANT(length, 0);
}

const struct part parts_of_conditions[] = {{"conditions", conditions_round, false, false}, {NULL, NULL, false, false}};
