/* SPDX-License-Identifier: MIT */
/*
 * Several threads start and stop the runtime, make and destroy clusters, at the same time: each call keeps its promise,
 * whatever the others do.
 */
#define _GNU_SOURCE
#include "threads.h"

#include "../state.h"
#include "sched/wake/idle.h"

#include "weft/io.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct weft_cluster first; /* {0}, for threads */
static int ran, over;

static void *counts(void *unused) {
    ADD(&ran, 1);
    return unused;
}
static struct weft_cluster create(unsigned workers) {
    struct weft_cluster c = {0};
    CHECK_EQ(weft_cluster_create(&c, &(struct weft_config){.workers = workers}), 0);
    return c;
}
static void *stops(void *unused) {
    test_stop();
    return unused;
}
/* For a thread: until a stop has begun. */
static void await_stop(void) {
    while (weft_spawn(NULL, NULL, counts, NULL) != -ESRCH) test_nap_ms(1);
}

/* --- a stop, and clusters and fibers that are made meanwhile ---------------------------------- */

static int stop_has_begun;
static struct weft_cluster made_by_fiber;
static void *makes_a_cluster(void *unused) {
    await_yielding(&stop_has_begun, 1);
    made_by_fiber = create(1);
    struct weft_attr there = {.cluster = made_by_fiber};
    join(spawn_with(&there, counts, NULL)); /* fibers can */
    STORE(&stop_has_begun, 2);
    await_yielding(&stop_has_begun, 3);
    CHECK_EQ(weft_cluster_destroy(made_by_fiber), 0);
    return unused;
}
TEST(threads_make_nothing_during_a_stop) {
    struct weft_cluster c = {0}, before;
    test_start(2);
    before = create(1);
    spawn_detached(makes_a_cluster, NULL);
    pthread_t t = thread_start(stops, NULL);
    await_stop();
    CHECK_EQ(weft_cluster_create(&c, NULL), -ESRCH);
    CHECK_EQ(weft_cluster_per_node(&c, 1, NULL), -ESRCH);
    CHECK_EQ(weft_spawn(NULL, &(struct weft_attr){.cluster = before}, counts, NULL), -ESRCH);
    STORE(&stop_has_begun, 1);
    await_yielding(&stop_has_begun, 2);
    CHECK_EQ(weft_spawn(NULL, &(struct weft_attr){.cluster = made_by_fiber}, counts, NULL), -ESRCH);
    CHECK_EQ(weft_cluster_destroy(before), 0);
    STORE(&stop_has_begun, 3);
    thread_join(t);
    CHECK_EQ(weft_cluster_workers(before), -ESRCH);
}

/* After a failed stop, clusters and fibers can be made again. */
static void *parks(void *unused) {
    CHECK_EQ(weft_park(), 0);
    return unused;
}
static void stop_in_vain(void *unused) {
    (void)unused;
    test_start(1);
    struct weft_fiber f = spawn(parks, NULL);
    struct weft_cluster c = create(1);
    CHECK_EQ(weft_stop(), -EBUSY);
    join(spawn_with(&(struct weft_attr){.cluster = c}, counts, NULL));
    join(spawn_with(&(struct weft_attr){.cluster = create(1)}, counts, NULL));
    CHECK_EQ(weft_unpark(f), 0);
    join(f);
    test_stop();
    CHECK_EQ(ran, 2);
}
TEST(threads_make_again_after_a_stop_in_vain) {
    static struct test_child child;
    test_child(&child, stop_in_vain, NULL);
    if (!test_child_exited(&child, 0)) test_fail(__FILE__, __LINE__, "%s", child.said);
}

