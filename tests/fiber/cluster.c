/* SPDX-License-Identifier: MIT */
/* Clusters: their lives, which fiber runs where, moves, waits between them, and the stop. */
#define _GNU_SOURCE
#include "threads.h"

#include "../state.h"
#include "sched/dispatch/priority.h"

static struct weft_cluster create(unsigned workers) {
    struct weft_config config = {.workers = workers};
    struct weft_cluster c = {0};
    CHECK_EQ(weft_cluster_create(&c, &config), 0);
    CHECK(c.id != 0);
    CHECK_EQ(weft_cluster_workers(c), workers);
    return c;
}

static struct weft_fiber spawn_in(struct weft_cluster c, void *(*fn)(void *), void *arg) {
    struct weft_attr attr = {.cluster = c};
    return spawn_with(&attr, fn, arg);
}

static void *nothing(void *arg) { return arg; }
static void *parks(void *started) {
    if (started) ADD((int *)started, 1);
    return (void *)(intptr_t)weft_park();
}

/* --- lives --------------------------------------------------------------------------------------------------- */

static void *destroys(void *cluster) { return (void *)(intptr_t)weft_cluster_destroy(*(struct weft_cluster *)cluster); }

TEST(made_and_ended) {
    struct weft_cluster c = {0}, none = {0};
    CHECK_EQ(weft_cluster_create(&c, NULL), -ESRCH);
    CHECK_EQ(weft_cluster_destroy(c), -ESRCH);
    test_start(2);
    CHECK_EQ(weft_cluster_destroy(none), -EINVAL);
    struct weft_cluster own = create(1);
    c = create(3);
    CHECK(c.id != own.id);
    CHECK_EQ(weft_cluster_destroy(own), 0);
    CHECK_EQ(weft_cluster_destroy(own), -ESRCH);
    CHECK_EQ(weft_cluster_workers(own), -ESRCH);
    CHECK_EQ(weft_cluster_workers(c), 3);
    CHECK_EQ(weft_workers(), 2);
    struct weft_cluster again = create(1); /* the same record, another handle */
    CHECK(again.id != own.id);
    CHECK_EQ(weft_cluster_resize(own, 2), -ESRCH);
    CHECK_EQ(weft_cluster_drain(own), -ESRCH);
    CHECK_EQ(weft_cluster_workers(again), 1);
    struct weft_attr attr = {.cluster = own};
    CHECK_EQ(weft_spawn(NULL, &attr, nothing, NULL), -ESRCH);
    test_stop();
    CHECK_EQ(weft_cluster_workers(c), -ESRCH);
    test_start(1);
    CHECK_EQ(weft_cluster_workers(c), -ESRCH); /* a handle of the previous runtime */
    CHECK_EQ(weft_cluster_workers(again), -ESRCH);
    c = create(1);
    test_stop();
}

/* A record of a cluster has been used so often that 32 bits of its generation have come round. Old handles of it are
 * stale all the same. */
TEST(handles_stay_stale_for_ever) {
    test_start(1);
    struct weft_cluster old = create(1), own = {0};
    struct weft__cluster *c = weft__cluster_find(old);
    uint64_t used = load_rlx(&c->generation);
    CHECK_EQ(weft_cluster_destroy(old), 0);
    store_rlx(&c->generation, (used - 1) + (UINT64_C(1) << 32));
    own = create(1);
    CHECK(weft__cluster_find(own) == c);
    CHECK(own.id != old.id);
    CHECK_EQ(weft_cluster_workers(old), -ESRCH);
    CHECK_EQ(weft_cluster_destroy(old), -ESRCH);
    CHECK_EQ(weft_spawn(NULL, &(struct weft_attr){.cluster = old}, nothing, NULL), -ESRCH);
    join(spawn_in(own, nothing, NULL));
    CHECK_EQ(weft_cluster_resize(own, 2), 0);
    CHECK_EQ(weft_cluster_drain(own), 0);
    CHECK_EQ(weft_cluster_destroy(own), 0);
    test_stop();
}

