/* SPDX-License-Identifier: MIT */
/*
 * channels: fibers of two clusters, and threads, send, receive and select on a few channels with and without
 * buffers, with deadlines, tries and cancellations at random; in the end the channels are closed under them. Each item
 * has a number, and counts of its successful sends and receives: at the end both are 1, or both are 0.
 *
 * futures: several fibers set a future at once, and many wait for it in every way. One set succeeds, and all waiters
 * see its value.
 */
#include "crowd.h"

#include <stdlib.h>
#include <string.h>

enum { CHANS = 5, FIBERS = 24, THREADS = 3, ITEMS = 60000 };
enum { SENT = 1, RECEIVED = 16 };

static const size_t capacity[CHANS] = {0, 0, 1, 4, 64};
static struct weft_chan *chans[CHANS];
static _Atomic uint8_t marks[ITEMS];
static _Atomic uint32_t numbered;
static struct weft_future finished; /* the channels are closed */
static struct weft_cluster second;

static bool is_over(void) { return !weft_future_try(&finished, NULL); }

/* A new number. The last number may be returned many times, and is not checked. */
static uint32_t number(void) {
    uint32_t n = atomic_fetch_add(&numbered, 1);
    return n < ITEMS - 1 ? n : ITEMS - 1;
}

static void mark(uint32_t item, uint8_t how) {
    SO(item < ITEMS);
    if (item < ITEMS - 1) WANT(atomic_fetch_add(&marks[item], how) & (how * 15), 0);
    moved();
}

/* Checks that the call may have this outcome. True: the call succeeded. */
static bool done(int err, bool timed, bool tried) {
    if (!err) return true;
    if (err == -ECANCELED)
        SO(weft_cancelled());
    else
        SO((err == -EPIPE) || (timed && err == -ETIMEDOUT) || (tried && err == -EAGAIN));
    return false;
}

static void use_one(uint64_t *random) {
    struct weft_chan *c = chans[below(random, CHANS)];
    uint64_t way = below(random, 3);
    uint32_t item = ITEMS;
    if (below(random, 2)) {
        item = number();
        int err = way == 0   ? weft_chan_send(c, &item)
                  : way == 1 ? weft_chan_send_until(c, &item, soon(random))
                             : weft_chan_send_try(c, &item);
        if (done(err, way == 1, way == 2)) mark(item, SENT);
    } else {
        int err = way == 0   ? weft_chan_recv(c, &item)
                  : way == 1 ? weft_chan_recv_until(c, &item, soon(random))
                             : weft_chan_recv_try(c, &item);
        if (done(err, way == 1, way == 2))
            mark(item, RECEIVED);
        else
            WANT(item, ITEMS);
    }
}

static void use_several(uint64_t *random) {
    enum { MOST = 6 };
    unsigned n = 1 + (unsigned)below(random, MOST);
    uint32_t item[MOST];
    struct weft_case cases[MOST];
    for (unsigned i = 0; i < n; i++) {
        struct weft_chan *c = below(random, 16) ? chans[below(random, CHANS)] : NULL;
        bool sends = below(random, 2);
        item[i] = sends ? number() : ITEMS;
        struct weft_case send = WEFT_CASE_SEND(c, &item[i]), receive = WEFT_CASE_RECV(c, &item[i]),
                         future = WEFT_CASE_FUTURE(&finished, NULL);
        struct weft_case time = WEFT_CASE_TIME(soon(random));
        uint64_t other = below(random, 16);
        cases[i] = other == 0 ? future : other == 1 ? time : sends ? send : receive;
    }
    uint64_t way = below(random, 3);
    struct weft_case end = WEFT_CASE_FUTURE(&finished, NULL);
    if (way == 0) cases[0] = end; /* otherwise it might wait for channels that do not exist */
    int which = way == 0   ? weft_case_select(cases, n)
                : way == 1 ? weft_case_select_until(cases, n, soon(random))
                           : weft_case_select_try(cases, n);
    if (which < 0) {
        done(which, way == 1, way == 2);
        return;
    }
    SO((unsigned)which < n && cases[which].on);
    if (cases[which].kind == WEFT_CASE_SLEEPS)
        SO(!cases[which].result && weft_now() + 1 >= (uintptr_t)cases[which].on);
    else if (cases[which].kind == WEFT_CASE_AWAITS)
        WANT(cases[which].result, 0);
    else if (cases[which].result)
        WANT(cases[which].result, -EPIPE);
    else
        mark(item[which], cases[which].kind == WEFT_CASE_SENDS ? SENT : RECEIVED);
    for (unsigned i = 0; i < n; i++) /* nothing was received for the others */
        if ((int)i != which && cases[i].kind == WEFT_CASE_RECEIVES) WANT(item[i], ITEMS);
}

static void *work_a_while(void *arg) {
    uint64_t random = *(uint64_t *)arg;
    for (uint64_t turns = 1 + below(&random, 300); turns && !is_over() && !weft_cancelled(); turns--) {
        if (below(&random, 2))
            use_one(&random);
        else
            use_several(&random);
        if (below(&random, 16) == 0) pause_a_bit(&random);
    }
    return NULL;
}

/* Spawns one fiber after another, here or in the other cluster, and cancels some of them at any moment. */
static void *employ(void *arg) {
    uint64_t *random = arg;
    while (!is_over()) {
        uint64_t seed = roll(random);
        if (!weft_self().id) { /* a thread cannot be cancelled: it does the work itself */
            work_a_while(&seed);
            continue;
        }
        struct weft_attr attr = {.cluster = below(random, 2) ? second : (struct weft_cluster){0}};
        struct weft_fiber f = spawn(&attr, work_a_while, &seed);
        if (below(random, 2)) {
            pause_a_bit(random);
            OK(weft_cancel(f));
        }
        join(f);
    }
    return NULL;
}

