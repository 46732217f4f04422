/* SPDX-License-Identifier: MIT */
/*
 * The promises of docs/SCHEDULING.md under hostile loads: everything that may wait for a worker, beside everything that
 * may keep it busy, on one worker, two and eight. A neighbour continues until all waiters have run, so a broken promise
 * is a hang. Where only counts show the difference, the limit is many times the usual count.
 */
#define _GNU_SOURCE
#include "threads.h"

#include "sched/core/cluster.h"
#include <weft/io.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int over;            /* the neighbours may end */
static int started;         /* how many neighbours have begun */
static int ran;             /* how many waiters have run */
static _Atomic long slices; /* progress of the neighbours */

/* Relaxed, because many fibers spin on it: under ThreadSanitizer an acquire takes a lock and would delay the store. */
static bool is_over(void) { return __atomic_load_n(&over, __ATOMIC_RELAXED); }

static void spin_us(unsigned us) {
    uint64_t end = weft_now() + us * WEFT_MICROSECOND;
    while (weft_now() < end) {
    }
}

/* --- neighbours ------------------------------------------------------------------------------- */

static int gate[2]; /* a pipe */

static void *computes(void *unused) {
    ADD(&started, 1);
    while (!is_over()) {
    }
    return unused;
}
static void *blocks(void *unused) {
    char c;
    ADD(&started, 1);
    CHECK_EQ(read(gate[0], &c, 1), 1);
    return unused;
}
static void *computes_then_blocks(void *unused) {
    spin_us(10000);
    return blocks(unused);
}

WEFT_TASK_1(long, fib, int, n) {
    if (n < 2 || is_over()) return n;
    WEFT_SPAWN(fib, n - 1);
    long b = WEFT_CALL(fib, n - 2);
    return WEFT_SYNC(fib) + b;
}
static void *forks(void *unused) {
    ADD(&started, 1);
    while (!is_over()) WEFT_RUN(fib, 30);
    return unused;
}
static int body(size_t begin, size_t end, void *unused) {
    (void)unused;
    for (size_t i = begin; i < end && !is_over(); i++) spin_us(1000);
    return 0;
}
static void *loops(void *unused) {
    ADD(&started, 1);
    while (!is_over()) CHECK_EQ(weft_for(0, 1000, body, NULL, NULL), 0);
    return unused;
}
static void yield_for(unsigned us, int turns) {
    for (int i = 0; (!turns || i < turns) && !is_over(); i++) {
        if (us) spin_us(us);
        slices++;
        weft_yield();
    }
}
static void *yields(void *unused) {
    ADD(&started, 1);
    yield_for(0, 0);
    return unused;
}
static void *yields_slowly(void *unused) {
    ADD(&started, 1);
    yield_for(1000, 0);
    return unused;
}
static void *turns_slow(void *unused) {
    ADD(&started, 1);
    while (!is_over()) {
        yield_for(0, 10000);
        yield_for(3500, 30);
    }
    return unused;
}

struct neighbour {
    void *(*fn)(void *);
    struct weft_attr attr;
    int each; /* for each worker */
};
static const struct neighbour one_computes = {computes, {0}, 1}, many_compute = {computes, {0}, 4},
                              one_blocks = {blocks, {0}, 1}, many_block = {blocks, {0}, 4},
                              changes = {computes_then_blocks, {0}, 2},
                              high_compute = {computes, {.priority = WEFT_HIGH}, 2},
                              pinned_computes = {computes, {.pinned = 1}, 1}, one_forks = {forks, {0}, 1},
                              many_fork = {forks, {0}, 3}, one_loops = {loops, {0}, 1}, many_yield = {yields, {0}, 20},
                              high_yield = {yields, {.priority = WEFT_HIGH}, 3},
                              low_yield = {yields, {.priority = WEFT_LOW}, 3},
                              pinned_yield = {yields, {.pinned = 1}, 3}, slow_yield = {yields_slowly, {0}, 3},
                              slow_high = {yields_slowly, {.priority = WEFT_HIGH}, 3},
                              quick_then_slow = {turns_slow, {0}, 3}, none = {NULL, {0}, 0};

/* --- what waits ------------------------------------------------------------------------------- */

