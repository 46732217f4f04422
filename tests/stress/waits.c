/* SPDX-License-Identifier: MIT */
/* Parts about waiting: permits, semaphores, mutexes, conditions and counters, with deadlines and cancellations at
 * random. */
#include "stress.h"

#include <pthread.h>
#include <stdlib.h>

/* --- permits: each permit that is given is taken once, whatever deadlines pass meanwhile ------------- */

struct duel {
    struct weft_fiber taker;
    _Atomic uint64_t taken;
    uint64_t times, random;
};

static void *taker(void *p) {
    struct duel *d = p;
    uint64_t r = d->random;
    for (uint64_t n = 0; n < d->times;) {
        int err = roll(&r) % 3 ? weft_park() : weft_park_until(weft_now() + roll(&r) % 20000);
        if (!err)
            atomic_store(&d->taken, ++n);
        else
            WANT(err, -ETIMEDOUT);
    }
    return NULL;
}

/* Gives the next permit only after the last was taken: then no permit may be lost or count twice. */
static void *giver(void *p) {
    struct duel *d = p;
    for (uint64_t n = 1; n <= d->times; n++) {
        OK(weft_unpark(d->taker));
        for (unsigned turn = 0; atomic_load(&d->taken) < n; turn++)
            if (turn % 16 == 15)
                weft_sleep_for(1000);
            else
                weft_yield();
        WANT(atomic_load(&d->taken), n);
        moved();
    }
    return NULL;
}

static void permits_round(uint64_t random) {
    enum { DUELS = 32 };
    struct duel duels[DUELS];
    struct weft_fiber givers[DUELS];
    for (int i = 0; i < DUELS; i++) {
        duels[i] = (struct duel){.taken = 0, .times = 300 / shrink, .random = roll(&random)};
        OK(weft_spawn(&duels[i].taker, NULL, taker, &duels[i]));
        OK(weft_spawn(&givers[i], NULL, giver, &duels[i]));
    }
    for (int i = 0; i < DUELS; i++) {
        OK(weft_join(givers[i], NULL));
        OK(weft_join(duels[i].taker, NULL));
    }
}

/* --- tokens: semaphore units go round; deadlines and cancellations lose and double none ---------------- */

enum { SEMS = 4, TOKENS = 3 };
static struct weft_sem sems[SEMS];
static _Atomic uint64_t exchanged;

static void *token_user(void *random) {
    uint64_t r = (uintptr_t)random | 1;
    for (int i = 0; i < 200; i++) {
        struct weft_sem *from = &sems[roll(&r) % SEMS], *to = &sems[roll(&r) % SEMS];
        int err = roll(&r) % 2 ? weft_sem_wait_until(from, weft_now() + roll(&r) % 50000) : weft_sem_try(from);
        if (err == -ECANCELED) break;
        if (!err) {
            if (roll(&r) % 4 == 0) weft_yield();
            OK(weft_sem_post(to));
            atomic_fetch_add(&exchanged, 1);
        } else
            WANT(err == -ETIMEDOUT || err == -EAGAIN, 1);
        moved();
    }
    return NULL;
}

static void *token_thread(void *random) { return token_user(random); }

static void tokens_round(uint64_t random) {
    enum { USERS = 48, THREADS = 2 };
    struct weft_fiber f[USERS];
    pthread_t t[THREADS];
    uint64_t there = 0;
    for (int i = 0; i < SEMS; i++) OK(weft_sem_init(&sems[i], TOKENS));
    for (int i = 0; i < USERS; i++) OK(weft_spawn(&f[i], NULL, token_user, (void *)(uintptr_t)roll(&random)));
    for (int i = 0; i < THREADS; i++) OK(pthread_create(&t[i], NULL, token_thread, (void *)(uintptr_t)roll(&random)));
    for (int i = 0; i < USERS / 4; i++) {
        weft_sleep_for(roll(&random) % 100000);
        weft_cancel(f[roll(&random) % USERS]);
    }
    for (int i = 0; i < USERS; i++) OK(weft_join(f[i], NULL));
    for (int i = 0; i < THREADS; i++) OK(pthread_join(t[i], NULL));
    for (int i = 0; i < SEMS; i++)
        while (!weft_sem_try(&sems[i])) there++;
    WANT(there, SEMS * TOKENS);
}

