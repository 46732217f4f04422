/* SPDX-License-Identifier: MIT */
/* Mistakes that the interface makes harmless: a cancelled fiber ignores results, a timer ends while its function runs,
 * fibers are left behind at the stop, a program was compiled for another version. */
#include "fiber.h"

#include "weft/io.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static void *nothing(void *arg) { return arg; }

/* --- locks complete in a cancelled fiber ------------------------------------------------------------------- */

static struct weft_mutex mutex;
static struct weft_rwlock rwlock;
static int inside, most, sections;

static int enters_without_looking(void *unused) {
    (void)unused;
    for (int i = 0; i < 3; i++) {
        weft_mutex_lock(&mutex);
        if (++inside > most) most = inside;
        weft_sleep_for(WEFT_MILLISECOND); /* parks, or is refused: both with the mutex held */
        weft_yield();
        inside--;
        sections++;
        weft_mutex_unlock(&mutex);
        weft_rwlock_write(&rwlock);
        if (++inside > most) most = inside;
        weft_yield();
        inside--;
        sections++;
        weft_rwlock_unlock_write(&rwlock);
    }
    return 0;
}
static int enters_only_the_mutex(void *unused) {
    (void)unused;
    for (int i = 0; i < 3; i++) {
        weft_mutex_lock(&mutex);
        CHECK_EQ(++inside, 1);
        weft_yield();
        inside--;
        sections++;
        weft_mutex_unlock(&mutex);
    }
    return 0;
}
static void sections_stay_closed(void *unused) {
    (void)unused;
    enum { FIBERS = 20 };
    struct weft_scope scope;
    inside = sections = 0;
    CHECK_EQ(weft_scope_begin(&scope, WEFT_FOREVER), 0);
    weft_mutex_lock(&mutex); /* until all have come and have been cancelled */
    for (int i = 0; i < FIBERS; i++) CHECK_EQ(weft_scope_spawn(&scope, NULL, enters_only_the_mutex, NULL), 0);
    for (int i = 0; i < 2 * FIBERS; i++) weft_yield();
    CHECK_EQ(weft_scope_cancel(&scope), 0);
    weft_mutex_unlock(&mutex);
    CHECK_EQ(weft_scope_end(&scope), -ECANCELED);
    CHECK_EQ(sections, 3 * FIBERS);
}
TEST(a_cancelled_fiber_holds_the_mutex_that_it_locks) { each_size(sections_stay_closed); }

static void *cancelled_one(void *unused) {
    weft_cancel(weft_self());
    CHECK_EQ(enters_without_looking(NULL), 0);
    return unused;
}
static void locks_of_cancelled(void *unused) {
    (void)unused;
    inside = most = sections = 0;
    join(spawn(cancelled_one, NULL));
    CHECK_EQ(most, 1);
    CHECK_EQ(sections, 6);
}
TEST(locks_are_no_cancellation_points) { each_size(locks_of_cancelled); }

/* --- loops that do not look ------------------------------------------------------------------------------- */

static int stop, rounds, silent[2];
static struct weft_cond cond;
static struct weft_sem never;
static struct weft_future undone;
static struct weft_chan empty = WEFT_CHAN_INIT(1);
static struct weft_signals signals = WEFT_SIGNALS_INIT;
static char byte;

static void sleeps(void) { weft_sleep_for(WEFT_MILLISECOND); }
static void waits(void) { (void)!weft_sem_wait(&never); }
static void parks(void) { (void)!weft_park(); }
static void waits_for_cond(void) {
    weft_mutex_lock(&mutex);
    (void)!weft_cond_wait(&cond, &mutex);
    weft_mutex_unlock(&mutex);
}
static void waits_for_future(void) { (void)!weft_future_wait(&undone, NULL); }
static void receives(void) { (void)!weft_chan_recv(&empty, &byte); }
static void selects(void) {
    struct weft_case cases[] = {WEFT_CASE_RECV(&empty, &byte), WEFT_CASE_READY(silent[0], POLLIN)};
    (void)!weft_case_select(cases, 2);
}
static void awaits_readiness(void) { (void)!weft_ready(silent[0], POLLIN); }
static void awaits_signal(void) { (void)!weft_signals_next(&signals, NULL); }
static void reads(void) { (void)!weft_read(silent[0], &byte, 1); }
static void polls(void) { (void)!weft_poll(&(struct pollfd){.fd = silent[0], .events = POLLIN}, 1, -1); }