/* One thread makes clusters, spawns into them and joins, while the runtime is stopped and started. */
static int accepted;
static void *makes_and_spawns(void *unused) {
    while (!LOAD(&over)) {
        struct weft_cluster c;
        struct weft_fiber f;
        int err = weft_cluster_create(&c, &(struct weft_config){.workers = 1});
        CHECK(err == 0 || err == -ESRCH);
        if (err) continue;
        err = weft_spawn(&f, &(struct weft_attr){.cluster = c}, counts, NULL);
        CHECK(err == 0 || err == -ESRCH);
        if (!err) {
            ADD(&accepted, 1);
            join(f); /* hangs if an accepted fiber does not run */
        }
        err = weft_cluster_destroy(c);
        CHECK(err == 0 || err == -ESRCH);
    }
    return unused;
}
TEST_WITHIN(clusters_are_made_during_stops, 60) {
    pthread_t t = thread_start(makes_and_spawns, NULL);
    uint64_t random = 1;
    for (size_t i = test_size(1000); i > 0; i--) {
        test_start(2);
        if (test_below(&random, 2)) test_nap_ms((unsigned)test_below(&random, 3));
        test_stop();
    }
    STORE(&over, 1);
    thread_join(t);
    CHECK_EQ(ran, accepted);
}

/* The function of a timer spawns a fiber at the moment of the stop. The fiber runs to its end, even if it waits. */
static void *sleeps(void *unused) {
    CHECK_EQ(weft_sleep_for(50 * WEFT_MICROSECOND), 0);
    return counts(unused);
}
static void spawns_a_sleeper(void *unused) {
    (void)unused;
    if (!weft_spawn(NULL, NULL, sleeps, NULL)) ADD(&accepted, 1);
}
TEST_WITHIN(timers_spawn_during_stops, 60) {
    enum { TIMERS = 8 };
    static struct weft_timer timer[TIMERS];
    uint64_t random = 1;
    for (size_t i = test_size(2000); i > 0; i--) {
        test_start(1 + (unsigned)i % 3);
        for (int k = 0; k < TIMERS; k++)
            CHECK_EQ(weft_timer_arm(&timer[k], weft_now() + test_below(&random, 100000), spawns_a_sleeper, NULL), 0);
        for (uint64_t k = test_below(&random, 20); k > 0; k--) weft_yield();
        test_stop();
        CHECK_EQ(ran, accepted);
    }
    CHECK(accepted > 0);
}

/* A timer that arms itself for the past keeps a worker busy, and does not keep the stop. */
static struct weft_timer again;
static void arms_again(void *unused) {
    ADD(&ran, 1);
    CHECK_EQ(weft_timer_arm(&again, 0, arms_again, unused), 0);
}
static void *yields_a_while(void *unused) {
    test_await(&ran, 10); /* sleeps on the kernel thread: the other worker has the timer */
    return unused;
}
TEST(a_stop_beside_a_busy_timer) {
    for (unsigned workers = 1; workers <= 2; workers++) {
        test_start(workers);
        CHECK_EQ(weft_timer_arm(&again, 0, arms_again, NULL), 0);
        test_await(&ran, 10);
        if (workers > 1) spawn_detached(yields_a_while, NULL);
        test_stop();
        CHECK_EQ(weft_timer_cancel(&again), 0);
        STORE(&ran, 0);
    }
}

/* --- what could still wake a fiber ------------------------------------------------------------ */

static struct weft_sem sem = WEFT_SEM_INIT(0);
static struct weft_fiber blocked;
static void *waits(void *unused) {
    CHECK_EQ(weft_sem_wait(&sem), 0);
    return counts(unused);
}
static void *posts_late(void *unused) {
    await_state(state_waits, blocked);
    test_nap_ms(50); /* nothing else happens any more */
    CHECK_EQ(weft_sem_post(&sem), 0);
    return unused;
}
TEST(a_stop_waits_for_a_thread_that_wakes) {
    test_start(2);
    blocked = spawn(waits, NULL);
    pthread_t t = thread_start(posts_late, NULL);
    CHECK_EQ(weft_detach(blocked), 0);
    test_stop();
    CHECK_EQ(ran, 1);
    thread_join(t);
}

static pthread_t helper;
static int leaves_one_to_a_thread(void *unused) {
    (void)unused;
    blocked = spawn(waits, NULL);
    helper = thread_start(posts_late, NULL);
    CHECK_EQ(weft_detach(blocked), 0);
    return 7;
}
TEST(a_run_waits_for_a_thread_that_wakes) {
    CHECK_EQ(weft_run(leaves_one_to_a_thread, NULL, NULL), 7);
    CHECK_EQ(ran, 1);
    thread_join(helper);
}