TEST(not_while_fibers_live_in_it) {
    int started = 0;
    test_start(1);
    struct weft_cluster c = create(2);
    CHECK_EQ((intptr_t)join(spawn_in(c, destroys, &c)), -EDEADLK);
    struct weft_fiber f = spawn_in(c, parks, &started);
    CHECK_EQ(weft_cluster_destroy(c), -EBUSY);
    test_await(&started, 1);
    CHECK_EQ(weft_cluster_destroy(c), -EBUSY);
    CHECK_EQ((intptr_t)join(spawn_in((struct weft_cluster){0}, destroys, &c)), -EBUSY);
    CHECK_EQ((intptr_t)join(spawn_in(c, nothing, (void *)3)), 3); /* it works as before */
    CHECK_EQ(weft_unpark(f), 0);
    join(f);
    CHECK_EQ((intptr_t)join(spawn_in((struct weft_cluster){0}, destroys, &c)), 0);
    test_stop();
}

TEST(as_many_as_there_can_be) {
    enum { MOST = 63 }; /* and the first */
    struct weft_cluster c[MOST], one_more = {0};
    struct weft_fiber f[MOST];
    test_start(1);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < MOST; i++) c[i] = create(1);
        CHECK_EQ(weft_cluster_create(&one_more, NULL), -ENOMEM);
        CHECK_EQ(one_more.id, 0);
        for (intptr_t i = 0; i < MOST; i++) f[i] = spawn_in(c[i], nothing, (void *)i);
        for (intptr_t i = 0; i < MOST; i++) CHECK_EQ((intptr_t)join(f[i]), i);
        for (int i = 0; i < MOST; i++) CHECK_EQ(weft_cluster_destroy(c[i]), 0);
    }
    c[0] = create(1);
    test_stop();
}

static void *pair_of(void *cluster) {
    struct weft_fiber f[4];
    for (intptr_t i = 0; i < 4; i++) f[i] = spawn_in(*(struct weft_cluster *)cluster, nothing, (void *)i);
    for (intptr_t i = 0; i < 4; i++) CHECK_EQ((intptr_t)join(f[i]), i);
    return NULL;
}
/* A thread, or a fiber of another cluster, joins the fibers of a cluster and destroys it at once. Nothing is left, and
 * the stop sees that. */
TEST_WITHIN(a_thousand_times_without_a_trace, 60) {
    size_t rss = 0, files = 0, rounds = test_size(1000);
    no_rescue(); /* otherwise a spare worker of the first cluster would stay */
    test_start(2);
    size_t threads = test_threads();
    for (size_t i = 0; i < rounds; i++) {
        struct weft_cluster c = create(1 + (unsigned)i % 3);
        pair_of(&c);
        int err = i % 2 ? weft_cluster_destroy(c) : (int)(intptr_t)join(spawn(destroys, &c));
        CHECK_EQ(err, 0);
        if (i != rounds / 10) continue;
        rss = test_rss_kib();
        files = test_open_files();
    }
    if (!TEST_TSAN && !TEST_ASAN && !test_emulated() && !test_valgrind()) CHECK(test_rss_kib() < rss + 2048);
    while (test_open_files() != files) test_nap_ms(1); /* the monitor looks at a cluster now and then */
    await_threads(threads);
    test_stop();
}

/* The waiter learns of the end before the end is counted. */
static void *waits_and_destroys(void *unused) {
    (void)unused;
    for (size_t i = test_size(3000); i > 0; i--) {
        struct weft_cluster c = create(1);
        struct weft_counter ends = WEFT_COUNTER_INIT;
        struct weft_attr attr = {.cluster = c, .counter = &ends};
        CHECK_EQ(weft_counter_add(&ends, 1), 0);
        CHECK_EQ(weft_spawn(NULL, &attr, nothing, NULL), 0);
        CHECK_EQ(weft_counter_wait(&ends, 0), 0);
        CHECK_EQ(weft_cluster_destroy(c), 0);
    }
    return NULL;
}
/* Several fibers do this. The ends of all fibers are still counted, or the stop would not return. */
TEST_WITHIN(ended_as_soon_as_its_last_fiber, 60) {
    pthread_t t[2];
    test_start(2);
    for (int i = 0; i < 2; i++) t[i] = thread_start(waits_and_destroys, NULL);
    struct weft_fiber f = spawn(waits_and_destroys, NULL);
    for (int i = 0; i < 2; i++) thread_join(t[i]);
    join(f);
    test_stop();
}

