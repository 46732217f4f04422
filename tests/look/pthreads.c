/* SPDX-License-Identifier: MIT */
/*
 * A program that knows nothing of weft and hangs: pthreads NAME. Under `weft threads`, `weft explain` must say why.
 * Without a name: lists them.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 4 };
static pthread_mutex_t lock[MOST] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
                                     PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP, PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP};
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t never_signalled = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t both, one_short;
static sem_t never_posted;
static pthread_t thread[MOST];
static unsigned threads;

static void begin(void *(*fn)(void *), void *arg) {
    if (pthread_create(&thread[threads++], NULL, fn, arg)) abort();
}
static void end(void) {
    for (unsigned i = 0; i < threads; i++) pthread_join(thread[i], NULL);
}
static void sleep_on(void) {
    for (;;) sleep(1000);
}

/* --- circles ------------------------------------------------------------------------------------------------ */

static unsigned circle;
static void *locks_two(void *arg) {
    uintptr_t i = (uintptr_t)arg;
    pthread_mutex_lock(&lock[i]);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&lock[(i + 1) % circle]);
    return NULL;
}
static void circle_of(unsigned n) {
    circle = n;
    pthread_barrier_init(&both, NULL, n);
    for (uintptr_t i = 0; i < n; i++) begin(locks_two, (void *)i);
    end();
}
static void circle2(void) { circle_of(2); }
static void circle3(void) { circle_of(3); }

/* The first thread took its mutex when it was the only thread, and waits on a stack that is not weft's. */
static void *wants_first(void *unused) {
    pthread_mutex_lock(&lock[1]);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&lock[0]);
    return unused;
}
static void with_main(void) {
    pthread_barrier_init(&both, NULL, 2);
    pthread_mutex_lock(&lock[0]);
    begin(wants_first, NULL);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&lock[1]);
}

static void *holds_and_joins(void *unused) {
    pthread_rwlock_wrlock(&rw);
    pthread_barrier_wait(&both);
    pthread_join(thread[1], NULL);
    return unused;
}
static void *writes(void *unused) {
    pthread_barrier_wait(&both);
    pthread_rwlock_wrlock(&rw);
    return unused;
}
static void join_circle(void) {
    pthread_barrier_init(&both, NULL, 3);
    begin(holds_and_joins, NULL);
    begin(writes, NULL);
    pthread_barrier_wait(&both);
    sleep_on();
}

/* --- held --------------------------------------------------------------------------------------------------- */

static void *holds_mutex(void *unused) {
    pthread_mutex_lock(&lock[0]);
    pthread_barrier_wait(&both);
    sleep_on();
    return unused;
}
static void *wants_mutex(void *unused) {
    pthread_mutex_lock(&lock[0]);
    return unused;
}
static void sleeper(void) {
    pthread_barrier_init(&both, NULL, 2);
    begin(holds_mutex, NULL);
    pthread_barrier_wait(&both);
    begin(wants_mutex, NULL);
    begin(wants_mutex, NULL);
    end();
}

static void *holds_written(void *unused) {
    pthread_rwlock_wrlock(&rw);
    pthread_barrier_wait(&both);
    sleep_on();
    return unused;
}
static void *wants_to_read(void *unused) {
    pthread_rwlock_rdlock(&rw);
    return unused;
}
static void writer(void) {
    pthread_barrier_init(&both, NULL, 2);
    begin(holds_written, NULL);
    pthread_barrier_wait(&both);
    begin(wants_to_read, NULL);
    end();
}

static void *upgrades(void *unused) {
    pthread_rwlock_rdlock(&rw);
    pthread_rwlock_wrlock(&rw);
    return unused;
}
static void upgrade(void) {
    begin(upgrades, NULL);
    end();
}

/* Threads that begin later get the storage of the thread that has ended. They hold nothing. */
static void *forgets(void *unused) {
    pthread_mutex_lock(&lock[0]);
    return unused;
}
static void *sleeps(void *unused) {
    sleep_on();
    return unused;
}
static void forgotten(void) {
    begin(forgets, NULL);
    end();
    threads = 0;
    begin(sleeps, NULL);
    begin(sleeps, NULL);
    begin(wants_mutex, NULL);
    end();
}

/* A thread that the C library has made for a timer is a kernel thread. */
static void by_kernel_thread(union sigval unused) {
    (void)unused;
    pthread_mutex_lock(&lock[0]);
    pthread_barrier_wait(&both);
    sleep_on();
}
static void kernel_thread(void) {
    struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = by_kernel_thread};
    struct itimerspec at = {.it_value = {0, 1}};
    timer_t timer;
    pthread_barrier_init(&both, NULL, 2);
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, 0, &at, NULL)) abort();
    pthread_barrier_wait(&both);
    begin(wants_mutex, NULL);
    end();
}

/* --- nothing holds it --------------------------------------------------------------------------------------- */

static void *waits_for_signal(void *unused) {
    pthread_mutex_lock(&lock[0]);
    for (;;) pthread_cond_wait(&never_signalled, &lock[0]);
    return unused;
}
static void *waits_for_post(void *unused) {
    for (;;) sem_wait(&never_posted);
    return unused;
}
static void *arrives(void *unused) {
    pthread_barrier_wait(&one_short);
    return unused;
}
static void others(void) {
    pthread_barrier_init(&one_short, NULL, 2);
    sem_init(&never_posted, 0, 0);
    begin(waits_for_signal, NULL);
    begin(waits_for_post, NULL);
    begin(arrives, NULL);
    end();
}

static void *waits_for_any_signal(void *unused) {
    for (;;) pause();
    return unused;
}
static void signals(void) {
    sigset_t set;
    int got;
    begin(waits_for_any_signal, NULL);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    for (;;) sigwait(&set, &got);
}

static const struct {
    const char *name;
    void (*hang)(void);
} hangs[] = {{"circle2", circle2},     {"circle3", circle3},
             {"with_main", with_main}, {"join_circle", join_circle},
             {"sleeper", sleeper},     {"writer", writer},
             {"upgrade", upgrade},     {"forgotten", forgotten},
             {"others", others},       {"kernel_thread", kernel_thread},
             {"signals", signals}};

int main(int argc, char **argv) {
    for (size_t i = 0; i < sizeof hangs / sizeof *hangs; i++)
        if (argc < 2)
            puts(hangs[i].name);
        else if (!strcmp(argv[1], hangs[i].name))
            hangs[i].hang();
    return argc > 1;
}
