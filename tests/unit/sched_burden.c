/* SPDX-License-Identifier: MIT */
/* Does a worker need others? When turns count as short, a worker as always busy, and processors as scarce. */
#include "../test.h"

#include "sched/wake/load.h"

#include <string.h>

#define MS WEFT_MILLISECOND

static struct weft__cluster cluster;
static struct weft__worker first, second;
static uint64_t now, cpu;

static void begin(void) {
    memset(&cluster, 0, sizeof cluster);
    memset(&first, 0, sizeof first);
    memset(&second, 0, sizeof second);
    cluster.stealing = true;
    first.cluster = second.cluster = &cluster;
    cluster.workers[0] = &first;
    cluster.workers[1] = &second;
    second.index = 1;
    now = 1000 * MS;
    cpu = 0;
    store_rlx(&first.ring.open, true);
    store_rlx(&first.ring.in_flight, 1);
    weft__burden_look(&first, cpu, now);
}

/* Simulates a number of turns of equal length, until there is nothing to run. */
static void run(struct weft__worker *w, unsigned turns, uint64_t each) {
    weft__burden_busy(w);
    store_rlx(&w->numbers.switches, load_rlx(&w->numbers.switches) + turns);
    weft__burden_dry(w, turns * each);
}

/* A tick of the monitor. The worker sleeps for a part of it, and has a processor for a part. */
static void pass(uint64_t asleep, uint64_t ran) {
    now += 8 * MS;
    cpu += ran;
    store_rlx(&first.burden.asleep, load_rlx(&first.burden.asleep) + asleep);
    weft__burden_look(&first, cpu, now);
}

TEST(long_turns_need_others) {
    begin();
    run(&first, 20, 4000);
    CHECK(weft__keeps_up(&first, now));
    for (int i = 0; i < 100; i++) run(&first, 20, 200000);
    CHECK(!weft__keeps_up(&first, now));
    for (int i = 0; i < 10; i++) run(&first, 20, 4000);
    CHECK(weft__keeps_up(&first, now));
}

TEST(one_long_time_is_no_long_turn) {
    begin();
    run(&first, 20, 4000);
    run(&first, 20, 4 * MS);
    CHECK(weft__keeps_up(&first, now));
}

TEST(without_a_ring_others_help) {
    begin();
    store_rlx(&first.ring.in_flight, 0);
    CHECK(!weft__keeps_up(&first, now));
}

TEST(busy_all_the_time_needs_others) {
    begin();
    pass(2 * MS, 6 * MS);
    CHECK(weft__keeps_up(&first, now));
    pass(0, 8 * MS);
    CHECK(!weft__keeps_up(&first, now));
    pass(1 * MS, 7 * MS);
    CHECK(weft__keeps_up(&first, now));
}

TEST(a_sleep_that_has_not_ended_counts) {
    begin();
    pass(0, 8 * MS);
    store_rlx(&first.burden.asleep_since, now);
    pass(0, 0);
    CHECK(weft__keeps_up(&first, now));
    CHECK(!load_rlx(&cluster.crowded));
}

/* Then one worker more would take the processor from another, until it is tried again. */
TEST(no_help_where_processors_are_short) {
    begin();
    pass(0, 4 * MS);
    CHECK(weft__keeps_up(&first, now));
    CHECK(!weft__keeps_up(&first, now + WEFT_SECOND));
}

TEST(stuck_is_stuck) {
    begin();
    store_rlx(&first.rescue.is_stuck, true);
    CHECK(!weft__keeps_up(&first, now));
}

/* Completions at other workers go to the first worker while it keeps up and comes home. */
TEST(the_first_worker_is_host) {
    begin();
    store_rlx(&second.ring.open, true);
    store_rlx(&second.ring.in_flight, 1);
    store_rlx(&first.progress.polled_at, weft__clock() + WEFT_SECOND);
    store_rlx(&first.driver.state, WEFT_AWAKE);
    CHECK(weft__host_of(&second) == &first);
    CHECK(!weft__host_of(&first));
    store_rlx(&first.driver.state, WEFT_ASLEEP);
    CHECK(!weft__host_of(&second));
    store_rlx(&first.driver.state, WEFT_AWAKE);
    store_rlx(&first.progress.polled_at, 0);
    CHECK(!weft__host_of(&second));
    store_rlx(&first.progress.polled_at, weft__clock() + WEFT_SECOND);
    store_rlx(&first.burden.share, 130);
    store_rlx(&second.burden.share, 130);
    CHECK(!weft__host_of(&second)); /* together they have more to do than one worker can */
    store_rlx(&cluster.crowded, weft__clock() + WEFT_SECOND);
    CHECK(weft__host_of(&second) == &first);
    for (int i = 0; i < 100; i++) run(&second, 20, 200000);
    CHECK(!weft__host_of(&second));
}