/* --- which fiber runs where -------------------------------------------------------------------------------------- */

static struct threads of[3];
static struct weft_cluster clusters[3];

static void *stays(void *number) {
    intptr_t n = (intptr_t)number;
    for (int i = 0; i < 30; i++) {
        CHECK_EQ(weft_cluster_self().id, clusters[n].id);
        CHECK_EQ(weft_workers(), (unsigned)n + 1);
        CHECK(weft_worker() >= 0);
        threads_add(&of[n]);
        if (i % 3 == 0) CHECK_EQ(weft_sleep_for(50 * WEFT_MICROSECOND), 0);
        weft_yield();
    }
    return NULL;
}
static void *spawns_everywhere(void *unused) {
    (void)unused;
    struct weft_fiber f[90];
    for (intptr_t i = 0; i < 90; i++) f[i] = spawn_in(clusters[i % 3], stays, (void *)(i % 3));
    for (int i = 0; i < 90; i++) join(f[i]);
    return NULL;
}
TEST_WITHIN(each_has_its_own_threads, 60) {
    test_start(1);
    clusters[0] = (struct weft_cluster){1};
    struct weft_fiber self = spawn(nothing, NULL);
    join(self);
    for (unsigned i = 1; i < 3; i++) clusters[i] = create(i + 1);
    for (int i = 0; i < 5; i++) {
        spawns_everywhere(NULL); /* a thread */
        for (int k = 0; k < 3; k++) join(spawn_in(clusters[k], spawns_everywhere, NULL));
    }
    for (int i = 0; i < 3; i++) {
        CHECK(threads_count(&of[i]) >= 1);
        for (int k = 0; k < i; k++) CHECK(!threads_meet(&of[i], &of[k]));
    }
    CHECK(!threads_has(&of[0], thread_id()));
    test_stop();
}

/* If a fiber spawns without naming a cluster, the new fiber belongs to the spawner's cluster. So do pins and stacks. */
static void *inherits(void *cluster) {
    struct weft_cluster c = *(struct weft_cluster *)cluster;
    CHECK_EQ(weft_cluster_self().id, c.id);
    CHECK_EQ(weft_cluster_workers((struct weft_cluster){0}), 2);
    struct weft_attr third = {.pinned = 3}, second = {.pinned = 2};
    CHECK_EQ(weft_spawn(NULL, &third, nothing, NULL), -EINVAL);
    join(spawn_with(&second, nothing, NULL));
    return NULL;
}
static void *spawns_heirs(void *cluster) {
    for (int i = 0; i < 10; i++) join(spawn(inherits, cluster));
    return NULL;
}
TEST(spawned_where_the_spawner_is) {
    test_start(4);
    struct weft_cluster c = create(2);
    join(spawn_in(c, spawns_heirs, &c));
    struct weft_attr beyond = {.cluster = c, .pinned = 3}, second = {.cluster = c, .pinned = 2};
    CHECK_EQ(weft_spawn(NULL, &beyond, nothing, NULL), -EINVAL);
    for (int i = 0; i < 20; i++) CHECK_EQ((intptr_t)join(spawn_with(&second, nothing, (void *)5)), 5);
    test_stop();
}

/* --- moves ------------------------------------------------------------------------------------ */

