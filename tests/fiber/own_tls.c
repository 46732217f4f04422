/* SPDX-License-Identifier: MIT */
/*
 * Fibers with thread-local storage of their own: the storage follows the fiber to any worker, and is destroyed at its
 * end. They run beside fibers without such storage.
 */
#define _GNU_SOURCE
#include "../state.h"
#include "fiber.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#undef errno
#define errno (*__errno_location()) /* as in a library that does not know weft */

static __thread int number = 7;
static __thread char text[100];
static const struct weft_attr owning = {.own_tls = 1};
static _Atomic int destroyed;
static pthread_key_t key;

static struct weft_fiber spawn_owning(void *(*fn)(void *), void *arg) {
    struct weft_fiber f;
    CHECK_EQ(weft_spawn(&f, &owning, fn, arg), 0);
    return f;
}

/* Under sanitizers and valgrind, and in static programs, the spawn of such a fiber fails with an error that says so. */
static bool is_possible(void) {
    struct weft_fiber f;
    int err = weft_spawn(&f, &owning, (void *(*)(void *))getenv, "HOME");
    CHECK(err == 0 || err == -ENOTSUP);
    if (!err) CHECK_EQ(weft_join(f, NULL), 0);
    return !err;
}

static void *keeps(void *arg) {
    int mine = (int)(intptr_t)arg;
    CHECK_EQ(number, 7);
    CHECK_EQ(text[0], 0);
    number = mine;
    memset(text, mine & 127, sizeof text - 1);
    pthread_t self = pthread_self();
    for (int i = 0; i < 200; i++) {
        if (i % 16 == 0) CHECK_EQ(weft_sleep_for(WEFT_MICROSECOND), 0);
        errno = mine;
        weft_yield();
        CHECK_EQ(errno, mine);
        CHECK_EQ(number, mine);
        CHECK_EQ(text[50], mine & 127);
        CHECK(pthread_equal(self, pthread_self()));
    }
    free(malloc(100));
    return arg;
}
static void *plain(void *arg) {
    for (int i = 0; i < 200; i++) {
        CHECK_EQ(number, 7);
        weft_yield();
    }
    return arg;
}
static void keep(void *unused) {
    struct weft_fiber own[50], others[50];
    (void)unused;
    if (!is_possible()) return;
    for (int round = 0; round < 3; round++) { /* the second fiber gets storage that was used before */
        for (int i = 0; i < 50; i++) {
            own[i] = spawn_owning(keeps, (void *)(intptr_t)(i + 1));
            others[i] = spawn(plain, NULL);
        }
        for (int i = 0; i < 50; i++) {
            CHECK_EQ((intptr_t)join(own[i]), i + 1);
            join(others[i]);
        }
    }
    CHECK_EQ(number, 7);
}
TEST(thread_locals_are_the_fibers) { each_size(keep); }

static void destroy(void *value) {
    CHECK_EQ(number, (int)(intptr_t)value);
    atomic_fetch_add(&destroyed, 1);
}
static void *has_a_value(void *arg) {
    number = (int)(intptr_t)arg;
    CHECK_EQ(pthread_setspecific(key, arg), 0);
    weft_yield();
    CHECK(pthread_getspecific(key) == arg);
    if (number % 2) weft_fiber_exit(arg);
    return arg;
}
static void end(void *unused) {
    (void)unused;
    if (!is_possible()) return;
    atomic_store(&destroyed, 0);
    for (int i = 1; i <= 20; i++) CHECK_EQ((intptr_t)join(spawn_owning(has_a_value, (void *)(intptr_t)i)), i);
    CHECK_EQ(atomic_load(&destroyed), 20);
}
TEST(values_are_destroyed_at_the_end) {
    CHECK_EQ(pthread_key_create(&key, destroy), 0);
    each_size(end);
    pthread_key_delete(key);
}

