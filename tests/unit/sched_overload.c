/* SPDX-License-Identifier: MIT */
/* During overload a worker naps when it has used more than its share, but never past a timer. */
#define _GNU_SOURCE
#include "../test.h"

#include "sched/loop/loop.h"

#include <string.h>
#include <sys/resource.h>
#include <time.h>

static struct weft__cluster cluster;
static struct weft__worker worker;

static void begin(void) {
    memset(&cluster, 0, sizeof cluster);
    memset(&worker, 0, sizeof worker);
    worker.cluster = &cluster;
    weft__wheel_init(&worker.wheel, weft__clock());
}

static uint64_t cpu_time(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * WEFT_SECOND + (uint64_t)t.tv_nsec;
}
static void compute(uint64_t ns) {
    for (uint64_t until = cpu_time() + ns; cpu_time() < until;) continue;
}

/* Has the thread slept in a rest at this rate? */
static bool naps(unsigned rate) {
    struct rusage before, after;
    getrusage(RUSAGE_THREAD, &before);
    weft__overload_rest(&worker, rate);
    getrusage(RUSAGE_THREAD, &after);
    return after.ru_nvcsw > before.ru_nvcsw;
}

TEST(a_share_of_what_there_is) {
    CHECK_EQ(weft__overload_rate(0, 2), 0);
    CHECK_EQ(weft__overload_rate(1, 2), 0); /* a processor is free */
    CHECK_EQ(weft__overload_rate(2, 2), 512);
    CHECK_EQ(weft__overload_rate(3, 4), 0);
    CHECK(weft__overload_rate(257, 1) > 0); /* with the largest number of hogs the rate is still above zero */
    for (unsigned n = 2; n < 257; n++) CHECK(weft__overload_rate(n + 1, 2) <= weft__overload_rate(n, 2));
}

/* At a low rate, so that little is earned on a machine that is slow to run this test. */
TEST(naps_after_its_share_only) {
    begin();
    weft__overload_rest(&worker, 1); /* the account begins */
    compute(2 * WEFT_MILLISECOND);
    CHECK(naps(1));
    test_nap_ms(2);
    CHECK(!naps(1024)); /* it has earned more than it may save */
    compute(2 * WEFT_MILLISECOND);
    CHECK(naps(1));
}

TEST(not_past_a_timer_nor_a_search_nor_a_stop) {
    begin();
    weft__overload_rest(&worker, 1);
    compute(WEFT_MILLISECOND);
    worker.search.is_searcher = true;
    CHECK(!naps(1));
    worker.search.is_searcher = false;
    store_rlx(&cluster.stopping, true);
    CHECK(!naps(1));
    store_rlx(&cluster.stopping, false);
    CHECK(naps(1));
    struct weft__timer timer = {0};
    weft__wheel_arm(&worker.wheel, &timer, weft__clock(), (struct weft__due){0});
    CHECK(!naps(1));
}
