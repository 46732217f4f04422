/* SPDX-License-Identifier: MIT */
/*
 * A tracer freezes one kernel thread at a time, at any instruction: inside a fiber, inside the scheduler, in the middle
 * of a switch. The other threads go on meanwhile. After the last thaw every item has come out exactly once.
 *
 * The tracer is a child. It interrupts a thread of the runtime at a random moment and single-steps it for some
 * instructions, so that the thread stops anywhere and not only where a signal would interrupt it. It holds the thread
 * for some milliseconds, and lets it go.
 */
#define _GNU_SOURCE
#include "threads.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

enum { STEPS_MOST = 400, HOLD_MS_MOST = 25 };

/* Shared with the tracer. */
static struct shared {
    int over, failed;
    int held;            /* how often a thread was frozen */
    int progress;        /* grows with every item */
    int holding;         /* a thread is held now */
    int moved_meanwhile; /* how often other threads did something while a thread was held */
    int tids[64], count;
} * shared;

/* --- the tracer ---------------------------------------------------------------------------------------------- */

static bool wait_for_stop(int tid) {
    int status;
    return waitpid(tid, &status, __WALL) == tid && WIFSTOPPED(status);
}

/* Can the thread execute one more instruction without entering the kernel? There it might stay, and the step would end
 * later. */
static bool may_step(int tid) {
#if defined(__x86_64__)
    struct user_regs_struct regs;
    if (ptrace(PTRACE_GETREGS, tid, NULL, &regs) || (long)regs.orig_rax >= 0) return false; /* it is there */
    long word = ptrace(PTRACE_PEEKTEXT, tid, (void *)regs.rip, NULL);
    return (word & 0xffff) != 0x050f; /* syscall */
#else
    (void)tid;
    return false;
#endif
}

/* Stops the thread somewhere, holds it, and lets it go. False: the thread has ended, or cannot be traced. */
static bool freeze(int tid, uint64_t *random) {
    if (ptrace(PTRACE_SEIZE, tid, NULL, NULL)) return false;
    bool stopped = !ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) && wait_for_stop(tid);
    for (uint64_t n = test_below(random, STEPS_MOST); stopped && n > 0 && may_step(tid); n--)
        stopped = !ptrace(PTRACE_SINGLESTEP, tid, NULL, NULL) && wait_for_stop(tid);
    if (!stopped) return false;
    int before = LOAD(&shared->progress);
    STORE(&shared->holding, 1);
    test_nap_ms(1 + (unsigned)test_below(random, HOLD_MS_MOST));
    STORE(&shared->holding, 0);
    ADD(&shared->moved_meanwhile, LOAD(&shared->progress) != before);
    ADD(&shared->held, 1);
    return !ptrace(PTRACE_DETACH, tid, NULL, NULL);
}

static void trace(uint64_t random) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (!LOAD(&shared->over)) {
        int count = LOAD(&shared->count);
        if (count) freeze(shared->tids[test_below(&random, (uint64_t)count)], &random);
        if (test_below(&random, 3) == 0) test_nap_ms((unsigned)test_below(&random, 3));
    }
    _exit(0);
}

static bool may_trace(void) {
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (!pid) {
        int parent = getppid();
        bool ok = !ptrace(PTRACE_SEIZE, parent, NULL, NULL) && !ptrace(PTRACE_INTERRUPT, parent, NULL, NULL) &&
                  wait_for_stop(parent) && !ptrace(PTRACE_DETACH, parent, NULL, NULL);
        _exit(!ok);
    }
    int status;
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) && !WEXITSTATUS(status);
}

/* --- the work ------------------------------------------------------------------------------------------------ */

/* Every other thread of the process: carriers, spares, the monitor. */
static void publish_threads(void) {
    int n = 0;
    DIR *d = opendir("/proc/self/task");
    CHECK(d);
    for (struct dirent *e; (e = readdir(d)) && n < 64;) {
        int tid = atoi(e->d_name);
        if (tid && tid != thread_id()) shared->tids[n++] = tid;
    }
    closedir(d);
    STORE(&shared->count, n);
}

