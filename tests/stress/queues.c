/* SPDX-License-Identifier: MIT */
/*
 * Parts without a runtime: the ready queue with many takers. It starts with two slots and with indices just before
 * their wrap, so that it grows and wraps while other threads take. Every item is taken once, and every taker gets its
 * items in order.
 */
#include "crowd.h"

#include "queue/ready_queue.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { ITEMS = 200000, TAKERS_MOST = 8 };

static struct {
    struct weft__ready q;
    _Atomic uint64_t taken;
    _Atomic uint8_t times[ITEMS];
    uint64_t items;
} s;

static void account(void **got, uint64_t n, uint64_t *last) {
    for (uint64_t i = 0; i < n; i++) {
        uint64_t k = (uint64_t)(uintptr_t)got[i];
        SO(k > *last && k <= s.items);
        *last = k;
        WANT(atomic_fetch_add_explicit(&s.times[k - 1], 1, memory_order_relaxed), 0);
    }
    atomic_fetch_add(&s.taken, n);
}

static void *take_many(void *random) {
    uint64_t last = 0;
    void *got[64];
    while (atomic_load(&s.taken) < s.items) {
        uint64_t n = weft__ready_take(&s.q, got, 1 + below(random, 64));
        if (n)
            account(got, n, &last);
        else if (below(random, 4) == 0)
            sched_yield();
    }
    return NULL;
}

static void queue_round(uint64_t random) {
    unsigned takers = workers - 1 < TAKERS_MOST ? workers - 1 : TAKERS_MOST;
    pthread_t t[TAKERS_MOST];
    uint64_t each[TAKERS_MOST], last = 0, burst_most = 1 + below(&random, 300);
    memset(&s, 0, sizeof s);
    s.items = 1 + below(&random, below(&random, 8) ? 2000 : ITEMS) / shrink;
    OK(weft__ready_init(&s.q, 2, UINT64_MAX - below(&random, 3000)));
    for (unsigned i = 0; i < takers; i++) {
        each[i] = roll(&random);
        OK(pthread_create(&t[i], NULL, take_many, &each[i]));
    }
    for (uint64_t n = 0; n < s.items || atomic_load(&s.taken) < s.items;) {
        for (uint64_t burst = 1 + below(&random, burst_most); burst && n < s.items; burst--)
            OK(weft__ready_push(&s.q, (void *)(uintptr_t)++n));
        for (uint64_t own = below(&random, burst_most) / 2 + (n == s.items); own; own--) {
            void *got = weft__ready_pop(&s.q);
            if (!got) break;
            account(&got, 1, &last);
        }
        if (below(&random, 8) == 0) sched_yield();
    }
    for (unsigned i = 0; i < takers; i++) OK(pthread_join(t[i], NULL));
    for (uint64_t n = 0; n < s.items; n++) WANT(s.times[n], 1);
    weft__ready_destroy(&s.q);
}

const struct part parts_of_queues[] = {{"queue", queue_round, true, false}, {NULL, NULL, false, false}};