static void *goes_round(void *unused) {
    (void)unused;
    for (int i = 0; i < 300; i++) {
        int to = i % 3;
        CHECK_EQ(weft_cluster_move((struct weft_fiber){0}, clusters[to]), 0);
        CHECK_EQ(weft_cluster_self().id, clusters[to].id);
        threads_add(&of[to]);
        if (i % 7 == 0) weft_yield();
        if (i % 11 == 0) CHECK_EQ(weft_sleep_for(20 * WEFT_MICROSECOND), 0);
        CHECK_EQ(weft_cluster_self().id, clusters[to].id);
        threads_add(&of[to]);
    }
    return NULL;
}
TEST_WITHIN(moves_itself, 60) {
    struct weft_fiber f[20];
    test_start(1);
    clusters[0] = (struct weft_cluster){1};
    for (unsigned i = 1; i < 3; i++) clusters[i] = create(i + 1);
    for (int i = 0; i < 20; i++) f[i] = i % 2 ? spawn(goes_round, NULL) : spawn_in(clusters[2], goes_round, NULL);
    for (int i = 0; i < 20; i++) join(f[i]);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < i; k++) CHECK(!threads_meet(&of[i], &of[k]));
    test_stop();
}

static int at_home, over;
static void *reports(void *started) {
    ADD((int *)started, 1);
    for (bool last = false; !last;) {
        CHECK_EQ(weft_park(), 0);
        last = LOAD(&over);
        STORE(&at_home, weft_cluster_self().id == clusters[1].id ? 2 : 1);
    }
    return NULL;
}
/* Moves it while it waits: it continues in the cluster to which it was moved last. */
TEST(moved_while_it_waits) {
    int started = 0;
    test_start(1);
    clusters[0] = (struct weft_cluster){1};
    clusters[1] = create(2);
    struct weft_fiber f = spawn(reports, &started);
    test_await(&started, 1);
    for (int i = 0; i < 200; i++) {
        int to = i / 2 % 2;
        if (i % 50 == 0) await_state(state_waits, f);
        CHECK_EQ(weft_cluster_move(f, clusters[to]), 0);
        STORE(&at_home, 0);
        STORE(&over, i == 199);
        CHECK_EQ(weft_unpark(f), 0);
        test_await(&at_home, 1);
        if (i % 50 == 0) CHECK_EQ(LOAD(&at_home), to + 1);
    }
    join(f);
    test_stop();
}

static void *until_told(void *where) {
    while (!LOAD(&over)) {
        weft_yield();
        STORE((uint64_t *)where, weft_cluster_self().id);
    }
    return NULL;
}
/* Moves it while it runs, yields, or is pinned; and back. */
TEST(moved_while_it_runs) {
    uint64_t where[3] = {0, 0, 0};
    test_start(2);
    clusters[0] = (struct weft_cluster){1};
    clusters[1] = create(1);
    struct weft_attr pinned = {.pinned = 2}, low = {.priority = WEFT_LOW};
    struct weft_fiber f[3] = {spawn(until_told, &where[0]), spawn_with(&pinned, until_told, &where[1]),
                              spawn_with(&low, until_told, &where[2])};
    for (int i = 0; i < 20; i++)
        for (int k = 0; k < 3; k++) {
            struct weft_cluster to = clusters[(i + 1) % 2];
            CHECK_EQ(weft_cluster_move(f[k], to), 0);
            while (LOAD(&where[k]) != to.id) test_nap_ms(1);
        }
    STORE(&over, 1);
    for (int k = 0; k < 3; k++) join(f[k]);
    CHECK_EQ(weft_cluster_move(f[0], clusters[1]), -ESRCH);
    test_stop();
}