static void borrows(void) { (void)!weft_recv_lease(silent[0], &(struct weft_lease){.data = NULL}); }
static int computes_one(size_t begin, size_t end, void *unused) { return (void)unused, begin > end; }
static void computes(void) { (void)!weft_for(0, 1, computes_one, NULL, NULL); }

static int loops_on(void *wait) {
    while (!LOAD(&stop)) ((void (*)(void))wait)(), ADD(&rounds, 1);
    return 0;
}
/* On one worker without rescue, another fiber runs only if the loop lets it. */
static void others_run(void *timed) {
    void (*const loops[])(void) = {
        sleeps,           waits,         parks, waits_for_cond, waits_for_future, receives, selects,
        awaits_readiness, awaits_signal, reads, polls,          borrows,          computes};
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, silent), 0);
    CHECK_EQ(weft_signals_begin(&signals, WEFT_SIGNAL(SIGUSR1)), 0);
    for (size_t i = 0; i < sizeof loops / sizeof *loops; i++) {
        struct weft_scope scope;
        STORE(&stop, 0);
        STORE(&rounds, 0);
        CHECK_EQ(weft_scope_begin(&scope, WEFT_FOREVER), 0);
        CHECK_EQ(weft_scope_spawn(&scope, NULL, loops_on, (void *)loops[i]), 0);
        CHECK_EQ(timed ? weft_scope_set_deadline(&scope, 0) : weft_scope_cancel(&scope), 0);
        while (LOAD(&rounds) < 1000) weft_yield();
        weft_mutex_lock(&mutex); /* the loop around the condition wait releases the mutex */
        STORE(&stop, 1);
        weft_mutex_unlock(&mutex);
        CHECK_EQ(weft_scope_end(&scope), timed ? -ETIMEDOUT : -ECANCELED);
    }
    weft_signals_end(&signals);
    for (int i = 0; i < 2; i++) weft_close(silent[i]);
}
TEST(a_loop_around_a_refused_wait_lets_others_run) {
    no_rescue();
    test_in_fiber(1, others_run, NULL);
    test_in_fiber(1, others_run, &stop); /* by a deadline */
}

/* --- timers that are stopped -------------------------------------------------------------------------------- */

static struct weft_timer timer;
static int begun, ended, arms;
static void takes_its_time(void *unused) {
    (void)unused;
    ADD(&begun, 1);
    for (uint64_t until = weft_now() + 5 * WEFT_MILLISECOND; weft_now() < until;) continue;
    if (LOAD(&arms)) CHECK_EQ(weft_timer_arm(&timer, 0, takes_its_time, NULL), 0);
    ADD(&ended, 1);
}
static void stops_timers(void *unused) {
    (void)unused;
    for (int again = 0; again < 2; again++) {
        timer = (struct weft_timer)WEFT_TIMER_INIT;
        CHECK_EQ(weft_timer_arm(&timer, weft_now() + 3600 * WEFT_SECOND, takes_its_time, NULL), 0);
        CHECK_EQ(weft_timer_stop(&timer), 0);
        CHECK_EQ(weft_timer_stop(&timer), -EALREADY);
        STORE(&begun, 0);
        STORE(&ended, 0);
        STORE(&arms, again);
        CHECK_EQ(weft_timer_arm(&timer, 0, takes_its_time, NULL), 0);
        while (!LOAD(&begun)) weft_yield();
        int err = weft_timer_stop(&timer);
        CHECK(err == -EALREADY || (again && !err));
        CHECK_EQ(LOAD(&begun), LOAD(&ended));
        int seen = LOAD(&begun);
        for (int i = 0; i < 100; i++) weft_yield();
        weft_sleep_for(WEFT_MILLISECOND);
        CHECK_EQ(LOAD(&begun), seen); /* and it is not called again */
    }
}
TEST(a_stopped_timer_has_returned) { each_size(stops_timers); }
TEST(a_timer_stopped_by_a_thread_has_returned) {
    test_start(2);
    stops_timers(NULL);
    test_stop();
}

/* --- deadlines that come later ------------------------------------------------------------------------------ */