#if defined(__x86_64__)
static unsigned get_rounding(void) { return __builtin_ia32_stmxcsr() & 0x6000; }
static void set_rounding(unsigned mode) { __builtin_ia32_ldmxcsr((__builtin_ia32_stmxcsr() & ~0x6000u) | mode); }
enum { UP = 0x4000, DOWN = 0x2000 };
#else
static unsigned get_rounding(void) { return __builtin_aarch64_get_fpcr() & 0xc00000; }
static void set_rounding(unsigned mode) {
    __builtin_aarch64_set_fpcr((__builtin_aarch64_get_fpcr() & ~0xc00000u) | mode);
}
enum { UP = 0x400000, DOWN = 0x800000 };
#endif
static void *rounds(void *arg) {
    unsigned mode = arg ? UP : DOWN;
    CHECK_EQ(get_rounding(), 0);
    set_rounding(mode);
    for (int i = 0; i < 100; i++) {
        weft_yield();
        CHECK_EQ(get_rounding(), mode);
    }
    return arg;
}
static void round_each(void *unused) {
    struct weft_fiber f[10];
    (void)unused;
    if (!is_possible()) return;
    for (int i = 0; i < 10; i++) f[i] = spawn_owning(rounds, i % 2 ? f : NULL);
    for (int i = 0; i < 10; i++) join(f[i]);
}
TEST(rounding_is_the_fibers) { each_size(round_each); }

static int child(void *arg) {
    CHECK_EQ(number, 7);
    number = 8;
    weft_yield();
    CHECK_EQ(number, 8);
    return *(int *)arg;
}
static void scoped(void *unused) {
    struct weft_scope scope;
    int zero = 0, bad = -EIO;
    (void)unused;
    if (!is_possible()) return;
    CHECK_EQ(weft_scope_begin(&scope, WEFT_FOREVER), 0);
    for (int i = 0; i < 20; i++) CHECK_EQ(weft_scope_spawn(&scope, &owning, child, &zero), 0);
    CHECK_EQ(weft_scope_end(&scope), 0);
    CHECK_EQ(weft_scope_begin(&scope, WEFT_FOREVER), 0);
    CHECK_EQ(weft_scope_spawn(&scope, &owning, child, &bad), 0);
    CHECK_EQ(weft_scope_end(&scope), -EIO);
}
TEST(children_of_scopes) { each_size(scoped); }

static int in_cluster(void *unused) {
    struct weft_fiber f[20];
    struct weft_scope scope;
    int zero = 0;
    (void)unused;
    number = 1;
    for (int i = 0; i < 20; i++) CHECK_EQ(weft_spawn(&f[i], NULL, keeps, (void *)(intptr_t)(i + 1)), 0);
    CHECK_EQ(weft_scope_begin(&scope, WEFT_FOREVER), 0);
    CHECK_EQ(weft_scope_spawn(&scope, NULL, child, &zero), 0);
    CHECK_EQ(weft_scope_end(&scope), 0);
    for (int i = 0; i < 20; i++) CHECK_EQ(weft_join(f[i], NULL), 0);
    CHECK_EQ(number, 1);
    return 0;
}
TEST(all_fibers_of_a_cluster) {
    for (unsigned workers = 1; workers <= 8; workers += workers) {
        struct weft_config config = {.workers = workers, .own_tls = 1};
        int err = weft_run(in_cluster, NULL, &config);
        CHECK(err == 0 || err == -ENOTSUP);
    }
    CHECK_EQ(number, 7);
}

static int cleaned;
static void see_seven_plus(void *plus) { cleaned += number == 7 + (int)(intptr_t)plus; }
static void *leaves_a_handler(void *cleanup) {
    number = 10;
    CHECK_EQ(weft_cleanup_push(cleanup, see_seven_plus, (void *)3), 0);
    weft_yield();
    return NULL;
}
static int child_leaves_a_handler(void *cleanup) {
    leaves_a_handler(cleanup);
    return 0;
}
static void leave_handlers(void *unused) {
    struct weft_scope scope;
    struct weft_cleanup cleanup; /* not in the frames of the fibers, so they may leave it */
    (void)unused;
    if (!is_possible()) return;
    cleaned = 0;
    join(spawn_owning(leaves_a_handler, &cleanup));
    CHECK_EQ(cleaned, 1);
    CHECK_EQ(weft_scope_begin(&scope, WEFT_FOREVER), 0);
    CHECK_EQ(weft_scope_spawn(&scope, &owning, child_leaves_a_handler, &cleanup), 0);
    CHECK_EQ(weft_scope_end(&scope), 0);
    CHECK_EQ(cleaned, 2);
}
TEST(handlers_that_are_left_run_before_the_storage_goes) { each_size(leave_handlers); }

