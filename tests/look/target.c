/* SPDX-License-Identifier: MIT */
/*
 * A program to look at: fibers that wait for each kind of object, and some that run. Prints "ready" when all are in
 * their places, and lives until its standard input ends.
 *
 *   target [FIBERS]         so many more fibers that wait for one semaphore; default 0
 *   target rests            has slept, and waits for its input
 *   target metrics          writes the metrics of a runtime with one fiber
 *   target busy WORKERS     fibers that lock, send, spawn and sleep all the time instead
 */
#define _GNU_SOURCE
#include "weft.h"
#include "weft/chan.h"
#include "weft/io.h"
#include "weft/poll.h"
#include "weft/scope.h"
#include "weft/sync.h"

#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct weft_mutex held_lock = WEFT_MUTEX_INIT, cond_lock = WEFT_MUTEX_INIT;
struct weft_cond never_signalled = WEFT_COND_INIT;
struct weft_sem never_posted = WEFT_SEM_INIT(0), crowd = WEFT_SEM_INIT(0), stop = WEFT_SEM_INIT(0);
struct weft_counter never_completed = WEFT_COUNTER_INIT;
struct weft_barrier one_short = WEFT_BARRIER_INIT(2);
struct weft_rwlock written = WEFT_RWLOCK_INIT;
struct weft_chan empty = WEFT_CHAN_INIT(8), full = WEFT_CHAN_INIT(8);
struct weft_future never_set = WEFT_FUTURE_INIT;
static struct weft_latch all_there, is_held;
static int never_written[2];
static atomic_bool spins = true;
static struct weft_fiber joined;

static void there(void) { weft_latch_count_down(&all_there, 1); }

static void *holds(void *arg) {
    (void)arg;
    weft_mutex_lock(&held_lock);
    weft_rwlock_write(&written);
    weft_latch_count_down(&is_held, 1);
    there();
    weft_sem_wait(&stop);
    weft_rwlock_unlock_write(&written);
    weft_mutex_unlock(&held_lock);
    return NULL;
}
static void *locks(void *arg) {
    there();
    if (!weft_mutex_lock(&held_lock)) weft_mutex_unlock(&held_lock);
    return arg;
}
static void *reads(void *arg) {
    there();
    if (!weft_rwlock_read(&written)) weft_rwlock_unlock_read(&written);
    return arg;
}
static void *writes(void *arg) {
    there();
    if (!weft_rwlock_write(&written)) weft_rwlock_unlock_write(&written);
    return arg;
}
static void *awaits_cond(void *arg) {
    weft_mutex_lock(&cond_lock);
    there();
    weft_cond_wait(&never_signalled, &cond_lock);
    weft_mutex_unlock(&cond_lock);
    return arg;
}
static void *awaits_sem(void *arg) {
    there();
    weft_sem_wait(&never_posted);
    return arg;
}
static void *awaits_counter(void *arg) {
    there();
    weft_counter_wait(&never_completed, 0);
    return arg;
}
static void *awaits_barrier(void *arg) {
    there();
    weft_barrier_wait(&one_short);
    return arg;
}
static void *receives(void *arg) {
    uint64_t item;
    there();
    weft_chan_recv(&empty, &item);
    return arg;
}
static void *sends(void *arg) {
    uint64_t item = 1;
    there();
    weft_chan_send(&full, &item);
    return arg;
}
static void *awaits_future(void *arg) {
    there();
    weft_future_wait(&never_set, NULL);
    return arg;
}
static void *selects(void *arg) {
    uint64_t item;
    struct weft_case cases[] = {WEFT_CASE_RECV(&empty, &item), WEFT_CASE_FUTURE(&never_set, NULL)};
    there();
    weft_case_select(cases, 2);
    return arg;
}
static void *parks(void *arg) {
    there();
    weft_park();
    return arg;
}
static void *sleeps(void *arg) {
    there();
    weft_sleep_for(UINT64_C(1000) * 1000000000);
    return arg;
}
static void *joins(void *arg) {
    there();
    weft_join(joined, NULL);
    return arg;
}
static int child(void *arg) {
    (void)arg;
    there();
    return weft_sem_wait(&never_posted);
}
static void *scopes(void *arg) {
    struct weft_scope scope;
    weft_scope_begin(&scope, WEFT_FOREVER);
    weft_scope_spawn(&scope, NULL, child, NULL);
    weft_scope_end(&scope);
    return arg;
}
static void *polls(void *arg) {
    there();
    weft_ready(never_written[0], POLLIN);
    return arg;
}
static void *spins_about(void *arg) {
    there();
    while (atomic_load_explicit(&spins, memory_order_relaxed)) {
    }
    return arg;
}
static void *crowds(void *arg) {
    there();
    weft_sem_wait(&crowd);
    return arg;
}