static int sleeps_for_ever(void *got) {
    *(int *)got = weft_sleep_for(WEFT_FOREVER);
    return 0;
}
static struct weft_scope late;
static void *sets_deadline(void *deadline) {
    CHECK_EQ(weft_scope_set_deadline(&late, *(uint64_t *)deadline), 0);
    return NULL;
}
static void grace(void *unused) {
    (void)unused;
    int got = 0;
    uint64_t soon = weft_now() + 2 * WEFT_MILLISECOND;
    CHECK_EQ(weft_scope_begin(&late, WEFT_FOREVER), 0);
    CHECK_EQ(weft_scope_spawn(&late, NULL, sleeps_for_ever, &got), 0);
    struct weft_fiber f = spawn(sets_deadline, &soon); /* while the end waits */
    CHECK_EQ(weft_scope_end(&late), -ETIMEDOUT);
    CHECK_EQ(got, -ETIMEDOUT);
    join(f);

    /* Replaces a near deadline by a later one, and any deadline by none. errno does not change. */
    CHECK_EQ(weft_scope_begin(&late, weft_now() + WEFT_SECOND), 0);
    CHECK_EQ(weft_scope_set_deadline(&late, weft_now() + 3600 * WEFT_SECOND), 0);
    CHECK_EQ(weft_scope_set_deadline(&late, WEFT_FOREVER), 0);
    errno = EXDEV;
    CHECK_EQ(weft_scope_end(&late), 0);
    CHECK_EQ(errno, EXDEV);
    CHECK_EQ(weft_scope_begin(&late, WEFT_FOREVER), 0);
    CHECK_EQ(weft_scope_set_deadline(&late, 0), 0);
    CHECK_EQ(weft_scope_set_deadline(&late, WEFT_FOREVER), -EALREADY);
    CHECK_EQ(weft_sleep_for(WEFT_SECOND), -ETIMEDOUT);
    CHECK_EQ(weft_scope_end(&late), -ETIMEDOUT);
}
TEST(the_deadline_of_a_scope_is_set_later) { each_size(grace); }
TEST(a_thread_sets_the_deadline_of_its_scope_later) {
    test_start(2);
    grace(NULL);
    test_stop();
}

/* --- counters of children ---------------------------------------------------------------------------------- */

static int returns(void *unused) { return unused != NULL; }
static int exits(void *unused) { weft_fiber_exit(unused); }
static void counted(void *unused) {
    (void)unused;
    struct weft_scope scope;
    struct weft_counter counter = WEFT_COUNTER_INIT;
    struct weft_attr attr = {.name = "counted", .counter = &counter};
    CHECK_EQ(weft_scope_begin(&scope, WEFT_FOREVER), 0);
    CHECK_EQ(weft_counter_add(&counter, 20), 0);
    for (int i = 0; i < 10; i++) {
        CHECK_EQ(weft_scope_spawn(&scope, &attr, returns, NULL), 0);
        CHECK_EQ(weft_scope_spawn(&scope, &attr, exits, NULL), 0);
    }
    CHECK_EQ(weft_counter_wait(&counter, 0), 0);
    CHECK_EQ(weft_scope_end(&scope), 0);
    CHECK_EQ(weft_counter_value(&counter), 0);
}
TEST(children_have_a_counter) { each_size(counted); }

/* --- the background ---------------------------------------------------------------------------------------- */

