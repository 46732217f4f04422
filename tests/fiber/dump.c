/* SPDX-License-Identifier: MIT */
/*
 * weft_dump: what it prints about waiting fibers, in an idle program and in a busy one; and on a signal.
 */
#define _GNU_SOURCE
#include "fiber.h"

#include "../state.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char text[1 << 20];

/* What weft_dump writes. */
static const char *dump(void) {
    int fd = memfd_create("dump", 0);
    CHECK(fd >= 0);
    CHECK_EQ(weft_dump(fd), 0);
    ssize_t n = pread(fd, text, sizeof text - 1, 0);
    CHECK(n > 0);
    text[n] = 0;
    close(fd);
    return text;
}

/* Finds a line with both strings, the second after the first. */
static void check_line(const char *said, const char *begin, const char *rest) {
    const char *at = strstr(said, begin);
    if (!at) CHECK_HAS(said, begin);
    char line[512];
    snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
    CHECK_HAS(line, rest);
}

static struct weft_mutex mutex = WEFT_MUTEX_INIT;
static struct weft_sem sem = WEFT_SEM_INIT(0);
static struct weft_rwlock rwlock = WEFT_RWLOCK_INIT;
static struct weft_chan chan = WEFT_CHAN_INIT(8);
static struct weft_future future = WEFT_FUTURE_INIT;
static int waiting;

static void *locks(void *unused) {
    (void)unused;
    ADD(&waiting, 1);
    CHECK_EQ(weft_mutex_lock(&mutex), 0);
    CHECK_EQ(weft_mutex_unlock(&mutex), 0);
    return NULL;
}
static void *reads(void *unused) {
    (void)unused;
    ADD(&waiting, 1);
    CHECK_EQ(weft_rwlock_read(&rwlock), 0);
    CHECK_EQ(weft_rwlock_unlock_read(&rwlock), 0);
    return NULL;
}
static void *takes(void *unused) {
    (void)unused;
    ADD(&waiting, 1);
    CHECK_EQ(weft_sem_wait(&sem), 0);
    return NULL;
}
static void *receives(void *unused) {
    uint64_t item;
    (void)unused;
    ADD(&waiting, 1);
    CHECK_EQ(weft_chan_recv(&chan, &item), -EPIPE);
    return NULL;
}
static void *selects(void *unused) {
    uint64_t item;
    struct weft_case cases[] = {WEFT_CASE_RECV(&chan, &item), WEFT_CASE_FUTURE(&future, NULL)};
    (void)unused;
    ADD(&waiting, 1);
    CHECK(weft_case_select(cases, 2) >= 0);
    return NULL;
}
static void *joins(void *fiber) {
    ADD(&waiting, 1);
    CHECK_EQ(weft_join(*(struct weft_fiber *)fiber, NULL), 0);
    return NULL;
}
static void *sleeps(void *unused) {
    (void)unused;
    ADD(&waiting, 1);
    CHECK_EQ(weft_sleep_for(1000 * WEFT_SECOND), -ECANCELED);
    return NULL;
}

static struct weft_fiber named(const char *name, void *(*fn)(void *), void *arg) {
    return spawn_with(&(struct weft_attr){.name = name}, fn, arg);
}

/* The fiber waits, and its carrier has left its stack. */
static bool rests(struct weft_fiber f) {
    struct weft__fiber *r = weft__fiber_of(f);
    return state_waits(f) && load_acq(&r->context.on_stack) == WEFT_AT_REST;
}
static void await_waiting(struct weft_fiber f) { await_state(rests, f); }