static const struct {
    const char *name;
    void *(*fn)(void *);
} kinds[] = {{"holds", holds},
             {"locks", locks},
             {"reads", reads},
             {"writes", writes},
             {"cond", awaits_cond},
             {"sem", awaits_sem},
             {"counter", awaits_counter},
             {"barrier", awaits_barrier},
             {"receives", receives},
             {"sends", sends},
             {"future", awaits_future},
             {"selects", selects},
             {"parks", parks},
             {"sleeps", sleeps},
             {"joins", joins},
             {"scopes", scopes},
             {"polls", polls},
             {"spins", spins_about}};

/* --- a program at work ------------------------------------------------------------------------------------ */

enum { PAIRS = 16 };
static struct weft_chan pair[PAIRS];
static atomic_bool over;
static bool begins_another; /* program, at the end */

static void *nothing(void *arg) { return arg; }

static inline __attribute__((always_inline)) void reads_or_writes(bool writes_it) {
    if (writes_it) {
        weft_rwlock_write(&written);
        weft_yield();
        weft_rwlock_unlock_write(&written);
    } else {
        weft_rwlock_read(&written);
        weft_yield();
        weft_rwlock_unlock_read(&written);
    }
}

static void *gives(void *chan) {
    for (uint64_t item = 0; !atomic_load(&over); item++) {
        struct weft_fiber f;
        weft_chan_send(chan, &item);
        weft_mutex_lock(&held_lock);
        weft_yield();
        weft_mutex_unlock(&held_lock);
        reads_or_writes(item % 4 == 0);
        if (!weft_spawn(&f, NULL, nothing, NULL)) weft_join(f, NULL);
        if (item % 64 == 0) weft_sleep_for(10000);
    }
    weft_chan_close(chan);
    return NULL;
}

static void *takes(void *chan) {
    uint64_t item;
    while (!weft_chan_recv(chan, &item)) {
    }
    return NULL;
}

static int work(void *arg) {
    struct weft_fiber f[2 * PAIRS];
    char byte;
    (void)arg;
    for (unsigned i = 0; i < PAIRS; i++) {
        pair[i] = (struct weft_chan)WEFT_CHAN_INIT(8);
        if (weft_spawn(&f[2 * i], NULL, gives, &pair[i]) || weft_spawn(&f[2 * i + 1], NULL, takes, &pair[i])) abort();
    }
    printf("ready %d\n", (int)getpid());
    fflush(stdout);
    weft_read(STDIN_FILENO, &byte, 1);
    if (begins_another) execlp("sleep", "sleep", "1000", NULL);
    atomic_store(&over, true);
    for (unsigned i = 0; i < 2 * PAIRS; i++) weft_join(f[i], NULL);
    return 0;
}

/* ---------------------------------------------------------------------------------------------------------- */

static unsigned crowd_size;

