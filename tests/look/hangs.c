/* SPDX-License-Identifier: MIT */
/* Programs that hang in various ways: hangs NAME. `weft explain` must say why. Without a name: lists them. */
#define _GNU_SOURCE
#include "weft.h"
#include "weft/chan.h"
#include "weft/io.h"
#include "weft/poll.h"
#include "weft/scope.h"
#include "weft/sync.h"
#include "weft/task.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 8 };
static struct weft_mutex lock[MOST];
static struct weft_latch both;
static struct weft_chan chan[2];
static struct weft_fiber fiber[MOST];
static unsigned fibers;

static void begin(void *(*fn)(void *), void *arg) {
    if (weft_spawn(&fiber[fibers++], NULL, fn, arg)) abort();
}
static void end(void) {
    for (unsigned i = 0; i < fibers; i++) weft_join(fiber[i], NULL);
}

/* --- circles of locks ------------------------------------------------------------------------------------- */

static unsigned circle;
static void *locks_two(void *arg) {
    uintptr_t i = (uintptr_t)arg;
    if (weft_mutex_lock(&lock[i])) return NULL;
    weft_latch_count_down(&both, 1);
    weft_latch_wait(&both);
    if (!weft_mutex_lock(&lock[(i + 1) % circle])) weft_mutex_unlock(&lock[(i + 1) % circle]);
    weft_mutex_unlock(&lock[i]);
    return NULL;
}
static void circle_of(unsigned n) {
    circle = n;
    weft_latch_init(&both, n);
    for (uintptr_t i = 0; i < n; i++) begin(locks_two, (void *)i);
    end();
}
static void circle2(void) { circle_of(2); }
static void circle3(void) { circle_of(3); }
static void circle4(void) { circle_of(4); }
static void circle5(void) { circle_of(5); }

/* --- a lock that is not given back ------------------------------------------------------------------------ */

static void *wants(void *unused) {
    (void)unused;
    if (!weft_mutex_lock(&lock[0])) weft_mutex_unlock(&lock[0]);
    return NULL;
}
static void *holds_and(void *what) {
    weft_mutex_lock(&lock[0]);
    weft_latch_count_down(&both, 1);
    ((void (*)(void))(uintptr_t)what)();
    return NULL;
}
static void held(void (*what)(void)) {
    weft_latch_init(&both, 1);
    begin(holds_and, (void *)(uintptr_t)what);
    weft_latch_wait(&both);
    begin(wants, NULL);
    begin(wants, NULL);
    end();
}
static void sleeps(void) { weft_sleep_for(1000 * WEFT_SECOND); }
static void computes(void) {
    for (;;) __asm__ volatile("");
}
static void blocks(void) {
    for (;;) pause();
}
static void returns(void) {}
static void sleeper(void) { held(sleeps); }
static void hog(void) { held(computes); }
static void blocked(void) { held(blocks); }
static void forgotten(void) { held(returns); }

static void *thread_holds(void *unused) {
    (void)unused;
    weft_mutex_lock(&lock[0]);
    weft_latch_count_down(&both, 1);
    for (;;) pause();
    return NULL;
}
static void thread(void) {
    pthread_t t;
    weft_latch_init(&both, 1);
    if (pthread_create(&t, NULL, thread_holds, NULL)) abort();
    weft_latch_wait(&both);
    begin(wants, NULL);
    end();
}

static struct weft_rwlock rwlock = WEFT_RWLOCK_INIT;
static void upgrade(void) {
    weft_rwlock_read(&rwlock);
    weft_rwlock_write(&rwlock);
}

/* --- what nothing delivers -------------------------------------------------------------------------------- */

static void *receives(void *unused) {
    uint64_t item;
    (void)unused;
    while (!weft_chan_recv(&chan[0], &item)) {
    }
    return NULL;
}
static void *sends_one(void *unused) {
    uint64_t item = 1;
    (void)unused;
    weft_chan_send(&chan[0], &item);
    return NULL; /* and does not close it */
}
static void lost_close(void) {
    begin(receives, NULL);
    begin(sends_one, NULL);
    end();
}
static void receiver(void) {
    begin(receives, NULL);
    end();
}
static void *selects(void *arg) {
    uint64_t item;
    uintptr_t i = (uintptr_t)arg;
    struct weft_case cases[] = {WEFT_CASE_RECV(&chan[i], &item), WEFT_CASE_RECV(&chan[1 - i], &item)};
    weft_case_select(cases, 2);
    return NULL;
}
static void two_selects(void) {
    begin(selects, (void *)0);
    begin(selects, (void *)1);
    end();
}
static struct weft_sem sem = WEFT_SEM_INIT(0);
static void semaphore(void) { weft_sem_wait(&sem); }
static struct weft_barrier barrier_of_two = WEFT_BARRIER_INIT(2);
static void barrier(void) { weft_barrier_wait(&barrier_of_two); }
static struct weft_cond cond = WEFT_COND_INIT;
static void condition(void) {
    weft_mutex_lock(&lock[0]);
    weft_cond_wait(&cond, &lock[0]);
}
static struct weft_counter work = WEFT_COUNTER_INIT;
static void counter(void) {
    weft_counter_add(&work, 1);
    weft_counter_wait(&work, 0);
}

/* --- fibers that wait for each other's end ---------------------------------------------------------------- */