static void *runs(void *unused) {
    ADD(&ran, 1);
    return unused;
}
static void fires(void *unused) { runs(unused); }
static void *runs_more(void *unused) {
    weft_yield();
    CHECK_EQ(weft_sleep_for(WEFT_MILLISECOND), 0);
    return runs(unused);
}
static void *parks(void *unused) {
    CHECK_EQ(weft_park(), 0);
    return runs(unused);
}
static struct weft_sem bell;
static void *waits_for_bell(void *unused) {
    CHECK_EQ(weft_sem_wait(&bell), 0);
    return runs(unused);
}
/* Only its forked call wakes it. */
static void wakes(void *fiber) { CHECK_EQ(weft_unpark(*(struct weft_fiber *)fiber), 0); }
static void *waits_for_own_call(void *unused) {
    struct weft_fiber me = weft_self();
    struct weft_task task;
    CHECK_EQ(weft_task_fork(&task, wakes, &me), 0);
    CHECK_EQ(weft_park(), 0);
    CHECK_EQ(weft_task_join(&task), 0);
    return runs(unused);
}

static int pipe_of_byte[2];
static void *reads(void *unused) {
    char c;
    CHECK_EQ(weft_read(pipe_of_byte[0], &c, 1), 1);
    return runs(unused);
}

static const struct weft_attr kinds[] = {{.priority = WEFT_NORMAL}, {.priority = WEFT_HIGH},
                                         {.priority = WEFT_LOW},    {.pinned = 1},
                                         {.stack_size = 16384},     {.stack_size = 1 << 20}};
enum { KINDS = sizeof kinds / sizeof *kinds, TIMERS = 4 };
static struct weft_timer timers[TIMERS];

/* All waiters are in one cluster: the first, or another. */
static struct weft_cluster home;
static struct weft_fiber spawn_home(const struct weft_attr *attr, void *(*fn)(void *)) {
    struct weft_attr there = *attr;
    there.cluster = home;
    return spawn_with(&there, fn, NULL);
}
static void spawn_home_detached(const struct weft_attr *attr, void *(*fn)(void *)) {
    struct weft_attr there = *attr;
    there.cluster = home;
    CHECK_EQ(weft_spawn(NULL, &there, fn, NULL), 0);
}

/* A fiber that began before the neighbours makes other fibers ready beside them. So does a thread. */
static void make_ready(struct weft_timer *two) {
    for (unsigned k = 0; k < KINDS; k++) spawn_home_detached(&kinds[k], runs_more);
    CHECK_EQ(weft_sem_post(&bell), 0);
    CHECK_EQ(write(pipe_of_byte[1], "x", 1), 1);
    CHECK_EQ(weft_timer_arm(&two[0], weft_now() + WEFT_MILLISECOND, fires, NULL), 0);
    CHECK_EQ(weft_timer_arm(&two[1], weft_now(), fires, NULL), 0);
    spawn_home_detached(&kinds[0], waits_for_own_call);
}
enum { MADE_READY = KINDS + 2 + 2 + 1 };
static void *makes_ready(void *unused) {
    CHECK_EQ(weft_park(), 0);
    make_ready(&timers[0]);
    return runs(unused);
}

static void settle_all(unsigned fibers) {
    for (unsigned i = 0; i < fibers; i++) weft_yield();
    CHECK_EQ(weft_sleep_for(WEFT_MILLISECOND), 0);
}

static int start_neighbours(const struct neighbour *n, unsigned workers) {
    int count = n->each * (int)workers;
    for (int i = 0; i < count; i++) spawn_home_detached(&n->attr, n->fn);
    return count;
}

/* How many of them block once. */
static int blockers(const struct neighbour *n, unsigned workers) {
    return n->fn == blocks || n->fn == computes_then_blocks ? n->each * (int)workers : 0;
}