static int slept;
static void *sleeps(void *started) {
    ADD((int *)started, 1);
    CHECK_EQ(weft_sleep_for(100 * WEFT_MILLISECOND), 0);
    ADD(&slept, 1);
    return NULL;
}
static void *waits_with_a_deadline(void *started) {
    struct weft_sem never = WEFT_SEM_INIT(0);
    ADD((int *)started, 1);
    CHECK_EQ(weft_sem_wait_until(&never, weft_now() + 100 * WEFT_MILLISECOND), -ETIMEDOUT);
    ADD(&slept, 1);
    return NULL;
}
/* A deadline is kept, even if the cluster in which the wait began has ended. */
TEST(its_deadline_moves_along) {
    struct weft_fiber f[2];
    int started = 0;
    test_start(1);
    struct weft_cluster c = create(1);
    f[0] = spawn_in(c, sleeps, &started);
    f[1] = spawn_in(c, waits_with_a_deadline, &started);
    test_await(&started, 2);
    test_nap_ms(5);
    for (int i = 0; i < 2; i++) CHECK_EQ(weft_cluster_move(f[i], (struct weft_cluster){0}), 0);
    int err = weft_cluster_destroy(c);
    CHECK(err == 0 || err == -EBUSY);
    for (int i = 0; i < 2; i++) join(f[i]); /* hangs if the deadline is lost */
    CHECK_EQ(slept, 2);
    if (err) CHECK_EQ(weft_cluster_destroy(c), 0);
    test_stop();
}

static int told;
static void *moves_back_late(void *cluster) {
    ADD(&told, 1);
    while (LOAD(&told) < 2) {
    }
    test_nap_ms(20); /* sleeps on the kernel thread: by then the other fiber is in the destroy */
    struct weft_cluster c;
    CHECK_EQ(weft_cluster_create(&c, NULL), 0);
    CHECK_EQ(weft_cluster_destroy(c), 0);
    CHECK_EQ(weft_sleep_for(10 * WEFT_MILLISECOND), 0); /* its deadline stays in the wheel of the old worker at first */
    return cluster;
}
/* A fiber that was moved out still runs on a thread of the old cluster, makes clusters and sleeps, while the old
 * cluster is destroyed. */
TEST(ended_under_a_fiber_that_leaves) {
    test_start(1);
    struct weft_cluster c = create(1);
    struct weft_fiber f = spawn_in(c, moves_back_late, NULL);
    test_await(&told, 1);
    CHECK_EQ(weft_cluster_move(f, (struct weft_cluster){0}), 0);
    ADD(&told, 1);
    int err = weft_cluster_destroy(c);
    CHECK(err == 0 || err == -EBUSY);
    join(f);
    if (err) CHECK_EQ(weft_cluster_destroy(c), 0);
    test_stop();
}

/*
 * Two fibers leave a cluster, which then ends: the first still runs there, and the second is ready in the queue of the
 * same worker. The worker runs the second, too, before it ends, although it is called home all the time.
 */
static struct weft__worker *summoned;
static void *summons(void *goes_on) {
    while (LOAD((int *)goes_on)) weft__worker_summon(summoned);
    return goes_on;
}
static void *holds_the_worker(void *second) {
    CHECK_EQ(weft_unpark(*(struct weft_fiber *)second), 0);
    STORE(&told, 1);
    while (LOAD(&told) < 2) {
    }
    return second;
}
static void end_with_a_ready_fiber(void) {
    int started = 0, goes_on = 1;
    struct weft_cluster c = create(1);
    struct weft__cluster *record = weft__cluster_find(c);
    struct weft_fiber f[2];
    STORE(&told, 0);
    summoned = record->workers[0];
    f[1] = spawn_in(c, parks, &started);
    test_await(&started, 1);
    await_state(state_waits, f[1]);
    f[0] = spawn_in(c, holds_the_worker, &f[1]);
    test_await(&told, 1);
    for (int i = 0; i < 2; i++) CHECK_EQ(weft_cluster_move(f[i], (struct weft_cluster){0}), 0);
    pthread_t end = thread_start(destroys, &c), call = thread_start(summons, &goes_on);
    while (!load_acq(&record->stopping)) test_nap_ms(0);
    STORE(&told, 2);
    for (int i = 0; i < 2; i++) join(f[i]); /* hangs where the second was left behind */
    CHECK_EQ((intptr_t)thread_join(end), 0);
    STORE(&goes_on, 0);
    thread_join(call);
}
TEST_WITHIN(ended_with_a_ready_fiber_that_has_left, 60) {
    no_rescue(); /* no spare takes the second while the first runs */
    test_start(1);
    for (unsigned n = 300 / test_scale(); n > 0; n--) end_with_a_ready_fiber();
    test_stop();
}

