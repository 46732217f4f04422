/* SPDX-License-Identifier: MIT */
/* The ready queue: order, growth, indices at the wrap, and several takers. */
#include "../test.h"

#include "base/sys.h"
#include "queue/ready_queue.h"

#include <pthread.h>
#include <stdlib.h>

static void *item(uint64_t n) { return (void *)(uintptr_t)(n + 1); }
static uint64_t number(void *p) { return (uint64_t)(uintptr_t)p - 1; }

/* The first indices: zero, and values for which the wrap comes early, late, and while the queue grows. */
static const uint64_t firsts[] = {0, 1, UINT64_MAX, UINT64_MAX - 1, UINT64_MAX - 2, UINT64_MAX - 7, UINT64_MAX - 100};
#define FIRSTS (sizeof firsts / sizeof *firsts)

TEST(empty_gives_nothing) {
    for (unsigned i = 0; i < FIRSTS; i++) {
        struct weft__ready q = {.alone = false};
        void *got[4];
        CHECK_EQ(weft__ready_init(&q, 2, firsts[i]), 0);
        CHECK(!weft__ready_pop(&q));
        CHECK_EQ(weft__ready_take(&q, got, 4), 0);
        CHECK_EQ(weft__ready_length(&q), 0);
        weft__ready_destroy(&q);
    }
}

TEST(first_in_first_out_across_growth) {
    for (unsigned i = 0; i < FIRSTS; i++)
        for (uint64_t capacity = 2; capacity <= 8; capacity *= 2) {
            struct weft__ready q = {.alone = false};
            CHECK_EQ(weft__ready_init(&q, capacity, firsts[i]), 0);
            for (uint64_t n = 0; n < 1000; n++) {
                CHECK_EQ(weft__ready_push(&q, item(n)), 0);
                CHECK_EQ(weft__ready_length(&q), n + 1);
            }
            for (uint64_t n = 0; n < 1000; n++) CHECK_EQ(number(weft__ready_pop(&q)), n);
            CHECK(!weft__ready_pop(&q));
            weft__ready_destroy(&q);
        }
}

/* Every offset of head within the slots, at the moment when the queue is full and grows. */
TEST(order_whatever_the_offset_at_growth) {
    for (uint64_t offset = 0; offset < 16; offset++) {
        struct weft__ready q = {.alone = false};
        uint64_t in = 0, out = 0;
        CHECK_EQ(weft__ready_init(&q, 8, UINT64_MAX - 12), 0);
        for (; in < offset; in++) CHECK_EQ(weft__ready_push(&q, item(in)), 0);
        for (; out < offset; out++) CHECK_EQ(number(weft__ready_pop(&q)), out);
        for (; in < offset + 40; in++) CHECK_EQ(weft__ready_push(&q, item(in)), 0);
        for (; out < in; out++) CHECK_EQ(number(weft__ready_pop(&q)), out);
        weft__ready_destroy(&q);
    }
}

/* An owner without takers moves head by a plain store; the order is the same. */
TEST(alone_without_a_swap) {
    for (unsigned i = 0; i < FIRSTS; i++) {
        struct weft__ready q = {.alone = true};
        uint64_t in = 0, out = 0;
        CHECK_EQ(weft__ready_init(&q, 2, firsts[i]), 0);
        while (in < 3000) {
            for (unsigned k = 0; k < 7; k++) CHECK_EQ(weft__ready_push(&q, item(in++)), 0);
            for (unsigned k = 0; k < 5; k++) CHECK_EQ(number(weft__ready_pop(&q)), out++);
        }
        while (out < in) CHECK_EQ(number(weft__ready_pop(&q)), out++);
        CHECK(!weft__ready_pop(&q));
        weft__ready_destroy(&q);
    }
}

/* Random pushes and pops, so that the indices go round many times at many fill levels. */
TEST(random_against_a_model) {
    uint64_t random = 1;
    for (unsigned round = 0; round < 50; round++) {
        struct weft__ready q = {.alone = false};
        uint64_t in = 0, out = 0;
        CHECK_EQ(weft__ready_init(&q, 2, UINT64_MAX - test_below(&random, 200)), 0);
        for (size_t step = test_size(5000); step > 0; step--) {
            uint64_t n = test_below(&random, 9);
            if (test_below(&random, 2)) {
                while (n--) CHECK_EQ(weft__ready_push(&q, item(in++)), 0);
            } else {
                void *got[8];
                n = weft__ready_take(&q, got, n < 8 ? n : 8);
                CHECK(n <= in - out);
                for (uint64_t i = 0; i < n; i++) CHECK_EQ(number(got[i]), out++);
            }
            CHECK_EQ(weft__ready_length(&q), in - out);
        }
        weft__ready_destroy(&q);
    }
}

