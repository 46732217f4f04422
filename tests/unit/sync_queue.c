/* SPDX-License-Identifier: MIT */
/* The queue under the locks: its word, and its chain against a model. */
#include "../test.h"

#include "sched/wait/wait_queue.h"

#include <stdlib.h>

TEST(the_word_keeps_the_value) {
    struct weft_queue q = {5 * WEFT_QUEUE_ONE, NULL, NULL};
    uint64_t word = weft__wait_queue_lock(&q);
    CHECK_EQ(word, 5 * WEFT_QUEUE_ONE);
    CHECK(q.word & WEFT_QUEUE_LOCKED);
    weft__wait_queue_unlock(&q, word + WEFT_QUEUE_ONE);
    CHECK_EQ(q.word, 6 * WEFT_QUEUE_ONE);
}

TEST(the_word_says_whether_a_waiter_is_there) {
    struct weft_queue q = {0, NULL, NULL};
    struct weft_waiter w = {.chained = false};
    uint64_t word = weft__wait_queue_lock(&q);
    weft__wait_queue_append(&q, &w, WEFT_ON_SEM);
    weft__wait_queue_unlock(&q, word);
    CHECK_EQ(q.word, WEFT_QUEUE_WAITERS);
    weft__wait_queue_leave(&q, &w);
    CHECK_EQ(q.word, 0);
    CHECK(!q.first);
    weft__wait_queue_leave(&q, &w); /* not in it: nothing happens */
    CHECK_EQ(q.word, 0);
}

/* Appends at the end and removals anywhere. The model is an array in order. */
TEST(the_chain_keeps_its_order) {
    enum { N = 12 };
    struct weft_queue q = {0, NULL, NULL};
    struct weft_waiter w[N], *model[N];
    unsigned n = 0;
    uint64_t random = 7;
    for (unsigned i = 0; i < N; i++) w[i] = (struct weft_waiter){.chained = false};
    weft__wait_queue_lock(&q);
    for (unsigned step = 0; step < 20000; step++) {
        struct weft_waiter *one = &w[test_below(&random, N)];
        if (!one->chained) {
            weft__wait_queue_append(&q, one, WEFT_ON_SEM);
            model[n++] = one;
        } else {
            unsigned k = 0;
            weft__wait_queue_remove(&q, one);
            while (model[k] != one) k++;
            for (n--; k < n; k++) model[k] = model[k + 1];
        }
        struct weft_waiter *at = q.first, *before = n ? model[n - 1] : NULL;
        for (unsigned i = 0; i < n; i++, before = at, at = at->next) {
            CHECK(at == model[i]);
            CHECK(at->before == before);
        }
        CHECK(!at);
    }
}

/* A waiter whose wait has already ended is skipped, and the next waiter is served. */
TEST(winning_skips_waiters_that_have_left) {
    struct weft_queue q = {0, NULL, NULL};
    struct weft__fiber *f[3];
    struct weft_waiter w[3];
    weft__wait_queue_lock(&q);
    for (unsigned i = 0; i < 3; i++) {
        CHECK((f[i] = aligned_alloc(128, sizeof **f)));
        *f[i] = (struct weft__fiber){.where = NULL};
        w[i] = (struct weft_waiter){.fiber = f[i]};
        CHECK_EQ(weft__wait_begin(f[i], WEFT_WAIT_BY_CANCEL, &w[i].ticket), 0);
        weft__wait_queue_append(&q, &w[i], WEFT_ON_SEM);
    }
    CHECK(weft__wait_win(f[0], w[0].ticket, WEFT_WON_DEADLINE));
    CHECK(weft__wait_queue_win(&q) == f[1]);
    CHECK(!w[0].chained && !w[1].chained && w[2].chained);
    CHECK(weft__wait_win(f[2], w[2].ticket, WEFT_WON_CANCEL));
    CHECK(!weft__wait_queue_win(&q));
    CHECK(!q.first);
    for (unsigned i = 0; i < 3; i++) free(f[i]);
}