/* --- waits between them ----------------------------------------------------------------------- */

static struct weft_mutex mutex = WEFT_MUTEX_INIT;
static struct weft_cond cond = WEFT_COND_INIT;
static struct weft_sem sem = WEFT_SEM_INIT(0);
static struct weft_counter counter = WEFT_COUNTER_INIT;
static int guarded, turn;

static void *uses_all(void *number) {
    intptr_t n = (intptr_t)number;
    for (int i = 0; i < 50; i++) {
        CHECK_EQ(weft_mutex_lock(&mutex), 0);
        int before = guarded;
        if (i % 8 == 0) weft_yield();
        guarded = before + 1;
        CHECK_EQ(weft_mutex_unlock(&mutex), 0);
        CHECK_EQ(weft_sem_post(&sem), 0);
        CHECK_EQ(weft_sem_wait(&sem), 0);
        CHECK_EQ(weft_mutex_lock(&mutex), 0); /* in all clusters, in turns */
        while (turn % 3 != n) CHECK_EQ(weft_cond_wait(&cond, &mutex), 0);
        turn++;
        CHECK_EQ(weft_cond_broadcast(&cond), 0);
        CHECK_EQ(weft_mutex_unlock(&mutex), 0);
        CHECK_EQ(weft_cluster_self().id, clusters[n].id);
    }
    return number;
}
TEST_WITHIN(they_wait_for_each_other, 60) {
    struct weft_fiber f[3];
    test_start(1);
    clusters[0] = (struct weft_cluster){1};
    for (unsigned i = 1; i < 3; i++) clusters[i] = create(i);
    for (int round = 0; round < 10; round++) {
        CHECK_EQ(weft_counter_add(&counter, 3), 0);
        for (intptr_t i = 0; i < 3; i++) {
            struct weft_attr attr = {.cluster = clusters[i], .counter = &counter};
            f[i] = spawn_with(&attr, uses_all, (void *)i);
        }
        CHECK_EQ(weft_counter_wait(&counter, 0), 0);
        for (intptr_t i = 0; i < 3; i++) CHECK_EQ((intptr_t)join(f[i]), i);
    }
    CHECK_EQ(guarded, 10 * 3 * 50);
    CHECK_EQ(turn, 10 * 3 * 50);
    test_stop();
}

/* --- the stop --------------------------------------------------------------------------------- */

TEST(a_stop_waits_for_all_clusters) {
    int started = 0;
    for (int i = 0; i < 20; i++) {
        test_start(1);
        struct weft_cluster c = create(2);
        for (int k = 0; k < 5; k++) {
            struct weft_fiber f = spawn_in(c, sleeps, &started);
            CHECK_EQ(weft_detach(f), 0);
        }
        if (i > 2) break;
        test_stop();
        CHECK_EQ(slept, 5 * (i + 1));
    }
    test_stop();
}

static void stops_in_vain(void *unused) {
    (void)unused;
    int started = 0;
    test_start(1);
    struct weft_cluster c = create(1);
    struct weft_attr attr = {.cluster = c, .name = "lonely"};
    struct weft_fiber f = spawn_with(&attr, parks, &started);
    CHECK_EQ(weft_stop(), -EBUSY);
    CHECK_EQ(weft_cluster_workers(c), 1); /* it runs on */
    join(spawn_in(c, nothing, NULL));
    CHECK_EQ(weft_unpark(f), 0);
    join(f);
    test_stop();
}
TEST(a_stop_names_blocked_fibers_of_other_clusters) {
    static struct test_child child;
    test_child(&child, stops_in_vain, NULL);
    CHECK(test_child_exited(&child, 0));
    CHECK_HAS(child.said, "lonely");
    CHECK_EQ(test_lines_with(child.said, "blocked"), 1);
}

