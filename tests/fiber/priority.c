/* SPDX-License-Identifier: MIT */
/* Priorities: high before normal before low, and no fiber is left out. */
#include "fiber.h"

#define HIGH (&(struct weft_attr){.priority = WEFT_HIGH})
#define NORMAL (&(struct weft_attr){.priority = WEFT_NORMAL})
#define LOW (&(struct weft_attr){.priority = WEFT_LOW})

static int over;

/* --- the order on one worker ------------------------------------------------------------------------------------ */

enum { EACH = 60 };
static int order[3 * EACH], arrived;
static struct weft_counter all = WEFT_COUNTER_INIT;

static void *arrives(void *priority) {
    order[arrived++] = (int)(intptr_t)priority;
    return NULL;
}
/* The sum of the positions of the fibers of a kind. */
static int places(int priority) {
    int sum = 0;
    for (int i = 0; i < 3 * EACH; i++) sum += order[i] == priority ? i : 0;
    return sum;
}
static void in_order(void *unused) {
    (void)unused;
    CHECK_EQ(weft_counter_add(&all, 3 * EACH), 0);
    for (int i = 0; i < EACH; i++)
        for (unsigned kind = 0; kind < 3; kind++) {
            static const unsigned kinds[] = {WEFT_LOW, WEFT_NORMAL, WEFT_HIGH};
            struct weft_attr attr = {.priority = kinds[kind], .counter = &all};
            CHECK_EQ(weft_spawn(NULL, &attr, arrives, (void *)(uintptr_t)kinds[kind]), 0);
        }
    CHECK_EQ(weft_counter_wait(&all, 0), 0);
    CHECK_EQ(arrived, 3 * EACH);
    CHECK(places(WEFT_HIGH) < places(WEFT_NORMAL) && places(WEFT_NORMAL) < places(WEFT_LOW));
    int high = 0, low = 0;
    for (int i = 0; i < EACH; i++) high += order[i] == WEFT_HIGH;
    for (int i = 0; i < 2 * EACH; i++) low += order[i] == WEFT_LOW;
    CHECK(high >= EACH * 2 / 3); /* a quarter of the turns belongs to the other kinds */
    CHECK(low <= 2 * EACH / 32 + 2);
}
TEST(high_before_normal_before_low) {
    no_rescue();
    test_in_fiber(1, in_order, NULL);
}

/* The same when a thread hands them in while the worker is busy. */
static void *waits_for_all(void *unused) {
    while (!LOAD(&over)) {
    }
    return unused;
}
TEST(high_before_low_from_a_thread) {
    no_rescue();
    test_start(1);
    struct weft_fiber busy = spawn(waits_for_all, NULL);
    CHECK_EQ(weft_counter_add(&all, 2 * 30), 0);
    for (int i = 0; i < 30; i++)
        for (unsigned priority = WEFT_LOW; priority >= WEFT_HIGH; priority--) {
            struct weft_attr attr = {.priority = priority, .counter = &all};
            CHECK_EQ(weft_spawn(NULL, &attr, arrives, (void *)(uintptr_t)priority), 0);
        }
    STORE(&over, 1);
    CHECK_EQ(weft_counter_wait(&all, 0), 0);
    join(busy);
    test_stop();
    CHECK_EQ(arrived, 60);
    CHECK(places(WEFT_HIGH) < places(WEFT_LOW));
}

TEST(no_such_priority) {
    test_start(1);
    struct weft_attr attr = {.priority = WEFT_LOW + 1};
    CHECK_EQ(weft_spawn(NULL, &attr, arrives, NULL), -EINVAL);
    attr.priority = ~0u;
    CHECK_EQ(weft_spawn(NULL, &attr, arrives, NULL), -EINVAL);
    test_stop();
}

/* --- no fiber starves ------------------------------------------------------------------------- */

static int turns[3];
static void *takes_turns(void *priority) {
    while (!LOAD(&over)) {
        ADD(&turns[(intptr_t)priority], 1);
        weft_yield();
    }
    return NULL;
}
static void starve(unsigned workers, const int count[3]) {
    struct weft_fiber f[60];
    int n = 0;
    test_start(workers);
    for (unsigned priority = 0; priority < 3; priority++)
        for (int i = 0; i < count[priority]; i++)
            f[n++] = spawn_with(&(struct weft_attr){.priority = priority}, takes_turns, (void *)(uintptr_t)priority);
    for (unsigned priority = 0; priority < 3; priority++)
        if (count[priority]) test_await(&turns[priority], 2000);
    STORE(&over, 1);
    while (n) join(f[--n]);
    test_stop();
}
TEST(under_endless_high_ones_all_run) { starve(1, (const int[]){3, 20, 3}); }
TEST(under_endless_high_ones_low_ones_run) { starve(1, (const int[]){0, 20, 1}); }
TEST(under_endless_normal_ones_low_ones_run) { starve(1, (const int[]){20, 0, 1}); }
TEST(on_several_workers_all_run) { starve(4, (const int[]){10, 20, 10}); }