static int run(void *arg) {
    enum { KINDS = sizeof kinds / sizeof *kinds };
    struct weft_fiber fiber[KINDS], *crowded = calloc(crowd_size + 1, sizeof *crowded);
    char byte;
    (void)arg;
    weft_counter_add(&never_completed, 1);
    weft_latch_init(&all_there, KINDS - 1 + crowd_size);
    weft_latch_init(&is_held, 1);
    for (unsigned i = 0; i + 1 < KINDS; i++) {
        struct weft_attr attr = {.name = kinds[i].name};
        if (weft_spawn(&fiber[i], &attr, kinds[i].fn, NULL)) abort();
        if (kinds[i].fn == parks) joined = fiber[i];
        if (!i) weft_latch_wait(&is_held); /* it holds what the other fibers want */
    }
    for (unsigned i = 0; i < crowd_size; i++)
        if (weft_spawn(&crowded[i], NULL, crowds, NULL)) abort();
    weft_latch_wait(&all_there);
    weft_sleep_for(20000000); /* each fiber reports a moment before it is in its place */
    struct weft_attr attr = {.name = "spins"};
    weft_latch_init(&all_there, 1);
    if (weft_spawn(&fiber[KINDS - 1], &attr, spins_about, NULL)) abort();
    weft_latch_wait(&all_there);
    printf("ready %d\n", (int)getpid());
    fflush(stdout);
    weft_read(STDIN_FILENO, &byte, 1);
    _exit(0);
}

static int rests(void *arg) {
    char byte;
    (void)arg;
    weft_sleep_for(1000000);
    printf("ready %d\n", (int)getpid());
    fflush(stdout);
    weft_read(STDIN_FILENO, &byte, 1);
    return 0;
}

/* Many fibers, each of which reads from its own pipe. The descriptors exceed 256. */
static void *reads_a_pipe(void *arg) {
    char byte;
    weft_read((int)(intptr_t)arg, &byte, 1);
    return arg;
}
static int readers(void *arg) {
    struct weft_fiber f;
    char byte;
    (void)arg;
    for (unsigned i = 0; i < 150; i++) {
        int ends[2];
        if (pipe(ends) || weft_spawn(&f, NULL, reads_a_pipe, (void *)(intptr_t)ends[0])) abort();
    }
    weft_sleep_for(20000000);
    printf("ready %d\n", (int)getpid());
    fflush(stdout);
    weft_read(STDIN_FILENO, &byte, 1);
    _exit(0);
}

static int metrics(void *arg) {
    (void)arg;
    return weft_metrics(STDOUT_FILENO);
}

/* A fiber that computes for half a second of CPU time, while other fibers wait. */
static __attribute__((noinline)) void *computes_a_while(void *arg) {
    for (clock_t end = clock() + CLOCKS_PER_SEC / 2; clock() < end;)
        for (unsigned i = 0; i < 1000000; i++) __asm__ volatile("");
    return arg;
}
static int computes(void *arg) {
    struct weft_fiber f[8];
    (void)arg;
    for (unsigned i = 0; i < 8; i++)
        if (weft_spawn(&f[i], NULL, i ? crowds : computes_a_while, NULL)) abort();
    weft_join(f[0], NULL);
    for (unsigned i = 1; i < 8; i++) weft_sem_post(&crowd);
    for (unsigned i = 1; i < 8; i++) weft_join(f[i], NULL);
    return 0;
}

int main(int argc, char **argv) {
    struct weft_config config = {.workers = 2};
    weft_latch_init(&all_there, 100);
    if (argc > 1 && !strcmp(argv[1], "computes")) return weft_run(computes, NULL, &config);
    if (argc > 1 && !strcmp(argv[1], "rests")) return weft_run(rests, NULL, &config);
    if (argc > 1 && !strcmp(argv[1], "readers")) return weft_run(readers, NULL, &config);
    if (argc > 1 && !strcmp(argv[1], "metrics")) return weft_run(metrics, NULL, &config);
    if (argc > 1) crowd_size = (unsigned)strtoul(argv[1], NULL, 0);
    if (argc > 2) {
        config.workers = (unsigned)strtoul(argv[2], NULL, 0);
        begins_another = argc > 3;
        return weft_run(work, NULL, &config);
    }
    if (pipe(never_written)) return 1;
    return weft_run(run, NULL, &config);
}