/* --- several takers ----------------------------------------------------------------------------- */

enum { TAKERS = 3 };

struct shared {
    struct weft__ready q;
    uint64_t items;
    _Atomic uint64_t taken;
    _Atomic unsigned char *times; /* how often each item was taken */
    _Atomic unsigned ready;
};

struct taker {
    struct shared *s;
    pthread_t thread;
    uint64_t random;
};

/* Items that one taker takes come in order: head only grows. */
static void account(struct shared *s, void **got, uint64_t n, uint64_t *last) {
    for (uint64_t i = 0; i < n; i++) {
        uint64_t k = number(got[i]);
        CHECK(k < s->items);
        CHECK(*last == UINT64_MAX || k > *last);
        *last = k;
        add_rlx(&s->times[k], 1);
    }
    add_rlx(&s->taken, n);
}

static void *take_many(void *arg) {
    struct taker *t = arg;
    struct shared *s = t->s;
    uint64_t last = UINT64_MAX;
    void *got[16];
    add_rlx(&s->ready, 1);
    while (load_rlx(&s->taken) < s->items) {
        uint64_t n = weft__ready_take(&s->q, got, 1 + test_below(&t->random, 16));
        if (n)
            account(s, got, n, &last);
        else if (test_below(&t->random, 4) == 0)
            weft__cpu_yield();
    }
    return NULL;
}

static void several_takers(uint64_t items, uint64_t first, uint64_t seed) {
    struct shared s = {.items = items};
    struct taker taker[TAKERS];
    uint64_t random = seed, last = UINT64_MAX;
    s.times = calloc(items, 1);
    CHECK(s.times);
    CHECK_EQ(weft__ready_init(&s.q, 2, first), 0);
    for (unsigned i = 0; i < TAKERS; i++) {
        taker[i] = (struct taker){.s = &s, .random = seed + i};
        CHECK(!pthread_create(&taker[i].thread, NULL, take_many, &taker[i]));
    }
    while (load_rlx(&s.ready) < TAKERS) weft__cpu_yield();
    for (uint64_t n = 0; n < items;) {
        /* Bursts, so that the queue both grows and runs empty. */
        for (uint64_t burst = test_below(&random, 64); burst && n < items; burst--)
            CHECK_EQ(weft__ready_push(&s.q, item(n++)), 0);
        for (uint64_t own = test_below(&random, 24); own; own--) {
            void *got = weft__ready_pop(&s.q);
            if (!got) break;
            account(&s, &got, 1, &last);
        }
        if (!test_below(&random, 32)) weft__cpu_yield();
    }
    for (unsigned i = 0; i < TAKERS; i++) CHECK(!pthread_join(taker[i].thread, NULL));
    CHECK_EQ(load_rlx(&s.taken), items);
    for (uint64_t n = 0; n < items; n++) CHECK_EQ(s.times[n], 1);
    weft__ready_destroy(&s.q);
    free((void *)s.times);
}

TEST_WITHIN(several_takers_each_item_once, 60) { several_takers(test_size(3000000), UINT64_MAX - 1000, 1); }

/* New queues, where growth is most frequent compared with takes. */
TEST_WITHIN(several_takers_during_first_growths, 60) {
    for (uint64_t i = 0; i < test_size(400); i++) several_takers(500, UINT64_MAX - i % 300, i + 1);
}

#ifdef WEFT_FAULTS
TEST(growth_without_memory_pushes_nothing) {
    struct weft__ready q = {.alone = false};
    CHECK_EQ(weft__ready_init(&q, 2, 0), 0);
    CHECK_EQ(weft__ready_push(&q, item(0)), 0);
    CHECK_EQ(weft__ready_push(&q, item(1)), 0);
    weft__fault_countdown = 1;
    CHECK_EQ(weft__ready_push(&q, item(2)), -ENOMEM);
    CHECK_EQ(weft__ready_length(&q), 2);
    CHECK_EQ(weft__ready_push(&q, item(2)), 0);
    for (uint64_t n = 0; n < 3; n++) CHECK_EQ(number(weft__ready_pop(&q)), n);
    weft__ready_destroy(&q);
}
#endif
