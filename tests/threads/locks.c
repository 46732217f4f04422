/* SPDX-License-Identifier: MIT */
/* Mutexes of every type, conditions, reader-writer locks, barriers, spin locks, semaphores, and futexes by hand. */
#define _GNU_SOURCE
#include "check.h"

#include <linux/futex.h>
#include <sched.h>
#include <semaphore.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>

enum { THREADS = 8, ROUNDS = 500 };
static long count;

static struct timespec soon(clockid_t clock, long ns) {
    struct timespec t;
    clock_gettime(clock, &t);
    t.tv_nsec += ns;
    if (t.tv_nsec >= 1000000000) {
        t.tv_sec++;
        t.tv_nsec -= 1000000000;
    }
    return t;
}

/* --- each kind of lock around one counter ------------------------------------------------------------- */

static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER, checked = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP,
                       recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
                       adaptive = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static sem_t sem;
static uint32_t word;

static void futex(int operation, uint32_t value) {
    syscall(SYS_futex, &word, operation | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
}
static void lock_by_hand(void) {
    uint32_t is = 0;
    if (__atomic_compare_exchange_n(&word, &is, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) return;
    while (__atomic_exchange_n(&word, 2, __ATOMIC_ACQUIRE)) futex(FUTEX_WAIT, 2);
}
static void unlock_by_hand(void) {
    if (__atomic_exchange_n(&word, 0, __ATOMIC_RELEASE) == 2) futex(FUTEX_WAKE, 1);
}

static void lock(int kind) {
    struct timespec at = soon(CLOCK_REALTIME, 900000000);
    switch (kind) {
    case 0: CHECK(!pthread_mutex_lock(&plain)); break;
    case 1: CHECK(!pthread_mutex_lock(&checked) && pthread_mutex_lock(&checked) == EDEADLK); break;
    case 2: CHECK(!pthread_mutex_lock(&recursive) && !pthread_mutex_lock(&recursive)); break;
    case 3: CHECK(!pthread_mutex_lock(&adaptive)); break;
    case 4:
        while (pthread_mutex_timedlock(&plain, &at)) at = soon(CLOCK_REALTIME, 900000000);
        break;
    case 5: CHECK(!pthread_rwlock_wrlock(&rw)); break;
    case 6: CHECK(!pthread_spin_lock(&spin)); break;
    case 7:
        while (sem_wait(&sem)) continue;
        break;
    case 8: lock_by_hand(); break;
    default:
        while (pthread_mutex_trylock(&plain)) sched_yield();
    }
}
static void unlock(int kind) {
    switch (kind) {
    case 1: CHECK(!pthread_mutex_unlock(&checked)); break;
    case 2: CHECK(!pthread_mutex_unlock(&recursive) && !pthread_mutex_unlock(&recursive)); break;
    case 3: CHECK(!pthread_mutex_unlock(&adaptive)); break;
    case 5: CHECK(!pthread_rwlock_unlock(&rw)); break;
    case 6: CHECK(!pthread_spin_unlock(&spin)); break;
    case 7: CHECK(!sem_post(&sem)); break;
    case 8: unlock_by_hand(); break;
    default: CHECK(!pthread_mutex_unlock(&plain));
    }
}
static void *counts(void *kind) {
    for (int i = 0; i < ROUNDS; i++) {
        lock((int)(long)kind);
        long n = count;
        if (i % 50 == 0 && (long)kind != 6) sched_yield(); /* others would spin all the time */
        count = n + 1;
        unlock((int)(long)kind);
    }
    return NULL;
}
static void exclusion(void) {
    pthread_spin_init(&spin, 0);
    sem_init(&sem, 0, 1);
    for (long kind = 0; kind < 10; kind++) {
        pthread_t t[THREADS];
        count = 0;
        for (int i = 0; i < THREADS; i++) t[i] = start(counts, (void *)kind);
        for (int i = 0; i < THREADS; i++) finish(t[i]);
        CHECK(count == THREADS * ROUNDS);
    }
    CHECK(pthread_mutex_unlock(&checked) == EPERM && pthread_mutex_unlock(&recursive) == EPERM);
}

/* --- conditions ------------------------------------------------------------------------------------------ */

static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int turn;
static void *takes_turns(void *who) {
    for (int i = 0; i < ROUNDS; i++) {
        CHECK(!pthread_mutex_lock(&recursive));
        while (turn != (int)(long)who) CHECK(!pthread_cond_wait(&cond, &recursive));
        turn = !turn;
        CHECK(!pthread_cond_broadcast(&cond));
        CHECK(!pthread_mutex_unlock(&recursive));
    }
    return NULL;
}
static void conditions(void) {
    pthread_t a = start(takes_turns, (void *)0), b = start(takes_turns, (void *)1);
    finish(a);
    finish(b);
    pthread_condattr_t attr;
    pthread_cond_t by_monotonic;
    CHECK(!pthread_condattr_init(&attr) && !pthread_condattr_setclock(&attr, CLOCK_MONOTONIC));
    CHECK(!pthread_cond_init(&by_monotonic, &attr));
    CHECK(!pthread_mutex_lock(&plain));
    struct timespec real = soon(CLOCK_REALTIME, 2000000), monotonic = soon(CLOCK_MONOTONIC, 2000000), bad = {0, -1};
    CHECK(pthread_cond_timedwait(&cond, &plain, &real) == ETIMEDOUT);
    CHECK(pthread_cond_timedwait(&by_monotonic, &plain, &monotonic) == ETIMEDOUT);
    CHECK(pthread_cond_clockwait(&cond, &plain, CLOCK_MONOTONIC, &monotonic) == ETIMEDOUT);
    CHECK(pthread_cond_timedwait(&cond, &plain, &bad) == EINVAL);
    CHECK(!pthread_mutex_unlock(&plain));
    CHECK(!pthread_cond_destroy(&by_monotonic));
}

/* --- barriers and readers ------------------------------------------------------------------------------------ */

static pthread_barrier_t barrier;
static int serial, reading, most;
static void *meets(void *arg) {
    for (int i = 0; i < 50; i++) {
        int r = pthread_barrier_wait(&barrier);
        CHECK(r == 0 || r == PTHREAD_BARRIER_SERIAL_THREAD);
        if (r) __atomic_fetch_add(&serial, 1, __ATOMIC_RELAXED);
    }
    CHECK(!pthread_rwlock_rdlock(&rw));
    int n = __atomic_add_fetch(&reading, 1, __ATOMIC_SEQ_CST);
    if (n > __atomic_load_n(&most, __ATOMIC_SEQ_CST)) __atomic_store_n(&most, n, __ATOMIC_SEQ_CST);
    pthread_barrier_wait(&barrier); /* all read at the same time */
    CHECK(pthread_rwlock_trywrlock(&rw) == EBUSY);
    CHECK(!pthread_rwlock_unlock(&rw));
    return arg;
}
static void meetings(void) {
    pthread_t t[THREADS];
    CHECK(!pthread_barrier_init(&barrier, NULL, THREADS));
    for (int i = 0; i < THREADS; i++) t[i] = start(meets, NULL);
    for (int i = 0; i < THREADS; i++) finish(t[i]);
    CHECK(serial == 50 && most >= 2);
    CHECK(!pthread_barrier_destroy(&barrier));
}

/* --- semaphores --------------------------------------------------------------------------------------------------- */

static void *posts(void *s) {
    for (int i = 0; i < ROUNDS; i++) CHECK(!sem_post(s));
    return NULL;
}
static void semaphores(void) {
    sem_t s;
    int value;
    struct timespec at = soon(CLOCK_REALTIME, 1000000);
    CHECK(!sem_init(&s, 0, 0));
    CHECK(sem_trywait(&s) == -1 && errno == EAGAIN);
    CHECK(sem_timedwait(&s, &at) == -1 && errno == ETIMEDOUT);
    pthread_t t = start(posts, &s);
    for (int i = 0; i < ROUNDS; i++)
        while (sem_wait(&s)) continue;
    finish(t);
    CHECK(!sem_getvalue(&s, &value) && value == 0 && !sem_destroy(&s));
}

/* --- owners ------------------------------------------------------------------------------------------------------- */

static pthread_mutex_t left_checked = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP,
                       left_recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
                       early = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static void *leaves_locked(void *unused) {
    CHECK(!pthread_mutex_lock(&left_checked) && !pthread_mutex_lock(&left_recursive));
    return unused;
}
/* It may have the storage of a thread that has ended, but not its locks. */
static void *owns_nothing(void *unused) {
    CHECK(pthread_mutex_unlock(&left_checked) == EPERM && pthread_mutex_unlock(&left_recursive) == EPERM);
    CHECK(pthread_mutex_trylock(&left_checked) == EBUSY && pthread_mutex_trylock(&left_recursive) == EBUSY);
    return unused;
}
static void owners(void) {
    finish(start(leaves_locked, NULL));
    for (int i = 0; i < THREADS; i++) finish(start(owns_nothing, NULL));
}

int main(void) {
    CHECK(!pthread_mutex_lock(&early)); /* there are no threads yet */
    exclusion();
    conditions();
    meetings();
    semaphores();
    owners();
    CHECK(pthread_mutex_lock(&early) == EDEADLK && !pthread_mutex_unlock(&early));
    return passed();
}