static void round_beside(const struct neighbour *a, const struct neighbour *b, unsigned workers) {
    struct weft_fiber parked[KINDS], maker;
    STORE(&ran, 0);
    STORE(&over, 0);
    STORE(&started, 0);
    for (unsigned k = 0; k < KINDS; k++) parked[k] = spawn_home(&kinds[k], parks);
    for (int i = 0; i < 2; i++) spawn_home_detached(&kinds[0], waits_for_bell);
    for (int i = 0; i < 2; i++) spawn_home_detached(&kinds[0], reads);
    maker = spawn_home(&kinds[0], makes_ready);
    settle_all(20);
    start_neighbours(a, workers);
    start_neighbours(b, workers);
    test_await(&started, 1);
    CHECK_EQ(weft_unpark(maker), 0);
    for (unsigned k = 0; k < KINDS; k++) CHECK_EQ(weft_unpark(parked[k]), 0);
    make_ready(&timers[2]);
    test_await(&ran, KINDS + 2 * MADE_READY + 1);
    STORE(&over, 1);
    for (int i = blockers(a, workers) + blockers(b, workers); i > 0; i--) CHECK_EQ(write(gate[1], "x", 1), 1);
    for (unsigned k = 0; k < KINDS; k++) join(parked[k]);
    join(maker);
    CHECK_EQ(weft_cluster_drain(home), 0);
    CHECK_EQ(LOAD(&ran), KINDS + 2 * MADE_READY + 1);
}

