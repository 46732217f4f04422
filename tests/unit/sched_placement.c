/* SPDX-License-Identifier: MIT */
/* A worker that shares a CPU with another worker moves to a CPU without one, while processors are scarce. */
#define _GNU_SOURCE
#include "../test.h"

#include "sched/place/placement.h"
#include "sched/wake/load.h"

#include <sched.h>
#include <string.h>

#define TRIES 50
#define SECOND UINT64_C(1000000000)

static struct weft__cluster cluster;
static struct weft__worker first, second;
static cpu_set_t allowed;
static uint64_t now;

static void begin(void) {
    memset(&cluster, 0, sizeof cluster);
    memset(&first, 0, sizeof first);
    memset(&second, 0, sizeof second);
    first.cluster = second.cluster = &cluster;
    cluster.workers[0] = &first;
    cluster.workers[1] = &second;
    second.index = 1;
    store_rlx(&cluster.node, -1);
    store_rlx(&cluster.count, 2);
    store_rlx(&cluster.run_capacity, 2);
    store_rlx(&first.burden.share, WEFT_SHARES);
    store_rlx(&second.burden.share, WEFT_SHARES);
    now = 1000 * SECOND;
    store_rlx(&cluster.crowded, now + 1000 * SECOND);
    CHECK(!sched_getaffinity(0, sizeof allowed, &allowed));
}

/* This thread is the carrier of w. Puts it on the CPU where it is now, which both workers share. Returns whether w is
 * still there after it has looked. */
static bool stays(struct weft__worker *w) {
    int cpu = sched_getcpu();
    cpu_set_t here, after;
    CPU_ZERO(&here);
    CPU_SET(cpu, &here);
    CHECK(!sched_setaffinity(0, sizeof here, &here) && !sched_setaffinity(0, sizeof allowed, &allowed));
    store_rlx(&first.cpu, (uint16_t)cpu);
    store_rlx(&second.cpu, (uint16_t)cpu);
    now += SECOND / 100;
    weft__location_update(w, now);
    CHECK(!sched_getaffinity(0, sizeof after, &after) && CPU_EQUAL(&after, &allowed));
    return load_rlx(&w->cpu) == cpu;
}

/* The kernel may move the thread, too, so only all tries together tell whether w moves by itself. */
static unsigned times_stayed(struct weft__worker *w) {
    unsigned stayed = 0;
    for (unsigned i = 0; i < TRIES; i++) stayed += stays(w);
    return stayed;
}

TEST(a_worker_leaves_the_cpu_of_another) {
    begin();
    if (CPU_COUNT(&allowed) < 2) return;
    CHECK(times_stayed(&second) < TRIES / 2); /* the kernel may take it back at once */
}

TEST(the_worker_of_the_lower_index_stays) {
    begin();
    CHECK(times_stayed(&first) > 0);
}

TEST(a_worker_stays_while_there_are_processors) {
    begin();
    store_rlx(&cluster.crowded, 0);
    CHECK(times_stayed(&second) > 0);
}

TEST(a_worker_stays_if_the_other_sleeps) {
    begin();
    store_rlx(&first.burden.share, 0);
    CHECK(times_stayed(&second) > 0);
}

TEST(a_worker_stays_if_more_workers_than_can_run_are_awake) {
    begin();
    store_rlx(&cluster.run_capacity, 1);
    CHECK(times_stayed(&second) > 0);
}

TEST(a_worker_that_is_bound_stays) {
    begin();
    cluster.binds = true;
    store_rlx(&cluster.configured, 2);
    first.location.bound_among = second.location.bound_among = 2;
    CHECK(times_stayed(&second) > 0);
}
