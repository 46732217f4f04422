/* SPDX-License-Identifier: MIT */
/*
 * Parts without a runtime: all deques (tests/deques.h), each with an owner and thieves. The queues begin
 * with two slots and with indices just before their wrap. Every item is handed out once, and thieves get items in
 * order. A round is a million operations: a million items go in, and come out.
 */
#include "crowd.h"

#include "../deques.h"

#include <sched.h>
#include <string.h>

enum { ITEMS = 500000, THIEVES_MOST = 8 };

static struct {
    const struct deque_sort *sort;
    void *q;
    uint64_t items;
    _Atomic uint64_t taken;
    _Atomic uint8_t times[ITEMS];
} s;

static uint64_t account(void *got) {
    uint64_t k = (uint64_t)(uintptr_t)got;
    SO(k > 0 && k <= s.items);
    WANT(atomic_fetch_add_explicit(&s.times[k - 1], 1, memory_order_relaxed), 0);
    atomic_fetch_add_explicit(&s.taken, 1, memory_order_relaxed);
    return k;
}

static void *steal_many(void *random) {
    uint64_t last = 0;
    while (atomic_load_explicit(&s.taken, memory_order_relaxed) < s.items) {
        void *got = s.sort->steal(s.q);
        if (got) {
            uint64_t k = account(got);
            SO(k > last); /* older items are pushed first, and stolen first */
            last = k;
        } else if (below(random, 8) == 0) {
            sched_yield();
        }
    }
    return NULL;
}

static void deques_round(uint64_t random) {
    static bool prepared;
    unsigned thieves = workers - 1 < THIEVES_MOST ? workers - 1 : THIEVES_MOST, sorts = 0;
    pthread_t t[THIEVES_MOST];
    uint64_t each[THIEVES_MOST], burst_most = 1 + below(&random, 300);
    if (!prepared) deques_prepare();
    prepared = true;
    while (deque_sorts[sorts].name) sorts++;
    memset(&s, 0, sizeof s);
    s.items = ITEMS / shrink;
    s.sort = &deque_sorts[below(&random, sorts)];
    s.q = s.sort->make(2, UINT64_MAX - below(&random, 3000));
    SO(s.q != NULL);
    for (unsigned i = 0; i < thieves; i++) {
        each[i] = roll(&random);
        OK(pthread_create(&t[i], NULL, steal_many, &each[i]));
    }
    for (uint64_t n = 0; n < s.items || atomic_load(&s.taken) < s.items;) {
        uint64_t burst = 1 + below(&random, burst_most), own = below(&random, burst_most) + (n == s.items);
        for (; burst && n < s.items && s.sort->push(s.q, (void *)(uintptr_t)(n + 1)); burst--) n++;
        for (void *got; own && (got = s.sort->pop(s.q)); own--) account(got);
        if (below(&random, 64) == 0) sched_yield();
    }
    for (unsigned i = 0; i < thieves; i++) OK(pthread_join(t[i], NULL));
    for (uint64_t n = 0; n < s.items; n++) WANT(s.times[n], 1);
    s.sort->destroy(s.q);
}

const struct part parts_of_deques[] = {{"steals", deques_round, true, false}, {NULL, NULL, false, false}};