/* Threads that wait in weft for something that only a fiber could do wake nothing. Threads that have ended wake nothing
 * either. */
static struct weft_sem never = WEFT_SEM_INIT(0);
static int waiting;
static void *waits_for_fibers(void *way) {
    ADD(&waiting, 1);
    switch ((int)(intptr_t)way) {
    case 0: CHECK_EQ(weft_join(blocked, NULL), 0); break;
    case 1: CHECK_EQ(weft_sem_wait(&never), 0); break;
    case 2: CHECK_EQ(weft_cluster_drain(first), 0); break;
    default: break;
    }
    return NULL;
}
static void stop_beside_threads_that_wait(void *unused) {
    (void)unused;
    pthread_t t[4];
    test_start(2);
    blocked = spawn(waits, NULL);
    for (intptr_t i = 0; i < 4; i++) t[i] = thread_start(waits_for_fibers, (void *)i);
    test_await(&waiting, 4);
    for (int i = 0; i < 3; i++) CHECK_EQ(weft_stop(), -EBUSY); /* hangs if such a thread counts */
    CHECK_EQ(weft_sem_post(&never), 0);
    CHECK_EQ(weft_sem_post(&sem), 0);
    for (int i = 0; i < 4; i++) thread_join(t[i]);
    test_stop();
}
TEST(a_stop_does_not_wait_for_threads_that_wait) {
    static struct test_child child;
    if (test_emulated()) test_skip("the emulator has threads of its own");
    test_child(&child, stop_beside_threads_that_wait, NULL);
    if (!test_child_exited(&child, 0)) test_fail(__FILE__, __LINE__, "%s", child.said);
    CHECK_EQ(test_lines_with(child.said, "nothing is left to wake it"), 3);
}

/* A thread that the kernel keeps to serve io_uring does not count either. */
static void *syncs(void *file) {
    CHECK_EQ(weft_fsync(fileno(file)), 0);
    return NULL;
}
static void stop_beside_io_workers(void *unused) {
    FILE *file = tmpfile();
    (void)unused;
    CHECK(file != NULL);
    test_start(2);
    join(spawn(syncs, file));
    blocked = spawn(waits, NULL);
    CHECK_EQ(weft_stop(), -EBUSY);
    CHECK_EQ(weft_sem_post(&sem), 0);
    join(blocked);
    test_stop();
}
TEST(a_stop_does_not_wait_for_io_workers) {
    static struct test_child child;
    if (test_emulated()) test_skip("the emulator has threads of its own");
    test_child(&child, stop_beside_io_workers, NULL);
    if (!test_child_exited(&child, 0)) test_fail(__FILE__, __LINE__, "%s", child.said);
}

/* An abandoned job still runs, and belongs to the program. */
static int job_runs, job_ends;
static void *job(void *unused) {
    STORE(&job_runs, 1);
    test_await(&job_ends, 1);
    await_state(state_waits, blocked);
    test_nap_ms(50);
    CHECK_EQ(weft_sem_post(&sem), 0);
    return unused;
}
static void *gives_up_a_job(void *unused) {
    CHECK_EQ(weft_blocking_owned(job, unused, NULL, NULL), -ECANCELED);
    return unused;
}
TEST(a_stop_waits_for_a_job_that_wakes) {
    test_start(2);
    struct weft_fiber f = spawn(gives_up_a_job, NULL);
    test_await(&job_runs, 1);
    CHECK_EQ(weft_cancel(f), 0);
    join(f);
    blocked = spawn(waits, NULL);
    STORE(&job_ends, 1);
    CHECK_EQ(weft_detach(blocked), 0);
    test_stop();
    CHECK_EQ(ran, 1);
}

/* A child prints a line with both strings while it hangs. Then it is killed. */
static void check_says(void (*fn)(void), const char *text, const char *more) {
    char said[4096];
    size_t used = 0;
    int fds[2];
    CHECK(!pipe(fds));
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (!pid) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(fds[1], STDERR_FILENO);
        fn();
        _exit(0);
    }
    close(fds[1]);
    for (ssize_t n = 1; n > 0 && used < sizeof said - 1; said[used] = 0) {
        n = read(fds[0], said + used, sizeof said - 1 - used);
        used += n > 0 ? (size_t)n : 0;
        said[used] = 0;
        if (test_has(said, text)) break;
    }
    kill(pid, SIGKILL);
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
    CHECK_HAS(test_line_with(said, text), more); /* a line is written with one call */
}