/* A fiber that is new, or wakes, beside endless fibers of the other kinds. */
static int came;
static void *comes(void *unused) {
    ADD(&came, 1);
    CHECK_EQ(weft_sleep_for(WEFT_MILLISECOND), 0);
    ADD(&came, 1);
    return unused;
}
TEST(newcomers_run_among_endless_ones) {
    struct weft_fiber f[30], g[30];
    test_start(2);
    for (unsigned i = 0; i < 30; i++)
        f[i] = spawn_with(&(struct weft_attr){.priority = i % 3}, takes_turns, (void *)(uintptr_t)(i % 3));
    for (int round = 0; round < 5; round++) {
        for (unsigned i = 0; i < 30; i++) g[i] = spawn_with(&(struct weft_attr){.priority = i % 3}, comes, NULL);
        for (int i = 0; i < 30; i++) join(g[i]);
    }
    CHECK_EQ(came, 5 * 30 * 2);
    STORE(&over, 1);
    for (int i = 0; i < 30; i++) join(f[i]);
    test_stop();
}

/* The shares are exact: with fibers of all kinds ready all the time on one worker, the queue and the pinned fibers each
 * have one dispatch in 4, and the low fibers one in 32. */
enum { PINNED_KIND = 3, KINDS };
static long dispatches, last_turn[KINDS], longest[KINDS];
static void *counts_turns(void *kind) {
    intptr_t k = (intptr_t)kind;
    while (dispatches < 50000) {
        long wait = ++dispatches - last_turn[k];
        if (last_turn[k] && wait > longest[k]) longest[k] = wait;
        last_turn[k] = dispatches;
        weft_yield();
    }
    return NULL;
}
static void *spawns_all_kinds(void *unused) {
    for (uintptr_t i = 0; i < 16; i++) {
        uintptr_t k = i % KINDS;
        struct weft_attr attr = {.detached = 1};
        if (k == PINNED_KIND)
            attr.pinned = 1;
        else
            attr.priority = (unsigned)k;
        CHECK_EQ(weft_spawn(NULL, &attr, counts_turns, (void *)k), 0);
    }
    return unused;
}
TEST(every_kind_has_its_share) {
    no_rescue();
    test_start(1);
    join(spawn(spawns_all_kinds, NULL));
    test_stop();
    for (int k = 0; k < KINDS; k++) CHECK(last_turn[k] > 49900);
    CHECK(longest[WEFT_NORMAL] <= 4);
    CHECK(longest[PINNED_KIND] <= 4);
    CHECK(longest[WEFT_LOW] <= 32);
}

/* --- kept ------------------------------------------------------------------------------------- */

/* A single fiber of a kind beside many normal fibers: how many of a hundred turns it gets, after different waits.
 */
static int own, others;
static void *normal_turns(void *unused) {
    while (!LOAD(&over)) {
        others++;
        weft_yield();
    }
    return unused;
}
static void *share_of(void *least_and_most) {
    const int *bounds = least_and_most;
    struct weft_sem sem = WEFT_SEM_INIT(0);
    for (int i = 0; i < 5; i++) {
        if (i == 1) CHECK_EQ(weft_sleep_for(WEFT_MILLISECOND), 0);
        if (i == 2) CHECK_EQ(weft_park_until(weft_now() + WEFT_MILLISECOND), -ETIMEDOUT);
        if (i == 3) CHECK_EQ(weft_sem_wait_until(&sem, weft_now() + WEFT_MILLISECOND), -ETIMEDOUT);
        if (i == 4) CHECK_EQ(weft_cluster_move((struct weft_fiber){0}, (struct weft_cluster){0}), 0);
        own = others = 0;
        while (own + others < 5000) {
            own++;
            weft_yield();
        }
        int share = own * 100 / (own + others);
        CHECK(share >= bounds[0] && share <= bounds[1]);
    }
    STORE(&over, 1);
    return NULL;
}
static void share(const struct weft_attr *attr, int least, int most) {
    const int bounds[2] = {least, most};
    struct weft_fiber f[20];
    no_rescue();
    test_start(1);
    for (int i = 0; i < 20; i++) f[i] = spawn(normal_turns, NULL);
    join(spawn_with(attr, share_of, (void *)(uintptr_t)bounds));
    for (int i = 0; i < 20; i++) join(f[i]);
    test_stop();
}
TEST(a_high_one_stays_high) { share(HIGH, 50, 100); }
TEST(a_normal_one_stays_normal) { share(NORMAL, 2, 12); }
TEST(a_low_one_stays_low) { share(LOW, 1, 6); }

/* --- on another worker
 * ---------------------------------------------------------------------------------------------------
 *
 * The worker on which they are ready computes until they have run. The other worker sleeps, or always has work.
 */
static int ran;
static void *runs(void *unused) {
    ADD(&ran, 1);
    return unused;
}
static void *yields(void *unused) {
    while (!LOAD(&over)) weft_yield();
    return unused;
}
static void *spawns_and_computes(void *unused) {
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(weft_spawn(NULL, HIGH, runs, NULL), 0);
        CHECK_EQ(weft_spawn(NULL, LOW, runs, NULL), 0);
    }
    while (LOAD(&ran) < 6) {
    }
    return unused;
}
static void compute(bool others_busy) {
    struct weft_fiber f[20];
    test_start(2);
    for (int i = 0; others_busy && i < 20; i++) f[i] = spawn(yields, NULL);
    for (size_t i = test_size(200); i > 0; i--) {
        STORE(&ran, 0);
        join(spawn(spawns_and_computes, NULL));
    }
    STORE(&over, 1);
    for (int i = 0; others_busy && i < 20; i++) join(f[i]);
    test_stop();
}
TEST(taken_by_a_worker_that_sleeps) { compute(false); }
TEST(taken_by_a_worker_that_is_busy) { compute(true); }