static void *joins(void *other) {
    weft_latch_wait(&both);
    weft_join(*(struct weft_fiber *)other, NULL);
    return NULL;
}
static void join_circle(void) {
    weft_latch_init(&both, 1);
    begin(joins, &fiber[1]);
    begin(joins, &fiber[0]);
    weft_latch_count_down(&both, 1);
    weft_park();
}
static int child(void *unused) {
    (void)unused;
    return weft_mutex_lock(&lock[0]);
}
static void scope_child(void) {
    struct weft_scope scope;
    weft_mutex_lock(&lock[0]);
    weft_scope_begin(&scope, WEFT_FOREVER);
    weft_scope_spawn(&scope, NULL, child, NULL);
    weft_scope_end(&scope);
}

/* The call is taken while its fiber sleeps, and wants the lock of the fiber that joins it. */
static void wants_lock(void *unused) {
    (void)unused;
    weft_latch_count_down(&both, 1);
    if (!weft_mutex_lock(&lock[0])) weft_mutex_unlock(&lock[0]);
}
static void *joins_first(void *unused) {
    (void)unused;
    weft_join(fiber[0], NULL);
    return NULL;
}
/* Main holds the lock and waits. One fiber wants the lock, and another joins that fiber. */
static void queue(void) {
    weft_latch_init(&both, 1);
    weft_mutex_lock(&lock[0]);
    begin(wants, NULL);
    begin(joins_first, NULL);
    weft_sem_wait(&sem);
    end();
}
static void forked(void) {
    struct weft_task task;
    weft_latch_init(&both, 1);
    weft_mutex_lock(&lock[0]);
    if (weft_task_fork(&task, wants_lock, NULL)) abort();
    weft_latch_wait(&both);
    weft_task_join(&task);
}

/* --- outside ---------------------------------------------------------------------------------------------- */

static int ends[2];
static void descriptor(void) {
    if (pipe(ends)) abort();
    weft_ready(ends[0], POLLIN);
}
static void full_pipe(void) {
    static char bytes[1 << 20];
    if (pipe(ends)) abort();
    weft_write(ends[1], bytes, sizeof bytes);
}
static void never_returns(void *unused) {
    (void)unused;
    for (;;) pause();
}
static void timer(void) {
    static struct weft_timer t;
    weft_timer_arm(&t, weft_now() + WEFT_MILLISECOND, never_returns, NULL);
    weft_park();
}
static void *yields(void *unused) {
    (void)unused;
    for (;;) weft_yield();
    return NULL;
}
static void *computes_on(void *unused) {
    (void)unused;
    computes();
    return NULL;
}
static void starved(void) {
    for (int i = 0; i < 3; i++) begin(yields, NULL);
    begin(computes_on, NULL);
    end();
}

/* Urgent fibers that compute, and yield now and then, on every worker: one of low priority has to wait for 31 turns,
 * unless rescued (WEFT_RESCUE=0). */
static void *computes_and_yields(void *unused) {
    (void)unused;
    for (;;) {
        for (unsigned i = 0; i < 60000000; i++) __asm__ volatile("");
        weft_yield();
    }
    return NULL;
}
static void *seldom_has_its_turn(void *unused) {
    (void)unused;
    for (;;) weft_yield();
    return NULL;
}
static void priority(void) {
    const struct weft_attr high = {.priority = WEFT_HIGH}, low = {.priority = WEFT_LOW, .name = "low"};
    for (unsigned i = 0; i < 2 * weft_workers(); i++)
        if (weft_spawn(NULL, &high, computes_and_yields, NULL)) abort();
    if (weft_spawn(&fiber[fibers++], &low, seldom_has_its_turn, NULL)) abort();
    end();
}

static const struct {
    const char *name;
    void (*run)(void);
} hangs[] = {{"circle2", circle2},         {"circle3", circle3},
             {"circle4", circle4},         {"circle5", circle5},
             {"sleeper", sleeper},         {"hog", hog},
             {"blocked", blocked},         {"forgotten", forgotten},
             {"thread", thread},           {"upgrade", upgrade},
             {"lost_close", lost_close},   {"receiver", receiver},
             {"two_selects", two_selects}, {"semaphore", semaphore},
             {"barrier", barrier},         {"condition", condition},
             {"counter", counter},         {"join_circle", join_circle},
             {"scope_child", scope_child}, {"descriptor", descriptor},
             {"full_pipe", full_pipe},     {"timer", timer},
             {"forked", forked},           {"queue", queue},
             {"starved", starved},         {"priority", priority}};

static int run(void *i) {
    chan[0] = chan[1] = (struct weft_chan)WEFT_CHAN_INIT(8);
    hangs[(uintptr_t)i].run();
    return 0;
}

static void *run_semaphore(void *unused) {
    (void)unused;
    for (uintptr_t i = 0; i < sizeof hangs / sizeof *hangs; i++)
        if (hangs[i].run == semaphore) weft_run(run, (void *)i, NULL);
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t thread;
    if (argc > 1 && !strcmp(argv[1], "without_main")) { /* the main thread ends before the others */
        if (pthread_create(&thread, NULL, run_semaphore, NULL)) abort();
        pthread_exit(NULL);
    }
    for (uintptr_t i = 0; i < sizeof hangs / sizeof *hangs; i++) {
        if (argc < 2) puts(hangs[i].name);
        if (argc < 2 || strcmp(argv[1], hangs[i].name)) continue;
        int result = weft_run(run, (void *)i, NULL);
        printf("weft_run: %d\n", result);
        return 0;
    }
    return argc > 1;
}