static void one_of_each(void *unused) {
    char want[256];
    (void)unused;
    STORE(&waiting, 0);
    chan = (struct weft_chan)WEFT_CHAN_INIT(8);
    future = (struct weft_future)WEFT_FUTURE_INIT;
    CHECK_EQ(weft_mutex_lock(&mutex), 0);
    CHECK_EQ(weft_rwlock_write(&rwlock), 0);
    struct weft_fiber f[7] = {named("locks", locks, NULL), named("reads", reads, NULL), named("takes", takes, NULL),
                              named("receives", receives, NULL), named("selects", selects, NULL)};
    f[5] = named("joins", joins, &f[2]);
    f[6] = named("sleeps", sleeps, NULL);
    for (unsigned i = 0; i < 7; i++) await_waiting(f[i]);
    const char *said = dump();
    unsigned long long me = weft_self().id;
    char held[64]; /* between the address and this, the name of the variable, if it is known */
    snprintf(held, sizeof held, ", held by fiber 0x%llx", me);
    snprintf(want, sizeof want, "\"locks\" waits for mutex %p", (void *)&mutex);
    check_line(said, want, held);
    snprintf(want, sizeof want, "\"reads\" waits for rwlock to read %p", (void *)&rwlock);
    check_line(said, want, held);
    snprintf(want, sizeof want, "semaphore %p", (void *)&sem);
    check_line(said, "\"takes\" waits", want);
    snprintf(want, sizeof want, "channel to receive %p", (void *)&chan);
    check_line(said, "\"receives\" waits", want);
    check_line(said, "\"selects\" waits for select of", want);
    snprintf(want, sizeof want, "future %p", (void *)&future);
    check_line(said, "\"selects\" waits for select of", want);
    snprintf(want, sizeof want, "end of fiber 0x%llx", (unsigned long long)f[2].id);
    check_line(said, "\"joins\" waits", want);
    check_line(said, "\"sleeps\" waits for time", "s at most");
    CHECK_HAS(said, "spawned at ");
    CHECK_HAS(said, "    #1 "); /* a frame of the test itself */
    CHECK_EQ(weft_rwlock_unlock_write(&rwlock), 0);
    CHECK_EQ(weft_mutex_unlock(&mutex), 0);
    CHECK_EQ(weft_sem_post(&sem), 0);
    CHECK_EQ(weft_chan_close(&chan), 0);
    CHECK_EQ(weft_cancel(f[6]), 0);
    CHECK_EQ(weft_future_set(&future, NULL), 0);
    for (unsigned i = 0; i < 7; i++)
        if (i != 2) join(f[i]);
}
TEST(says_what_each_fiber_waits_for) { each_size(one_of_each); }

static void a_crowd(void *unused) {
    enum { MANY = 300 };
    static struct weft_fiber f[MANY];
    (void)unused;
    for (unsigned i = 0; i < MANY; i++) f[i] = spawn(takes, NULL);
    for (unsigned i = 0; i < MANY; i++) await_waiting(f[i]);
    const char *said = dump();
    CHECK_HAS(said, "300 fibers waiting: semaphore; spawned at ");
    CHECK_HAS(said, "and 296 more");
    for (unsigned i = 0; i < MANY; i++) CHECK_EQ(weft_sem_post(&sem), 0);
    for (unsigned i = 0; i < MANY; i++) join(f[i]);
}
TEST(fibers_with_the_same_stack_are_shown_together) { test_in_fiber(2, a_crowd, NULL); }

/* --- a program at work -------------------------------------------------------------------------------- */

static int over;

static void *churns(void *unused) {
    (void)unused;
    while (!LOAD(&over)) {
        CHECK_EQ(weft_mutex_lock(&mutex), 0);
        weft_yield();
        CHECK_EQ(weft_mutex_unlock(&mutex), 0);
        struct weft_fiber f = spawn(locks, NULL);
        join(f);
        weft_sleep_for(1000);
    }
    return NULL;
}

TEST_WITHIN(a_program_at_work_is_not_disturbed, 60) {
    struct weft_fiber f[20];
    int null = open("/dev/null", O_WRONLY);
    test_start(4);
    for (unsigned i = 0; i < 20; i++) f[i] = spawn(churns, NULL);
    for (size_t i = 0; i < test_size(500); i++) CHECK_EQ(weft_dump(null), 0);
    STORE(&over, 1);
    for (unsigned i = 0; i < 20; i++) join(f[i]);
    test_stop();
}

/* --- on a signal -------------------------------------------------------------------------------------- */

