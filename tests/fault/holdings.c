/* SPDX-License-Identifier: MIT */
/*
 * Failures leave nothing behind. A whole program runs with the Nth call for memory, mappings or threads failing, and
 * then twice without failures: afterwards the process holds no more than a process in which nothing failed. Also: all
 * such calls fail for a while, and each call of a start fails.
 */
#define _GNU_SOURCE
#include "../fiber/threads.h"

#include "base/sys.h"

#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CROWD = 1500, TIMERS = 20 };

static struct weft_counter outstanding;
static struct weft_sem sem;
static struct weft_mutex mutex;
static struct weft_cond cond;
static int ran, accepted, errors, fired, destroyed, ready;

/* The errors that a lack of memory or threads may cause. Every other error breaks a promise. */
static bool worked(int err) {
    if (!err) return true;
    CHECK(err == -ENOMEM || err == -EAGAIN);
    ADD(&errors, 1);
    return false;
}

static void count_destroyed(void *value) { (void)value, ADD(&destroyed, 1); }
static struct weft_key key;

static void *parks_a_while(void *unused) {
    (void)unused;
    ADD(&ran, 1);
    if (worked(weft_sem_wait(&sem))) weft_yield();
    return NULL;
}
static void *has_locals(void *unused) {
    (void)unused;
    ADD(&ran, 1);
    if (worked(weft_local_set(key, &key)) && worked(weft_sleep_for(100000))) CHECK(weft_local_get(key) == &key);
    return NULL;
}
static void *waits_for_cond(void *unused) {
    (void)unused;
    ADD(&ran, 1);
    if (!worked(weft_mutex_lock(&mutex))) return NULL;
    while (!ready && worked(weft_cond_wait(&cond, &mutex))) {
    }
    CHECK_EQ(weft_mutex_unlock(&mutex), 0);
    return NULL;
}
static void fire(void *unused) { (void)unused, ADD(&fired, 1); }

/* A spawn that was accepted runs and completes the counter; a refused spawn does neither. */
static void start_one(struct weft_attr attr, void *(*fn)(void *)) {
    attr.counter = &outstanding;
    CHECK_EQ(weft_counter_add(&outstanding, 1), 0);
    if (worked(weft_spawn(NULL, &attr, fn, NULL)))
        ADD(&accepted, 1);
    else
        CHECK_EQ(weft_counter_complete(&outstanding), 0);
}

static void *spawns_a_crowd(void *unused) {
    (void)unused;
    ADD(&ran, 1);
    for (int i = 0; i < CROWD; i++) start_one((struct weft_attr){.stack_size = i % 2 ? 16384 : 0}, parks_a_while);
    return NULL;
}

static void *thread_waits(void *unused) {
    (void)unused;
    worked(weft_sem_wait(&sem)); /* the thread's record is made here */
    worked(weft_local_set(key, &key));
    return NULL;
}

static void use_everything(void) {
    static struct weft_timer timer[TIMERS];
    int armed = 0, keyed = worked(weft_key_create(&key, count_destroyed));
    memset(timer, 0, sizeof timer);
    start_one((struct weft_attr){.name = "crowd"}, spawns_a_crowd);
    for (unsigned i = 0; i < 3; i++) start_one((struct weft_attr){.pinned = i + 1, .name = "pinned"}, has_locals);
    start_one((struct weft_attr){.stack_size = 1 << 20}, has_locals);
    for (int i = 0; i < 10; i++) start_one((struct weft_attr){.name = "cond"}, waits_for_cond);
    for (int i = 0; i < TIMERS; i++)
        armed += worked(weft_timer_arm(&timer[i], weft_now() + (uint64_t)i * 100000, fire, NULL));
    pthread_t t = thread_start(thread_waits, NULL);
    worked(weft_sleep_for(2 * WEFT_MILLISECOND));
    while (!worked(weft_mutex_lock(&mutex))) {
    }
    ready = 1;
    CHECK_EQ(weft_mutex_unlock(&mutex), 0);
    CHECK_EQ(weft_cond_broadcast(&cond), 0);
    for (int i = 0; i < CROWD + 1; i++) CHECK_EQ(weft_sem_post(&sem), 0);
    while (!worked(weft_counter_wait(&outstanding, 0))) {
    }
    thread_join(t);
    while (LOAD(&fired) < armed) test_nap_ms(1);
    if (keyed) CHECK_EQ(weft_key_delete(key), 0);
    CHECK_EQ(LOAD(&ran), LOAD(&accepted));
    CHECK_EQ(LOAD(&fired), armed);
    while (!weft_sem_try(&sem)) {
    }
}

/* One whole life of a runtime. False: it did not start. */
static bool whole_program(void) {
    ran = accepted = fired = destroyed = ready = 0;
    sem = (struct weft_sem)WEFT_SEM_INIT(0);
    struct weft_config config = {.workers = 3};
    if (!worked(weft_start(&config))) {
        CHECK_EQ(weft_workers(), 0);
        CHECK_EQ(weft_stop(), -ESRCH);
        return false;
    }
    use_everything();
    CHECK_EQ(weft_stop(), 0);
    return true;
}