/* --- mutex: a plain number that only the holder changes -------------------------------------------------- */

static struct weft_mutex mutex;
static uint64_t guarded;
static _Atomic uint64_t held;

static void *locker(void *random) {
    uint64_t r = (uintptr_t)random | 1;
    for (int i = 0; i < 200; i++) {
        int err =
            roll(&r) % 3 ? weft_mutex_lock(&mutex) : weft_mutex_lock_cancellable(&mutex, weft_now() + roll(&r) % 30000);
        if (err == -ECANCELED) break;
        if (err) {
            WANT(err, -ETIMEDOUT);
            continue;
        }
        uint64_t before = guarded;
        if (roll(&r) % 8 == 0) weft_yield();
        WANT(guarded, before);
        guarded = before + 1;
        atomic_fetch_add(&held, 1);
        OK(weft_mutex_unlock(&mutex));
        moved();
    }
    return NULL;
}

static void mutex_round(uint64_t random) {
    enum { LOCKERS = 32, THREADS = 2 };
    struct weft_fiber f[LOCKERS];
    pthread_t t[THREADS];
    guarded = 0;
    atomic_store(&held, 0);
    for (int i = 0; i < LOCKERS; i++) OK(weft_spawn(&f[i], NULL, locker, (void *)(uintptr_t)roll(&random)));
    for (int i = 0; i < THREADS; i++) OK(pthread_create(&t[i], NULL, locker, (void *)(uintptr_t)roll(&random)));
    for (int i = 0; i < 4; i++) {
        weft_sleep_for(roll(&random) % 100000);
        weft_cancel(f[roll(&random) % LOCKERS]);
    }
    for (int i = 0; i < LOCKERS; i++) OK(weft_join(f[i], NULL));
    for (int i = 0; i < THREADS; i++) OK(pthread_join(t[i], NULL));
    WANT(guarded, atomic_load(&held));
}

/* --- buffer: a bounded buffer with two conditions; each item comes out once --------------------------------- */

enum { ROOM = 8, MAKERS = 8, EACH = 400 };
static struct {
    struct weft_mutex mutex;
    struct weft_cond not_full, not_empty;
    uint32_t item[ROOM];
    unsigned count, first;
    unsigned left; /* items to come */
} buffer;
static _Atomic uint8_t seen[MAKERS * EACH];

static void *maker(void *number) {
    uint32_t base = (uint32_t)(uintptr_t)number * (EACH / shrink);
    for (uint32_t i = 0; i < EACH / shrink; i++) {
        OK(weft_mutex_lock(&buffer.mutex));
        while (buffer.count == ROOM) OK(weft_cond_wait(&buffer.not_full, &buffer.mutex));
        buffer.item[(buffer.first + buffer.count++) % ROOM] = base + i;
        OK(weft_cond_signal(&buffer.not_empty));
        OK(weft_mutex_unlock(&buffer.mutex));
    }
    return NULL;
}

static void *user(void *random) {
    uint64_t r = (uintptr_t)random | 1;
    for (;;) {
        OK(weft_mutex_lock(&buffer.mutex));
        while (!buffer.count && buffer.left) {
            int err = roll(&r) % 2
                          ? weft_cond_wait(&buffer.not_empty, &buffer.mutex)
                          : weft_cond_wait_until(&buffer.not_empty, &buffer.mutex, weft_now() + roll(&r) % 50000);
            if (err) WANT(err, -ETIMEDOUT);
        }
        bool got = buffer.count > 0;
        if (got) {
            uint32_t item = buffer.item[buffer.first];
            buffer.first = (buffer.first + 1) % ROOM;
            buffer.count--;
            buffer.left--;
            WANT(atomic_fetch_add(&seen[item], 1), 0);
            OK(weft_cond_signal(&buffer.not_full));
            if (!buffer.left) OK(weft_cond_broadcast(&buffer.not_empty));
        }
        OK(weft_mutex_unlock(&buffer.mutex));
        moved();
        if (!got) return NULL;
    }
}