static int told, background_began;
static void *stays(void *unused) {
    (void)unused;
    ADD(&background_began, 1);
    int err = weft_sleep_for(WEFT_FOREVER);
    STORE(&told, err);
    return NULL;
}
static void *stays_for_a_pipe(void *unused) {
    ADD(&background_began, 1);
    while (!weft_cancelled()) weft_sleep_for(WEFT_MILLISECOND);
    return unused;
}
static int leaves_them(void *unused) {
    (void)unused;
    struct weft_attr attr = {.name = "behind", .background = 1};
    CHECK_EQ(weft_spawn(NULL, &attr, stays, NULL), 0);
    CHECK_EQ(weft_spawn(NULL, &attr, stays_for_a_pipe, NULL), 0);
    await_yielding(&background_began, 2);
    return 7;
}
TEST(fibers_in_the_background_do_not_keep_the_runtime) {
    for (unsigned workers = 1; workers < 4; workers++) {
        STORE(&told, 0);
        STORE(&background_began, 0);
        CHECK_EQ(weft_run(leaves_them, NULL, &(struct weft_config){.workers = workers}), 7);
        CHECK_EQ(told, -ECANCELED);
    }
}
/* An operation under way keeps the runtime from stopping, even if background fibers have requests of their own. */
static int quiet_pipe[2], late_pipe[2];
static struct weft_io operation;
static ssize_t late_result;
static void *reads_in_vain(void *unused) {
    char byte;
    ADD(&background_began, 1);
    CHECK_EQ(weft_read(quiet_pipe[0], &byte, 1), -1);
    return unused;
}
static void *awaits_the_late(void *unused) {
    ADD(&background_began, 1);
    late_result = weft_io_wait(&operation);
    return unused;
}
static int leaves_an_operation(void *unused) {
    static char byte;
    struct weft_attr attr = {.background = 1};
    (void)unused;
    CHECK_EQ(weft_io_read(&operation, late_pipe[0], &byte, 1), 0);
    CHECK_EQ(weft_spawn(NULL, &attr, awaits_the_late, NULL), 0);
    for (int i = 0; i < 3; i++) CHECK_EQ(weft_spawn(NULL, &attr, reads_in_vain, NULL), 0);
    await_yielding(&background_began, 4);
    return 0;
}
static void *writes_late(void *unused) {
    while (LOAD(&background_began) < 4) test_nap_ms(1);
    test_nap_ms(50); /* until then the stop waits only for the operation and the background fibers */
    CHECK_EQ(write(late_pipe[1], "x", 1), 1);
    return unused;
}
TEST(an_operation_keeps_the_background_alive) {
    CHECK(!pipe(quiet_pipe) && !pipe(late_pipe));
    for (unsigned workers = 1; workers < 4; workers++) {
        STORE(&background_began, 0);
        late_result = 0;
        pthread_t t = thread_start(writes_late, NULL);
        CHECK_EQ(weft_run(leaves_an_operation, NULL, &(struct weft_config){.workers = workers}), 0);
        CHECK_EQ(late_result, 1);
        thread_join(t);
    }
}
static int one_ends(void *unused) {
    (void)unused;
    struct weft_fiber f;
    CHECK_EQ(weft_spawn(&f, &(struct weft_attr){.background = 1}, nothing, &told), 0);
    void *result = NULL;
    CHECK_EQ(weft_join(f, &result), 0);
    CHECK(result == &told);
    return 0;
}
TEST(a_fiber_in_the_background_is_joined_like_others) { CHECK_EQ(weft_run(one_ends, NULL, NULL), 0); }

/* --- programs of other versions ---------------------------------------------------------------------------- */

struct newer_config {
    struct weft_config config;
    uint64_t more;
};
static int three_workers(void *unused) {
    (void)unused;
    struct {
        struct weft_attr attr;
        uint64_t more;
    } newer = {.attr = {.name = "new"}};
    struct weft_fiber f;
    CHECK_EQ(weft_workers(), 3);
    CHECK_EQ(weft__spawn(&f, &newer.attr, nothing, NULL, "here", sizeof newer), 0);
    join(f);
    newer.more = 1;
    CHECK_EQ(weft__spawn(&f, &newer.attr, nothing, NULL, "here", sizeof newer), -E2BIG);
    CHECK_EQ(f.id, 0);
    CHECK_EQ(weft__spawn(&f, &newer.attr, nothing, NULL, "here", offsetof(struct weft_attr, counter)), 0);
    join(f);
    struct weft_stats stats[2];
    memset(stats, 0xff, sizeof stats);
    CHECK_EQ(weft__stats_read(stats, sizeof stats), 0);
    CHECK(stats[0].spawned && !stats[1].spawned);
    memset(stats, 0xff, sizeof stats);
    CHECK_EQ(weft__stats_read(stats, sizeof(uint64_t)), 0);
    CHECK_EQ(stats[0].completed, UINT64_MAX);
    return 0;
}
TEST(programs_of_other_versions_run) {
    struct newer_config newer = {.config = {.workers = 3}};
    CHECK_EQ(weft__run(three_workers, NULL, &newer.config, sizeof newer), 0);
    CHECK_EQ(weft__run(three_workers, NULL, &newer.config, sizeof(unsigned)), 0);
    newer.more = 1;
    CHECK_EQ(weft__run(three_workers, NULL, &newer.config, sizeof newer), -E2BIG);
}