/* Lets them work for a while, and ends it. */
static void *finish(void *arg) {
    uint64_t random = *(uint64_t *)arg;
    weft_sleep_for((5 + below(&random, 40)) * WEFT_MILLISECOND);
    for (int i = 0; i < CHANS; i++) OK(weft_chan_close(chans[i]));
    OK(weft_future_set(&finished, NULL));
    return NULL;
}

static void *finish_or_employ(void *arg) { return *(uint64_t *)arg % 4096 == 0 ? finish(arg) : employ(arg); }

static void channels_round(uint64_t random) {
    uint64_t each[1 + FIBERS + THREADS];
    for (unsigned i = 0; i < 1 + FIBERS + THREADS; i++) each[i] = roll(&random) | 1;
    each[0] = roll(&random) << 12; /* the item that ends it */
    memset(marks, 0, sizeof marks);
    atomic_store(&numbered, 0);
    finished = (struct weft_future)WEFT_FUTURE_INIT;
    for (int i = 0; i < CHANS; i++) SO((chans[i] = weft_chan_make(sizeof(uint32_t), capacity[i])) != NULL);
    OK(weft_cluster_create(&second, &(struct weft_config){.workers = 2}));
    crowd(1 + FIBERS, THREADS, finish_or_employ, each, sizeof *each);
    OK(weft_cluster_destroy(second));
    for (int i = 0; i < CHANS; i++) {
        uint32_t item;
        while (!weft_chan_recv_try(chans[i], &item)) mark(item, RECEIVED);
        WANT(weft_chan_len(chans[i]), 0);
        OK(weft_chan_free(chans[i])); /* no fiber is in a chain */
    }
    uint32_t n = atomic_load(&numbered);
    for (uint32_t i = 0; i < n && i < ITEMS - 1; i++) {
        uint8_t m = atomic_load(&marks[i]);
        SO(m == 0 || m == SENT + RECEIVED);
    }
}

/* --- futures ------------------------------------------------------------------------------------------- */

enum { FUTURES = 6 };

struct batch {
    struct weft_future future[FUTURES];
    struct weft_future *all[FUTURES];
    _Atomic unsigned set[FUTURES];
    _Atomic(void *) value[FUTURES];
    uint64_t random;
};

static void *set_some(void *arg) {
    struct batch *b = arg;
    uint64_t r = b->random ^ (uintptr_t)&r;
    for (unsigned i = 0; i < FUTURES; i++) {
        unsigned k = (i + (unsigned)r) % FUTURES;
        if (r >> (8 + k) & 1) weft_yield();
        int err = weft_future_set(&b->future[k], &r);
        if (!err) {
            WANT(atomic_fetch_add(&b->set[k], 1), 0);
            atomic_store(&b->value[k], &r);
        } else
            WANT(err, -EALREADY);
        moved();
    }
    return NULL;
}

static void *await_some(void *arg) {
    struct batch *b = arg;
    uint64_t r = b->random ^ (uintptr_t)&r ^ weft_now();
    void *first, *second;
    for (int n = 0; n < 4; n++) {
        unsigned k = (unsigned)below(&r, FUTURES);
        int err = 0;
        switch (below(&r, 4)) {
        case 0:
            err = weft_future_wait(&b->future[k], &first);
            if (!err) {
                OK(weft_future_try(&b->future[k], &second));
                SO(first == second);
            }
            break;
        case 1: err = weft_future_wait_until(&b->future[k], NULL, soon(&r)); break;
        case 2:
            err = weft_future_any_until(b->all, FUTURES, soon(&r));
            if (err >= 0) OK(weft_future_try(&b->future[err], NULL));
            if (err > 0) err = 0;
            break;
        case 3:
            err = weft_future_all(b->all, FUTURES);
            for (unsigned i = 0; i < FUTURES && !err; i++) OK(weft_future_try(&b->future[i], NULL));
            break;
        }
        SO(!err || err == -ETIMEDOUT || (err == -ECANCELED && weft_cancelled()));
        moved();
    }
    return NULL;
}

static void futures_round(uint64_t random) {
    enum { SETTERS = 3, WAITERS = 12, THREADS = 2 };
    struct batch *b = calloc(1, sizeof *b);
    struct weft_fiber f[SETTERS + WAITERS];
    pthread_t t[THREADS];
    SO(b);
    b->random = random;
    for (unsigned i = 0; i < FUTURES; i++) b->all[i] = &b->future[i];
    for (int i = 0; i < WAITERS; i++) f[SETTERS + i] = spawn(NULL, await_some, b);
    for (int i = 0; i < THREADS; i++) OK(pthread_create(&t[i], NULL, await_some, b));
    for (int i = 0; i < SETTERS; i++) f[i] = spawn(NULL, set_some, b);
    for (int i = 0; i < 3; i++) weft_cancel(f[SETTERS + below(&random, WAITERS)]);
    for (int i = 0; i < SETTERS + WAITERS; i++) join(f[i]);
    for (int i = 0; i < THREADS; i++) OK(pthread_join(t[i], NULL));
    for (unsigned i = 0; i < FUTURES; i++) {
        void *value;
        WANT(atomic_load(&b->set[i]), 1);
        OK(weft_future_wait(&b->future[i], &value));
        SO(value == atomic_load(&b->value[i]));
    }
    free(b);
}

const struct part parts_of_channels[] = {
    {"channels", channels_round, false, false}, {"futures", futures_round, false, false}, {NULL, NULL, false, false}};