static int said_to;
static bool has_said(void *what) {
    ssize_t n = pread(said_to, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = 0;
    return strstr(text, what) != NULL;
}

TEST(the_signal_of_the_environment_asks_for_it) {
    CHECK(!setenv("WEFT_DUMP", "USR1", 1));
    CHECK((said_to = memfd_create("said", 0)) >= 0);
    int before = dup(STDERR_FILENO);
    CHECK(dup2(said_to, STDERR_FILENO) >= 0);
    test_start(2);
    struct weft_fiber f = named("takes", takes, NULL);
    await_waiting(f);
    CHECK(!raise(SIGUSR1));
    test_until(has_said, "\"takes\" waits for semaphore");
    dup2(before, STDERR_FILENO);
    CHECK_EQ(weft_sem_post(&sem), 0);
    join(f);
    test_stop();
    struct sigaction now;
    CHECK(!sigaction(SIGUSR1, NULL, &now) && now.sa_handler == SIG_DFL);
}

TEST(a_signal_that_is_none_is_said) {
    CHECK(!setenv("WEFT_DUMP", "KILLED", 1));
    test_start(1);
    test_stop();
}

/* --- a program that is blocked for ever ----------------------------------------------------------------- */

static struct weft_mutex locked[2] = {WEFT_MUTEX_INIT, WEFT_MUTEX_INIT};
static struct weft_barrier both = WEFT_BARRIER_INIT(2);

static int locks_both(struct weft_mutex *first, struct weft_mutex *second) {
    CHECK_EQ(weft_mutex_lock(first), 0);
    CHECK(weft_barrier_wait(&both) >= 0);
    int err = weft_mutex_lock(second);
    if (!err) CHECK_EQ(weft_mutex_unlock(second), 0);
    CHECK_EQ(weft_mutex_unlock(first), 0);
    return err;
}
static void *other_way(void *unused) {
    (void)unused;
    locks_both(&locked[1], &locked[0]);
    return NULL;
}
static int main_in_a_circle(void *unused) {
    (void)unused;
    spawn_detached(other_way, NULL);
    return locks_both(&locked[0], &locked[1]);
}
static void run_a_circle(void *workers) {
    unsetenv("WEFT_DEADLOCK");
    struct weft_config config = {.workers = *(unsigned *)workers};
    CHECK_EQ(weft_run(main_in_a_circle, NULL, &config), -EDEADLK);
}

static int main_parks(void *unused) {
    (void)unused;
    return weft_park();
}
static void run_hopeless(void *workers) {
    unsetenv("WEFT_DEADLOCK");
    struct weft_config config = {.workers = *(unsigned *)workers};
    CHECK_EQ(weft_run(main_parks, NULL, &config), -EDEADLK);
    CHECK_EQ(weft_run(main_parks, NULL, &config), -EDEADLK); /* and another one can begin */
}

static void check_explained(void (*fn)(void *), const char *why, int times) {
    for (unsigned workers = 1; workers <= 3; workers += 2) {
        struct test_child child;
        test_child(&child, fn, &workers);
        CHECK_EQ(child.status, 0);
        CHECK_EQ(test_lines_with(child.said, why), times);
        CHECK_EQ(test_lines_with(child.said, "nothing can happen any more"), times);
    }
}
TEST_WITHIN(a_deadlock_of_all_is_explained_and_ended, 60) {
    test_needs_forks();
    check_explained(run_a_circle, "deadlock (certain): 2 fibers wait for each other", 1);
}
TEST_WITHIN(what_nothing_can_end_is_explained_and_ended, 60) {
    test_needs_forks();
    check_explained(run_hopeless, "hopeless (certain): unpark: nothing calls weft_unpark", 2);
}

/* --- metrics ---------------------------------------------------------------------------------------------- */

/* The value in the line that begins so. */
static double value_of(const char *said, const char *begin) {
    const char *at = strstr(said, begin);
    if (!at) CHECK_HAS(said, begin);
    return strtod(at + strlen(begin), NULL);
}

/* The help of each number is a sentence, without names of the source. */
static void check_help(const char *said) {
    unsigned lines = 0;
    for (const char *line = strstr(said, "# HELP weft_"); line; line = strstr(line, "# HELP weft_"), lines++) {
        line = strchr(line + strlen("# HELP "), ' ');
        CHECK(line && line[strcspn(line, "_\n")] == '\n');
    }
    CHECK(lines > 20);
}

static void metrics_in_fiber(void *unused) {
    struct weft_fiber f[3];
    int fd = memfd_create("metrics", 0);
    (void)unused;
    for (unsigned i = 0; i < 3; i++) f[i] = spawn(takes, NULL);
    for (unsigned i = 0; i < 3; i++) await_waiting(f[i]);
    CHECK_EQ(weft_metrics(fd), 0);
    ssize_t n = pread(fd, text, sizeof text - 1, 0);
    CHECK(n > 0);
    text[n] = 0;
    close(fd);
    CHECK_EQ(value_of(text, "\nweft_fibers "), 4); /* these, and the caller */
    CHECK(value_of(text, "\nweft_fibers_spawned_total{cluster=\"0\",worker=\"0\"} ") >= 0);
    CHECK(value_of(text, "\nweft_parks_total{cluster=\"0\",worker=\"0\"} ") >= 0);
    CHECK_EQ(value_of(text, "\nweft_workers_configured "), weft_workers());
    double all = value_of(text, "\nweft_ready_delay_seconds_bucket{le=\"+Inf\"} ");
    CHECK_EQ(all, value_of(text, "\nweft_ready_delay_seconds_count "));
    CHECK(!strcmp(text + n - 6, "# EOF\n"));
    check_help(text);
    for (unsigned i = 0; i < 3; i++) CHECK_EQ(weft_sem_post(&sem), 0);
    for (unsigned i = 0; i < 3; i++) join(f[i]);
}
TEST(metrics_are_those_of_the_runtime) { each_size(metrics_in_fiber); }