static int leaves_some_behind(void *unused) {
    (void)unused;
    struct weft_cluster c = create(2);
    for (int i = 0; i < 3; i++) spawn_in(c, parks, NULL);
    return 5;
}
TEST(a_run_cancels_blocked_fibers_of_other_clusters) {
    struct weft_config config = {.workers = 1};
    CHECK_EQ(weft_run(leaves_some_behind, NULL, &config), 5);
    await_alone();
}

/* A wait that no cancellation ends: for a mutex after a condition wait. The holder of the mutex has ended. */
static struct weft_mutex kept = WEFT_MUTEX_INIT;
static struct weft_cond silent = WEFT_COND_INIT;
static void *waits_for_ever(void *unused) {
    CHECK_EQ(weft_mutex_lock(&kept), 0);
    weft_cond_wait(&silent, &kept);
    return unused;
}
static void *keeps_it(void *unused) {
    CHECK_EQ(weft_mutex_lock(&kept), 0);
    return unused;
}
static int leaves_one(void *unused) {
    (void)unused;
    struct weft_cluster c = create(1);
    spawn_in(c, waits_for_ever, NULL);
    CHECK_EQ(weft_cluster_drain(c), 0);
    join(spawn(keeps_it, NULL));
    return 0;
}
static void run_abandons(void *unused) {
    (void)unused;
    struct weft_config config = {.workers = 1};
    CHECK_EQ(weft_run(leaves_one, NULL, &config), -EBUSY);
    await_alone();
    test_start(2); /* and it can be started again */
    join(spawn_in(create(1), nothing, NULL));
    test_stop();
}
TEST(a_run_abandons_endless_fibers_of_other_clusters) {
    static struct test_child child;
    test_child(&child, run_abandons, NULL);
    if (!test_child_exited(&child, 0)) test_fail(__FILE__, __LINE__, "%s", child.said);
    CHECK_EQ(test_lines_with(child.said, "blocked"), 2); /* before the cancellation, and after it */
}

static int handed_over;
static void *hands_over(void *cluster) {
    int last = (int)(intptr_t)cluster;
    if (last >= 200) return NULL;
    CHECK_EQ(weft_sleep_for(100 * WEFT_MICROSECOND), 0);
    struct weft_attr attr = {.cluster = clusters[last % 2]};
    /* A fiber may, while the runtime stops. */
    CHECK_EQ(weft_spawn(NULL, &attr, hands_over, (void *)(intptr_t)(last + 1)), 0);
    ADD(&handed_over, 1);
    return NULL;
}
TEST(fibers_spawn_over_the_border_during_a_stop) {
    test_start(1);
    clusters[0] = (struct weft_cluster){1};
    clusters[1] = create(1);
    spawn_detached(hands_over, NULL);
    test_stop();
    CHECK_EQ(handed_over, 200);
}

static void *makes_and_ends(void *unused) {
    (void)unused;
    while (!LOAD(&over)) {
        struct weft_cluster c;
        int err = weft_cluster_create(&c, &(struct weft_config){.workers = 1});
        if (err) {
            CHECK_EQ(err, -ESRCH);
            weft_yield();
            continue;
        }
        err = weft_cluster_destroy(c);
        CHECK(err == 0 || err == -ESRCH);
    }
    return NULL;
}
/* Threads make and destroy clusters while the runtime starts and stops. Nothing is left. */
TEST_WITHIN(stopped_while_others_make_clusters, 60) {
    pthread_t t[2];
    for (int i = 0; i < 2; i++) t[i] = thread_start(makes_and_ends, NULL);
    for (size_t i = test_size(1000); i > 0; i--) {
        test_start(1);
        if (i % 8 == 0) test_nap_ms(1);
        test_stop();
    }
    STORE(&over, 1);
    for (int i = 0; i < 2; i++) thread_join(t[i]);
    await_alone();
}