enum { FIBERS = 24 };
static int turns[FIBERS], inside[FIBERS], wanted;
static struct weft_sem baton = WEFT_SEM_INIT(1);
static struct weft_mutex mutex = WEFT_MUTEX_INIT;
static int guarded, timers_fired;
static struct weft_timer timers[FIBERS];

static void fires(void *unused) {
    (void)unused;
    ADD(&timers_fired, 1);
}
static void *nothing(void *arg) { return arg; }

static void one_turn(int n) {
    switch (turns[n] % 7) {
    case 0: CHECK_EQ(weft_sleep_for(20 * WEFT_MICROSECOND), 0); break;
    case 1:
        CHECK_EQ(weft_mutex_lock(&mutex), 0);
        guarded++;
        CHECK_EQ(weft_mutex_unlock(&mutex), 0);
        break;
    case 2: CHECK_EQ((intptr_t)join(spawn(nothing, (void *)7)), 7); break;
    case 3:
        CHECK_EQ(weft_sem_wait(&baton), 0);
        CHECK_EQ(weft_sem_post(&baton), 0);
        break;
    case 4:
        if (weft_timer_arm(&timers[n], weft_now() + 10 * WEFT_MICROSECOND, fires, NULL)) break;
        while (weft_timer_cancel(&timers[n]) == 0) { /* or it fires */
            ADD(&timers_fired, 1);
        }
        break;
    default: weft_yield();
    }
}
static void *works(void *number) {
    int n = (int)(intptr_t)number;
    while (!LOAD(&shared->over)) {
        CHECK_EQ(ADD(&inside[n], 1), 0);
        turns[n]++;
        ADD(&wanted, turns[n] % 7 == 1);
        CHECK_EQ(ADD(&inside[n], -1), 1);
        one_turn(n);
        ADD(&shared->progress, 1);
    }
    return NULL;
}

/* Often nothing moves while a thread is held. The test hangs if that never changes. A busy machine may hold all
 * threads. */
static bool they_wait_for_it(void) { return LOAD(&shared->moved_meanwhile) <= LOAD(&shared->held) / 4; }

static void run_frozen(unsigned workers, bool pinned, bool resizes) {
    struct weft_fiber f[FIBERS];
    if (TEST_TSAN || test_valgrind() || test_emulated()) test_skip("another tool has the threads in hand");
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(shared != MAP_FAILED);
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    if (!may_trace()) test_skip("a process may not be traced by its child here");
    pid_t tracer = fork();
    CHECK(tracer >= 0);
    if (!tracer) trace(weft_now());
    test_start(workers);
    for (intptr_t i = 0; i < FIBERS; i++) {
        struct weft_attr attr = {.pinned = pinned && i % 4 == 0 ? 1 + (unsigned)i % workers : 0, .priority = i % 3};
        f[i] = spawn_with(&attr, works, (void *)i);
    }
    size_t freezes = test_size(150);
    for (unsigned i = 0; LOAD(&shared->held) < (int)freezes || they_wait_for_it(); i++) {
        publish_threads();
        if (resizes) CHECK_EQ(weft_cluster_resize((struct weft_cluster){0}, 1 + i % workers), 0);
        test_nap_ms(2);
    }
    STORE(&shared->over, 1);
    int status;
    CHECK_EQ(waitpid(tracer, &status, 0), tracer);
    for (int i = 0; i < FIBERS; i++) join(f[i]);
    test_stop();
    for (int i = 0; i < FIBERS; i++) CHECK_EQ(inside[i], 0);
    CHECK_EQ(guarded, wanted);
}
TEST_WITHIN(one_worker, 60) { run_frozen(1, true, false); }
TEST_WITHIN(two_workers, 60) { run_frozen(2, true, false); }
TEST_WITHIN(eight_workers, 60) { run_frozen(8, true, false); }
TEST_WITHIN(while_workers_come_and_go, 60) { run_frozen(4, false, true); }
