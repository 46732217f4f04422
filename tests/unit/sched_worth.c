/* SPDX-License-Identifier: MIT */
/* Which worker takes the calls of a suspended fiber, and for how long a worker leaves calls alone
 * when its steals do not pay. */
#include "../test.h"

#include "sched/tasks/tasks.h"
#include "sched/wake/idle.h"

#include <stdlib.h>
#include <string.h>

#define US WEFT_MICROSECOND
#define START (1000 * WEFT_MILLISECOND)

static struct weft__cluster *cluster;
static struct weft__worker *home, *other;

static struct weft__worker *make_worker(unsigned index) {
    struct weft__worker *w = aligned_alloc(_Alignof(struct weft__worker), sizeof *w);
    CHECK(w != NULL);
    memset(w, 0, sizeof *w);
    w->cluster = cluster;
    w->index = index;
    cluster->workers[index] = w;
    return w;
}

static void set_up(void) {
    cluster = aligned_alloc(_Alignof(struct weft__cluster), sizeof *cluster);
    CHECK(cluster != NULL);
    memset(cluster, 0, sizeof *cluster);
    store_rlx(&cluster->configured, 2);
    store_rlx(&cluster->wanted, 2);
    store_rlx(&cluster->count, 2);
    home = make_worker(0);
    other = make_worker(1);
}

/* The deque of a fiber that has parked on `home` with n calls. */
static struct weft__deque *suspend_with(unsigned calls) {
    struct weft__deque *d = weft__deque_get(&weft__deque_split);
    CHECK(d != NULL);
    for (unsigned i = 0; i < calls; i++) {
        struct weft_call *c = d->in.head;
        store_rel(weft__deque_head(d), c + 1);
        d->variant->push(d, c);
    }
    d->variant->yield(d);
    weft__suspended_put(home, d);
    return d;
}

static struct weft__deque *find(struct weft__worker *w, uint64_t now) {
    bool is_here;
    struct weft__deque *d = weft__suspended_find(w, WEFT_SUSPENDED_ALL, now, &is_here);
    CHECK(!d || is_here == (w == home));
    return d;
}

TEST(a_single_call_is_left_to_its_home_for_a_while) {
    set_up();
    struct weft__deque *d = suspend_with(1);
    CHECK(find(other, START) == NULL);
    CHECK(find(other, START + 19 * US) == NULL);
    CHECK(find(home, START + 19 * US) == d);
    CHECK(find(other, START + 20 * US) == d);
}

TEST(several_calls_are_left_from_one_look_to_the_next) {
    set_up();
    struct weft__deque *d = suspend_with(3);
    CHECK(find(other, START) == NULL);
    CHECK(d->variant->steal(d) != NULL); /* home has come by */
    CHECK(find(other, START + 1 * US) == NULL);
    CHECK(find(other, START + 2 * US) == d);
}

TEST(a_home_that_does_not_come_keeps_nothing) {
    set_up();
    struct weft__deque *d = suspend_with(1);
    store_rlx(&home->rescue.is_stuck, true);
    CHECK(find(other, START) == d);
    store_rlx(&home->rescue.is_stuck, false);
    CHECK(find(other, START + 1 * US) == NULL);
    struct weft__worker *last = home;
    home = make_worker(2); /* beyond those that are wanted */
    weft__suspended_remove(&cluster->tasks, d);
    weft__suspended_put(home, d);
    CHECK(find(other, START + 2 * US) == d);
    home = last;
}

TEST(only_home_must_not_sleep_over_a_single_call) {
    set_up();
    suspend_with(1);
    CHECK(weft__suspended_in_sight(home));
    CHECK(weft__suspended_in_sight(other)); /* there is no watchman */
    store_rlx(&cluster->idle.state, WEFT_IDLE_WATCHED | WEFT_IDLE_SLEEPER);
    CHECK(weft__suspended_in_sight(home));
    CHECK(!weft__suspended_in_sight(other));
    suspend_with(2);
    CHECK(weft__suspended_in_sight(other));
}

/* Simulates a steal: the call returned or parked, and the next dispatches took a given time. */
static void steal(struct weft__worker *w, bool returned, unsigned dispatches, uint64_t took) {
    static struct weft__fiber by;
    weft__worth_stole(w, &by, START);
    count_add(&w->numbers.switches, dispatches);
    if (returned) weft__worth_ran(w, &by);
    weft__worth_judge(w, START + took);
    CHECK_EQ(w->worth.stole_at, 0);
}

TEST(vain_steals_make_a_worker_patient) {
    set_up();
    for (unsigned i = 0; i < 4; i++) {
        CHECK_EQ(weft__worth_patience(other), 0);
        steal(other, true, 1, US / 4);
    }
    CHECK_EQ(weft__worth_patience(other), 1 * US);
    steal(other, false, 1, 19 * US); /* it parked soon */
    CHECK_EQ(weft__worth_patience(other), 2 * US);
    steal(other, true, 100, 150 * US); /* it woke others, which ran here */
    CHECK_EQ(weft__worth_patience(other), 4 * US);
    for (unsigned i = 0; i < 100; i++) steal(other, true, 1, 0);
    CHECK_EQ(weft__worth_patience(other), 512 * US);
}

/* Calls of a microsecond, of which a sparse matrix has thousands, are shared. */
TEST(short_calls_that_compute_pay) {
    set_up();
    for (unsigned i = 0; i < 100; i++) steal(other, true, 1, 1 * US);
    CHECK_EQ(weft__worth_patience(other), 0);
}

TEST(two_steals_that_pay_end_that) {
    set_up();
    for (unsigned i = 0; i < 100; i++) steal(other, true, 1, 0);
    steal(other, true, 1, 5 * US);
    steal(other, false, 1, 50 * US);
    CHECK_EQ(weft__worth_patience(other), 0);
}