static void *naps(void *unused) {
    for (;;) test_nap_ms(1000);
    return unused;
}
static int leaves_one_blocked(void *unused) {
    blocked = spawn_with(&(struct weft_attr){.name = "sleepy"}, waits, unused);
    CHECK_EQ(weft_detach(blocked), 0);
    return 0;
}
static void runs_beside_a_thread(void) {
    thread_start(naps, NULL);
    weft_run(leaves_one_blocked, NULL, NULL);
}
TEST(a_run_that_waits_for_threads_says_so) {
    check_says(runs_beside_a_thread, "the stop waits", "\"sleepy\" spawned at");
}

static int is_blocked(void *unused) {
    (void)unused;
    CHECK_EQ(weft_sem_wait(&never), -ECANCELED);
    return 0;
}
static void runs_into_a_deadlock(void) { CHECK_EQ(weft_run(is_blocked, NULL, NULL), -EDEADLK); }
TEST(a_main_that_is_blocked_is_named) {
    if (test_emulated()) test_skip("the emulator has threads of its own");
    check_says(runs_into_a_deadlock, "waits for semaphore", "\"main\"");
}

/* --- destroying ------------------------------------------------------------------------------- */

static struct weft_cluster shared;
static void *destroys(void *unused) {
    while (!LOAD(&over)) {
        CHECK_EQ(weft_cluster_destroy(shared), -EBUSY);
        ADD(&waiting, 1);
    }
    return unused;
}
/* A refused destroy disturbs no spawn. It looks at many fibers before it finds a live fiber in the cluster. */
TEST(a_refused_destroy_disturbs_nothing) {
    enum { ELSEWHERE = 2000 };
    static struct weft_fiber elsewhere[ELSEWHERE];
    test_start(2);
    for (int i = 0; i < ELSEWHERE; i++) elsewhere[i] = spawn(parks, NULL);
    shared = create(1);
    struct weft_attr there = {.cluster = shared};
    struct weft_fiber f = spawn_with(&there, parks, NULL);
    pthread_t t = thread_start(destroys, NULL);
    test_await(&waiting, 1);
    int n = (int)test_size(20000);
    for (int i = 0; i < n; i++) CHECK_EQ(weft_spawn(NULL, &there, counts, NULL), 0);
    STORE(&over, 1);
    thread_join(t);
    CHECK_EQ(weft_unpark(f), 0);
    join(f);
    test_await(&ran, n);
    for (int i = 0; i < ELSEWHERE; i++) CHECK_EQ(weft_unpark(elsewhere[i]), 0);
    for (int i = 0; i < ELSEWHERE; i++) join(elsewhere[i]);
    test_stop();
}

/* A destroy is not deceived by fibers that live only long enough to spawn the next fiber. */
static void *spawns_the_next(void *unused) {
    CHECK_EQ(weft_cluster_self().id, shared.id);
    ADD(&ran, 1);
    if (LOAD(&over))
        STORE(&waiting, 1);
    else
        CHECK_EQ(weft_spawn(NULL, NULL, spawns_the_next, unused), 0);
    return NULL;
}
TEST(not_while_fibers_beget_fibers) {
    test_start(1);
    shared = create(2);
    CHECK_EQ(weft_spawn(NULL, &(struct weft_attr){.cluster = shared}, spawns_the_next, NULL), 0);
    for (size_t i = test_size(20000); i > 0; i--) CHECK_EQ(weft_cluster_destroy(shared), -EBUSY);
    STORE(&over, 1);
    test_await(&waiting, 1);
    int err;
    while ((err = weft_cluster_destroy(shared)) == -EBUSY) test_nap_ms(1);
    CHECK_EQ(err, 0);
    test_stop();
}

/* --- reads of changing values, for ThreadSanitizer -------------------------------------------- */