static void beside_in_another_cluster(const struct neighbour *a, const struct neighbour *b, unsigned workers) {
    struct weft_config config = {.workers = workers};
    test_start(1);
    CHECK_EQ(weft_cluster_create(&home, &config), 0);
    round_beside(a, b, workers);
    test_stop();
    home = (struct weft_cluster){0};
}
static void beside(const struct neighbour *a, const struct neighbour *b) {
    static const unsigned workers[] = {2, 1, 8};
    unsigned sizes = test_scale() < 20 ? 3 : 1; /* the count is the same in every build, and sanitizers are slow */
    CHECK(!pipe(gate) && !pipe(pipe_of_byte));
    CHECK_EQ(weft_sem_init(&bell, 0), 0);
    for (unsigned i = 0; i < sizes; i++) {
        test_start(workers[i]);
        round_beside(a, b, workers[i]);
        test_stop();
    }
    beside_in_another_cluster(a, b, 2);
}
#define BESIDE(a, b) \
    TEST_WITHIN(beside_##a##_and_##b, 60) { beside(&a, &b); }
BESIDE(one_computes, none)
BESIDE(many_compute, none)
BESIDE(one_blocks, none)
BESIDE(many_block, none)
BESIDE(changes, none)
BESIDE(high_compute, none)
BESIDE(pinned_computes, none)
BESIDE(one_forks, none)
BESIDE(many_fork, none)
BESIDE(one_loops, none)
BESIDE(many_yield, none)
BESIDE(high_yield, none)
BESIDE(low_yield, none)
BESIDE(pinned_yield, none)
BESIDE(slow_yield, none)
BESIDE(slow_high, none)
BESIDE(quick_then_slow, none)
BESIDE(one_computes, slow_yield)
BESIDE(one_computes, quick_then_slow)
BESIDE(one_computes, high_yield)
BESIDE(one_computes, one_forks)
BESIDE(one_blocks, slow_high)
BESIDE(many_block, many_fork)
BESIDE(many_compute, many_yield)
BESIDE(one_loops, high_yield)

/* --- all kinds take turns ---------------------------------------------------------------------------------------- */

/* Of every pair of kinds that are ready all the time on one worker, each makes progress. */
static int turns[KINDS];
static void *takes_turns(void *kind) {
    while (!is_over()) {
        ADD(&turns[(intptr_t)kind], 1);
        weft_yield();
    }
    return NULL;
}
static void pair(unsigned a, unsigned b, unsigned rest) {
    struct weft_fiber f[8];
    unsigned n = 0;
    STORE(&over, 0);
    for (unsigned k = 0; k < KINDS; k++) STORE(&turns[k], 0);
    for (int i = 0; i < 3; i++) f[n++] = spawn_with(&kinds[a], takes_turns, (void *)(uintptr_t)a);
    f[n++] = spawn_with(&kinds[b], takes_turns, (void *)(uintptr_t)b);
    if (rest != a && rest != b) f[n++] = spawn_with(&kinds[rest], takes_turns, (void *)(uintptr_t)rest);
    test_await(&turns[b], 200);
    test_await(&turns[a], 200);
    STORE(&over, 1);
    while (n) join(f[--n]);
}
TEST_WITHIN(every_kind_beside_every_other, 60) {
    no_rescue();
    test_start(1);
    for (unsigned a = 0; a < 4; a++)
        for (unsigned b = 0; b < 4; b++)
            for (unsigned rest = 0; rest < 4; rest++)
                if (a != b) pair(a, b, rest);
    test_stop();
}

/* --- slices that become slow ------------------------------------------------------------------ */

/* There is no hog here, and no spare comes. The worker itself must look, long before 61 slices are over. */
static void *sleeps_once(void *unused) {
    CHECK_EQ(weft_sleep_for(WEFT_MILLISECOND), 0);
    return runs(unused);
}
static void *yields_until_slow(void *slow) {
    yield_for(0, 100000);
    ADD(&started, 1);
    while (LOAD(&started) < 2) weft_yield();
    if (slow) spawn_detached(sleeps_once, NULL);
    slices = 0;
    while (!LOAD(&ran) && slices < 61) {
        spin_us(8000);
        slices++;
        weft_yield();
    }
    return NULL;
}
TEST_WITHIN(slices_that_become_slow_let_timers_in, 60) {
    no_rescue();
    test_start(1);
    struct weft_fiber a = spawn(yields_until_slow, NULL), b = spawn(yields_until_slow, &started);
    join(a);
    join(b);
    CHECK(slices < 40);
    test_await(&ran, 1);
    test_stop();
}

/* --- behind a hog, beside a worker with much to do -------------------------------------------- */

/* The fiber waits for its turn: one round of the fibers that were ready before it, on the other worker or on a spare.
 * It does not wait longer, although the other worker's fibers wait as long. A busy machine may hold up the monitor, so
 * the test asks only for most rounds. */
enum { SLOW = 200, ROUNDS = 5 };
static int hogging, in_turn;
static void *spawns_slow_ones(void *unused) {
    await_yielding(&hogging, 1);
    for (int i = 0; i < SLOW; i++) spawn_detached(yields_slowly, NULL);
    return unused;
}
static void *keeps_the_first(void *unused) {
    STORE(&hogging, 1);
    while (LOAD(&started) < 3) {
    }
    slices = 0;
    spawn_detached(runs, NULL);
    while (!LOAD(&ran) && slices < 3 * SLOW) {
    }
    STORE(&over, 1);
    if (slices < SLOW + SLOW / 2) ADD(&in_turn, 1);
    return unused;
}
TEST_WITHIN(behind_a_hog_beside_a_worker_with_much_to_do, 60) {
#ifdef WEFT_MIGRATE
    test_skip("a fiber that migrates at every switch has no turn to wait for");
#endif
    test_start(2);
    for (int round = 0; round < ROUNDS; round++) {
        STORE(&over, 0);
        STORE(&started, 0);
        STORE(&hogging, 0);
        STORE(&ran, 0);
        struct weft_fiber hog = spawn_with(&(struct weft_attr){.pinned = 1}, keeps_the_first, NULL);
        join(spawn_with(&(struct weft_attr){.pinned = 2}, spawns_slow_ones, NULL));
        join(hog);
        test_await(&ran, 1);
        CHECK_EQ(weft_cluster_drain((struct weft_cluster){0}), 0);
    }
    CHECK(2 * in_turn > ROUNDS);
    test_stop();
}

/* The spares that come for the hog also run slow slices, and retire again. The waiting fibers must not go to the end of
 * the queue each time. */
enum { SLOW_ONES = 12, STRANDS = 15 };
static int slow;
static void *strands(void *first) {
    while (!is_over()) {
        if (LOAD(&slow) && first) {
            spawn_detached(runs, NULL);
            slices = 0;
            while (!LOAD(&ran) && slices < 40 * SLOW_ONES) {
            }
            if (slices < 40 * SLOW_ONES) ADD(&in_turn, 1);
            STORE(&slow, 0);
        } else if (LOAD(&slow)) {
            spin_us(3500);
            slices++;
        }
        weft_yield();
    }
    return NULL;
}
TEST_WITHIN(behind_a_hog_beside_slices_that_turn_slow, 60) {
    struct weft_fiber f[SLOW_ONES];
    test_start(2);
    for (int i = 0; i < SLOW_ONES; i++) f[i] = spawn(strands, i ? NULL : &slow);
    for (int round = 0; round < STRANDS; round++) {
        STORE(&ran, 0);
        test_nap_ms(20); /* quick slices for a while */
        STORE(&slow, 1);
        test_await(&ran, 1);
        while (LOAD(&slow)) test_nap_ms(1);
    }
    STORE(&over, 1);
    for (int i = 0; i < SLOW_ONES; i++) join(f[i]);
    CHECK(2 * in_turn > STRANDS);
    test_stop();
}

/* --- forked calls ----------------------------------------------------------------------------- */

static struct threads callers;
WEFT_TASK_1(long, seen_fib, int, n) {
    threads_add(&callers);
    if (n < 2 || is_over()) return n;
    WEFT_SPAWN(seen_fib, n - 1);
    long b = WEFT_CALL(seen_fib, n - 2);
    return WEFT_SYNC(seen_fib) + b;
}
static void *forks_and_is_seen(void *unused) {
    ADD(&started, 1);
    while (!is_over()) WEFT_RUN(seen_fib, 20);
    return unused;
}
static void *ticks(void *unused) {
    for (int i = 0; i < 200; i++) CHECK_EQ(weft_sleep_for(WEFT_MILLISECOND), 0);
    STORE(&over, 1);
    return unused;
}
/* Spares serve the ticker, and take no calls. So they do not become hogs that need further spares. */
TEST_WITHIN(calls_of_one_worker_run_on_one_thread, 60) {
    test_start(1);
    struct weft_fiber f = spawn(forks_and_is_seen, NULL);
    test_await(&started, 1);
    join(spawn(ticks, NULL));
    join(f);
    CHECK_EQ(threads_count(&callers), 1);
    test_stop();
}

/* The worker that could take a call always has fibers of its own. Each call waits until another call begins. */
static int begun;
static void meets(void *unused) {
    (void)unused;
    ADD(&begun, 1);
    while (LOAD(&begun) < 2) {
    }
}
static void *forks_and_meets(void *unused) {
    enum { CALLS = 8 };
    struct weft_task task[CALLS];
    for (int i = 0; i < CALLS; i++) CHECK_EQ(weft_task_fork(&task[i], meets, NULL), 0);
    for (int i = CALLS; i-- > 0;) CHECK_EQ(weft_task_join(&task[i]), 0);
    return unused;
}
TEST_WITHIN(a_busy_worker_takes_calls_that_wait, 60) {
    test_start(2);
    for (int i = 0; i < 50; i++) spawn_detached(yields, NULL);
    test_await(&started, 50);
    join(spawn(forks_and_meets, NULL));
    STORE(&over, 1);
    test_stop();
}

/* --- the monitor is not held up --------------------------------------------------------------- */

static void fill_standard_error(void) {
    int ends[2];
    char page[4096];
    memset(page, 'x', sizeof page);
    CHECK(!pipe(ends));
    CHECK(fcntl(ends[1], F_SETPIPE_SZ, (int)sizeof page) >= (int)sizeof page);
    CHECK(!fcntl(ends[1], F_SETFL, O_NONBLOCK));
    while (write(ends[1], page, sizeof page) > 0) {
    }
    CHECK(!fcntl(ends[1], F_SETFL, 0));
    CHECK(dup2(ends[1], STDERR_FILENO) == STDERR_FILENO);
}
static void *prints(void *unused) {
    ADD(&started, 1);
    weft_stats_print();
    return unused;
}

/* No further message can be written, but all waiters run. */
static void beside_full_output(void *bound) {
    fill_standard_error();
    struct weft_config config = {.workers = 1, .delay_limit = bound ? 1 : 0};
    CHECK_EQ(weft_start(&config), 0);
    spawn_detached(bound ? computes : prints, NULL);
    test_await(&started, 1);
    for (int i = 0; i < 10; i++) spawn_detached(runs_more, NULL);
    test_await(&ran, 10);
    syscall(SYS_exit_group, 0); /* ThreadSanitizer's _exit flushes standard error */
}
static void check_full_output(void *bound) {
    struct test_child child;
    test_child(&child, beside_full_output, bound);
    CHECK(test_child_exited(&child, 0));
}
TEST(behind_one_that_prints_where_nothing_can_be_written) { check_full_output(NULL); }
TEST(with_reports_that_cannot_be_written) { check_full_output(&over); }

/* Other threads make and end clusters, or look at them, for as long as they like. */
TEST(while_the_clusters_are_locked) {
    test_start(1);
    pthread_mutex_lock(&weft__clusters_change);
    spawn_detached(computes, NULL);
    test_await(&started, 1);
    for (int i = 0; i < 10; i++) spawn_detached(runs_more, NULL);
    test_await(&ran, 10);
    pthread_mutex_unlock(&weft__clusters_change);
    STORE(&over, 1);
    test_stop();
}