static int in_background, out_of_it;
static void *waits_in_background(void *sem) {
    ADD(&in_background, 1);
    CHECK_EQ(weft_sem_wait(sem), -ECANCELED);
    ADD(&out_of_it, 1);
    return NULL;
}
TEST(fibers_in_the_background_do_not_keep_the_runtime) {
    for (unsigned cluster = 0; cluster < 2; cluster++) {
        struct weft_sem sem = WEFT_SEM_INIT(0);
        struct weft_attr attr = {.background = 1, .own_tls = !cluster};
        STORE(&in_background, 0);
        STORE(&out_of_it, 0);
        int err = weft_start(&(struct weft_config){.workers = 2, .own_tls = cluster});
        if (!err) err = weft_spawn(NULL, &attr, waits_in_background, &sem);
        CHECK(err == 0 || err == -ENOTSUP);
        if (weft_workers() && !err) {
            for (int i = 0; i < 9; i++) CHECK_EQ(weft_spawn(NULL, &attr, waits_in_background, &sem), 0);
            while (LOAD(&in_background) < 5) test_nap_ms(1); /* the others may begin later */
        }
        if (weft_workers()) CHECK_EQ(weft_stop(), 0);
        CHECK_EQ(LOAD(&out_of_it), err ? 0 : 10);
    }
}

static void *shout(void *n) {
    CHECK_EQ(number, 7);
    weft_yield();
    ADD((int *)n, 1);
    return NULL;
}
static int shout_ten_times(void *unused) {
    int n = 0;
    (void)unused;
    for (int i = 0; i < 10; i++) CHECK_EQ(weft_spawn(NULL, i % 2 ? &owning : NULL, shout, &n), 0);
    while (LOAD(&n) < 10) weft_yield();
    return 9;
}
/* The child's carriers get the storage of the parent's carriers, which the kernel must not write for the forker. */
static void *forks_processes(void *times) {
    number = 100;
    for (int i = 0; i < *(int *)times; i++) {
        pid_t pid = fork();
        int status, result = 9;
        if (!pid) {
            for (unsigned round = 0; round < 20 && result == 9; round++)
                result = weft_run(shout_ten_times, NULL, &(struct weft_config){.workers = 2 + round % 3});
            _exit(number == 100 ? result : 1);
        }
        CHECK_EQ(waitpid(pid, &status, 0), pid);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 9);
    }
    return NULL;
}
static void fork_processes(void *unused) {
    int times = 10;
    (void)unused;
    if (is_possible()) join(spawn_owning(forks_processes, &times));
}
TEST(a_forked_child_keeps_the_storage) { each_size(fork_processes); }

static struct test_child child_process;
static void *forks_and_returns(void *unused) {
    pid_t pid = fork();
    int status;
    if (!pid) return NULL;
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_FAILURE);
    return unused;
}
static void runs_it(void *unused) {
    (void)unused;
    test_start(2);
    if (is_possible())
        join(spawn_owning(forks_and_returns, NULL));
    else
        fputs("has come to its end in a forked child\n", stderr);
    test_stop();
}
TEST(returning_in_a_forked_child_ends_it) {
    test_child(&child_process, runs_it, NULL);
    CHECK(test_child_exited(&child_process, 0));
    CHECK_HAS(child_process.said, "has come to its end in a forked child");
}

static void add(void *n) {
    struct weft_task task;
    int *depth = n, less = *depth - 1;
    if (!*depth) return;
    weft_task_fork(&task, add, &less);
    weft_yield();
    weft_task_join(&task);
}
static void *forks(void *arg) {
    int depth = 30;
    number = (int)(intptr_t)arg;
    for (int i = 0; i < 20; i++) {
        add(&depth);
        CHECK_EQ(number, (int)(intptr_t)arg);
    }
    return arg;
}
static void fork_each(void *unused) {
    struct weft_fiber f[4];
    (void)unused;
    if (!is_possible()) return;
    for (int i = 0; i < 4; i++) f[i] = spawn_owning(forks, (void *)(intptr_t)(i + 1));
    for (int i = 0; i < 4; i++) join(f[i]);
}
TEST(forked_calls) { each_size(fork_each); }