static uint64_t newest;
static void *asks(void *unused) {
    while (!LOAD(&over)) {
        struct weft_stats stats;
        struct weft_delays delays;
        struct weft_hog hogs[2];
        struct weft_cluster c = {LOAD(&newest)};
        int err = weft_stats_read(&stats);
        CHECK(err == 0 || err == -ESRCH);
        err = weft_delays_read(c, &delays);
        CHECK(err == 0 || err == -ESRCH);
        CHECK(weft_hogs(c, hogs, 2) >= -ESRCH);
        err = weft_cluster_resize(c, 0); /* as many as its node has, or the machine */
        CHECK(err == 0 || err == -ESRCH);
    }
    return unused;
}
TEST_WITHIN(numbers_are_asked_for_during_starts_and_stops, 60) {
    pthread_t t = thread_start(asks, NULL);
    for (size_t i = test_size(500); i > 0; i--) {
        test_start(2);
        for (int k = 0; k < 3; k++) {
            struct weft_cluster c = create(1);
            STORE(&newest, c.id);
            join(spawn_with(&(struct weft_attr){.cluster = c}, counts, NULL));
            CHECK_EQ(weft_cluster_destroy(c), 0);
        }
        test_stop();
    }
    STORE(&over, 1);
    thread_join(t);
}

/* A thread wakes a pinned fiber by mail to its worker. Before the thread checks whether that worker sleeps, the fiber
 * may have ended, and the runtime may have been stopped and started again. */
static void *wakes_the_newest(void *unused) {
    while (!LOAD(&over)) {
        int err = weft_unpark((struct weft_fiber){LOAD(&newest)});
        CHECK(err == 0 || err == -ESRCH);
    }
    return unused;
}
TEST_WITHIN(mail_is_posted_during_stops, 60) {
    pthread_t t = thread_start(wakes_the_newest, NULL);
    for (size_t i = test_size(2000); i > 0; i--) {
        test_start(2);
        struct weft_fiber f = spawn_with(&(struct weft_attr){.pinned = 1 + (unsigned)i % 2}, parks, NULL);
        STORE(&newest, f.id);
        join(f);
        test_stop();
    }
    STORE(&over, 1);
    thread_join(t);
}

/* --- handles of earlier lives ----------------------------------------------------------------- */

/* A cluster is made in the record of another that ends. Calls with the old handle do not touch the new cluster. */
static uint64_t old;
static void *uses_old_handles(void *unused) {
    while (!LOAD(&over)) {
        struct weft_cluster c = {LOAD(&old)};
        int err = weft_cluster_resize(c, 3);
        CHECK(err == 0 || err == -ESRCH);
        err = weft_cluster_drain_until(c, weft_now() + 20 * WEFT_MILLISECOND);
        CHECK(err == 0 || err == -ESRCH || err == -ETIMEDOUT);
        weft_yield();
    }
    return unused;
}
TEST_WITHIN(a_resize_of_one_that_has_ended, 60) {
    pthread_t t[2];
    test_start(1);
    struct weft_cluster c = create(1);
    for (int i = 0; i < 2; i++) t[i] = thread_start(uses_old_handles, NULL);
    for (size_t i = test_size(2000); i > 0; i--) {
        STORE(&old, c.id);
        if (i % 8 == 0) test_nap_ms(1);
        CHECK_EQ(weft_cluster_destroy(c), 0);
        c = create(2);
        for (int k = 0; k < 10; k++) CHECK_EQ(weft_cluster_workers(c), 2);
    }
    STORE(&over, 1);
    for (int i = 0; i < 2; i++) thread_join(t[i]);
    test_stop();
}

/* The record of an ended fiber is used for the next fiber at once. Every second life of a record is moved, if it has
 * not ended; the others are never moved. */
static struct weft_cluster here, there;
static uint64_t latest;
static bool is_to_move(uint64_t id) { return id / (2 * WEFT_LIFE_ONE) & 1; } /* a life in use, and a life in between */