static void whole_program_works(void) {
    errors = 0;
    CHECK(whole_program());
    CHECK_EQ(errors, 0);
    CHECK_EQ(accepted, CROWD + 15);
}

/* --- one failure at a time ------------------------------------------------------------------------------------- */

/* What the process holds at the end, for comparison with a process in which nothing failed. */
static struct holdings {
    size_t heap, files;
    long left; /* of the countdown */
} * held;      /* shared with the child */

static void run_with_failure(void *nth) {
    alarm(30);
    weft__fault_countdown = *(long *)nth;
    errors = 0;
    whole_program();
    held->left = weft__fault_countdown;
    weft__fault_countdown = -1;
    whole_program_works();
    whole_program_works();
    held->heap = mallinfo2().uordblks;
    held->files = test_open_files();
    await_threads(1 + TEST_TSAN);
}

static struct test_child child;

static struct holdings try_nth(long nth) {
    test_child(&child, run_with_failure, &nth);
    if (!test_child_exited(&child, 0))
        test_fail(__FILE__, __LINE__, "call %ld failing: status %x: %s", nth, (unsigned)child.status, child.said);
    return *held;
}

static void *share(void) {
    void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(p != MAP_FAILED);
    return p;
}

TEST_WITHIN(each_call_fails_once, 300) {
    held = share();
    struct holdings without = try_nth(-1);
    long n = 1;
    for (struct holdings with;; n++) {
        with = try_nth(n);
        CHECK_EQ(with.files, without.files);
        /* Caches differ with the workers that ran. A thousand leaks of the smallest object would show. */
        if (with.heap > without.heap + 65536)
            test_fail(__FILE__, __LINE__, "call %ld failing: %zu bytes held, not %zu", n, with.heap, without.heap);
        if (with.left > 0) break;
    }
    fprintf(stderr, "    %ld calls, each failed once\n", n - 1);
    CHECK(n > 20); /* otherwise the calls avoid the function that makes them fail */
}

/* --- all calls fail for a while --------------------------------------------------------------- */

/* All calls fail while a runtime is used. Accepted work is done when there is memory again. */
static void starved(void *unused) {
    (void)unused;
    alarm(60);
    ran = accepted = fired = destroyed = ready = errors = 0;
    CHECK_EQ(weft_key_create(&key, NULL), 0);
    test_start(3);
    weft__fault_countdown = WEFT_FAULT_ALL;
    for (int i = 0; i < 200; i++) {
        start_one((struct weft_attr){.stack_size = 16384}, parks_a_while);
        start_one((struct weft_attr){.name = "locals"}, has_locals);
        start_one((struct weft_attr){.name = "crowd"}, spawns_a_crowd);
        if (i % 50 == 0) test_nap_ms(5);
    }
    int refused = LOAD(&errors);
    weft__fault_countdown = -1;
    CHECK(refused > 0);
    for (int i = LOAD(&accepted) + 200 * CROWD; i > 0; i--) CHECK_EQ(weft_sem_post(&sem), 0);
    CHECK_EQ(weft_counter_wait(&outstanding, 0), 0);
    CHECK_EQ(LOAD(&ran), LOAD(&accepted));
    CHECK_EQ(weft_stop(), 0);
    CHECK_EQ(weft_key_delete(key), 0);
    whole_program_works();
}
TEST_WITHIN(all_fail_for_a_while, 120) {
    held = share();
    for (int i = 0; i < 3; i++) {
        test_child(&child, starved, NULL);
        if (!test_child_exited(&child, 0))
            test_fail(__FILE__, __LINE__, "status %x: %s", (unsigned)child.status, child.said);
    }
}

/* The first carrier reads the topology on a separate thread. When all carriers have run, that thread has ended. */
static void *returns(void *unused) { return unused; }
static void let_all_run(unsigned workers) {
    for (unsigned i = 1; i <= workers; i++) join(spawn_with(&(struct weft_attr){.pinned = i}, returns, NULL));
}

/* Only the start, with nothing made yet: every failure is reported, and the next start works. Without spares, so that
 * the number of threads is known. */
static void start_fails(void *nth) {
    struct weft_config config = {.workers = 5, .no_rescue = true};
    alarm(20);
    weft__fault_countdown = *(long *)nth;
    int err = weft_start(&config);
    held->left = weft__fault_countdown;
    weft__fault_countdown = -1;
    CHECK(err == 0 || err == -ENOMEM || err == -EAGAIN);
    CHECK_EQ(weft_workers(), err ? 0 : 5);
    if (!err) let_all_run(5);
    await_threads((err ? 1 : 8) + TEST_TSAN); /* with main, monitor and trimmer */
    CHECK_EQ(test_threads(), (err ? 1 : 8) + TEST_TSAN);
    if (!err) test_stop();
    test_start(5);
    test_stop();
}
TEST_WITHIN(a_start_that_fails, 120) {
    held = share();
    long n = 1, failed = 0;
    for (held->left = 0; held->left <= 0; n++) {
        test_child(&child, start_fails, &n);
        if (!test_child_exited(&child, 0))
            test_fail(__FILE__, __LINE__, "call %ld failing: status %x: %s", n, (unsigned)child.status, child.said);
        failed++;
    }
    CHECK(failed > 10);
}
