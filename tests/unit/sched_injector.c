/* SPDX-License-Identifier: MIT */
/* In which order fibers leave the injector: the displaced first, but every fourth is a fiber that was handed in. */
#include "../test.h"

#include "sched/dispatch/dispatch.h"

enum { EACH = 60 };

static struct weft__cluster cluster;
static struct weft__worker worker;
static struct weft__fiber displaced[EACH], handed_in[EACH];

static void begin(void) {
    worker.cluster = &cluster;
    cluster.workers[0] = &worker;
    store_rlx(&cluster.count, 1);
    store_rlx(&cluster.wanted, 1);
    CHECK_EQ(weft__ready_init(&worker.ready, 256, 0), 0);
}
static void displace(int n) {
    for (int i = 0; i < n; i++) CHECK_EQ(weft__ready_push(&worker.ready, &displaced[i]), 0);
    weft__queue_give_away(&worker);
    CHECK_EQ(weft__ready_length(&worker.ready), 0);
}
static void hand_in(int n) {
    for (int i = 0; i < n; i++) weft__inject(&cluster, &handed_in[i]);
}

/* Takes all. Each list keeps its order. Returns the number of fibers that were handed in among the first `among`. */
static int take_all(int n, int among) {
    int old = 0, new = 0, early = 0;
    while (load_rlx(&cluster.injector.length)) {
        weft__injector_take(&worker);
        for (struct weft__fiber *f; (f = weft__ready_pop(&worker.ready));) {
            bool is_new = f >= handed_in && f < handed_in + EACH;
            if (old + new < among) early += is_new;
            CHECK(f == (is_new ? &handed_in[new] : &displaced[old]));
            *(is_new ? &new : &old) += 1;
        }
    }
    CHECK_EQ(old + new, n);
    return early;
}

TEST(every_fourth_was_handed_in) {
    begin();
    displace(EACH);
    hand_in(EACH);
    CHECK_EQ(take_all(2 * EACH, 40), 10);
}
TEST(either_list_alone_is_taken_whole) {
    begin();
    displace(EACH);
    CHECK_EQ(take_all(EACH, EACH), 0);
    hand_in(EACH);
    CHECK_EQ(take_all(EACH, EACH), EACH);
}