static void *says_where(void *unused) {
    uint64_t id = weft_self().id;
    STORE(&latest, id);
    for (int i = 0; i < 300; i++) weft_yield(); /* long enough that it is moved now and then */
    if (weft_cluster_self().id != here.id) CHECK(is_to_move(id));
    return unused;
}
static void *moves_the_latest(void *unused) {
    while (!LOAD(&over)) {
        struct weft_fiber f = {LOAD(&latest)};
        if (!is_to_move(f.id)) continue;
        int err = weft_cluster_move(f, there);
        CHECK(err == 0 || err == -ESRCH);
    }
    return unused;
}
static void *spawns_one_by_one(void *unused) {
    for (size_t i = test_size(50000); i > 0; i--)
        join(spawn_with(&(struct weft_attr){.cluster = here}, says_where, NULL));
    return unused;
}
TEST_WITHIN(a_move_of_one_that_has_ended, 60) {
    test_start(2);
    here = (struct weft_cluster){1};
    there = create(1);
    pthread_t t = thread_start(moves_the_latest, NULL);
    join(spawn(spawns_one_by_one, NULL));
    STORE(&over, 1);
    thread_join(t);
    test_stop();
}

/* --- sizes ------------------------------------------------------------------------------------ */

static bool rest(void *unused) {
    (void)unused;
    return weft__idle_resting(load_acq(&weft__cluster.idle.state)) == load_acq(&weft__cluster.count);
}
/* Only workers whose state changes are woken. */
TEST(a_resize_wakes_few) {
    enum { MANY = 40, ROUNDS = 10 };
    no_rescue();
    test_start(2);
    CHECK_EQ(weft_cluster_resize(first, MANY), 0);
    CHECK_EQ(weft_cluster_resize(first, 2), 0);
    test_until(rest, NULL);
    uint64_t before = load_acq(&weft__cluster.idle.wakes);
    for (unsigned i = 0; i < ROUNDS; i++) {
        CHECK_EQ(weft_cluster_resize(first, 3 - i % 2), 0);
        test_until(rest, NULL);
    }
    CHECK(load_acq(&weft__cluster.idle.wakes) - before < ROUNDS * MANY / 4);
    test_stop();
}

/* --- statistics ------------------------------------------------------------------------------- */

static int pipe_ends[2];
static void *prints(void *unused) {
    STORE(&waiting, 1);
    CHECK_EQ(weft_stats_print(), 0);
    STORE(&waiting, 2);
    return unused;
}
static void fill(int fd) {
    char bytes[4096] = {0};
    CHECK(!fcntl(fd, F_SETFL, O_NONBLOCK));
    while (write(fd, bytes, sizeof bytes) > 0) {
    }
    CHECK(!fcntl(fd, F_SETFL, 0));
}
static void *empties(void *unused) {
    char bytes[4096];
    while (read(pipe_ends[0], bytes, sizeof bytes) > 0) {
    }
    return unused;
}
/* Standard error is a full pipe: only the caller that prints the statistics waits. */
static void print_to_a_full_pipe(bool by_fiber) {
    int err = dup(STDERR_FILENO);
    CHECK(!pipe(pipe_ends));
    fill(pipe_ends[1]);
    test_start(2);
    CHECK_EQ(dup2(pipe_ends[1], STDERR_FILENO), STDERR_FILENO);
    CHECK(!close(pipe_ends[1]));
    struct weft_fiber f = {0};
    pthread_t t = 0;
    if (by_fiber)
        f = spawn(prints, NULL);
    else
        t = thread_start(prints, NULL);
    test_await(&waiting, 1);
    for (int i = 0; i < 50; i++) {
        struct weft_stats stats;
        struct weft_cluster c = create(1);
        join(spawn_with(&(struct weft_attr){.cluster = c}, counts, NULL));
        CHECK_EQ(weft_stats_read(&stats), 0);
        CHECK_EQ(weft_cluster_destroy(c), 0);
        test_nap_ms(1);
    }
    CHECK_EQ(LOAD(&waiting), 1);
    pthread_t reader = thread_start(empties, NULL);
    if (by_fiber)
        join(f);
    else
        thread_join(t);
    test_stop();
    CHECK_EQ(dup2(err, STDERR_FILENO), STDERR_FILENO); /* the last end that is written to */
    thread_join(reader);
}
TEST(statistics_printed_to_a_full_pipe_by_a_thread) { print_to_a_full_pipe(false); }
TEST(statistics_printed_to_a_full_pipe_by_a_fiber) { print_to_a_full_pipe(true); }