static void buffer_round(uint64_t random) {
    enum { USERS = 8, THREADS = 2 };
    struct weft_fiber f[MAKERS + USERS];
    pthread_t t[THREADS];
    uint32_t items = MAKERS * (EACH / shrink);
    for (uint32_t i = 0; i < items; i++) atomic_store(&seen[i], 0);
    buffer.left = items;
    for (int i = 0; i < USERS; i++) OK(weft_spawn(&f[MAKERS + i], NULL, user, (void *)(uintptr_t)roll(&random)));
    for (int i = 0; i < THREADS; i++) OK(pthread_create(&t[i], NULL, user, (void *)(uintptr_t)roll(&random)));
    for (int i = 0; i < MAKERS; i++) OK(weft_spawn(&f[i], NULL, maker, (void *)(uintptr_t)i));
    for (int i = 0; i < MAKERS + USERS; i++) OK(weft_join(f[i], NULL));
    for (int i = 0; i < THREADS; i++) OK(pthread_join(t[i], NULL));
    for (uint32_t i = 0; i < items; i++) WANT(atomic_load(&seen[i]), 1);
}

/* --- counters on the stack: freed as soon as the wait has returned ---------------------------------------- */

static _Atomic uint64_t completions;

static void *complete(void *random) {
    if ((uintptr_t)random % 3 == 0) weft_yield();
    atomic_fetch_add(&completions, 1);
    return NULL;
}

static void *waits_for_many(void *random) {
    uint64_t r = (uintptr_t)random | 1;
    for (int i = 0; i < 50; i++) {
        struct weft_counter c = WEFT_COUNTER_INIT; /* on this stack, again and again */
        struct weft_attr attr = {.counter = &c};
        uint64_t n = roll(&r) % 20, few = n ? roll(&r) % n : 0;
        OK(weft_counter_add(&c, n));
        for (uint64_t k = 0; k < n; k++) OK(weft_spawn(NULL, &attr, complete, (void *)(uintptr_t)roll(&r)));
        OK(weft_counter_wait(&c, few));
        WANT(weft_counter_value(&c) <= few, 1);
        int err;
        do err = weft_counter_wait_until(&c, 0, weft_now() + roll(&r) % 20000);
        while (err == -ETIMEDOUT);
        OK(err);
        WANT(weft_counter_value(&c), 0);
        moved();
    }
    return NULL;
}

static void counters_round(uint64_t random) {
    enum { WAITERS = 16, THREADS = 2 };
    struct weft_fiber f[WAITERS];
    pthread_t t[THREADS];
    for (int i = 0; i < WAITERS; i++) OK(weft_spawn(&f[i], NULL, waits_for_many, (void *)(uintptr_t)roll(&random)));
    for (int i = 0; i < THREADS; i++) OK(pthread_create(&t[i], NULL, waits_for_many, (void *)(uintptr_t)roll(&random)));
    for (int i = 0; i < WAITERS; i++) OK(weft_join(f[i], NULL));
    for (int i = 0; i < THREADS; i++) OK(pthread_join(t[i], NULL));
}

const struct part parts_of_waits[] = {
    {"permits", permits_round, false, false},   {"tokens", tokens_round, false, false},
    {"mutex", mutex_round, false, false},       {"buffer", buffer_round, false, false},
    {"counters", counters_round, false, false}, {NULL, NULL, false, false}};
