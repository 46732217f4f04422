/* SPDX-License-Identifier: MIT */
/* Locks of pthread, from fibers and from kernel threads at the same time, as libraries use them. */
#define _GNU_SOURCE
#include "check.h"

#include <pthread.h>
#include <semaphore.h>
#include <threads.h>

enum { FIBERS = 300, ROUNDS = 50 };

static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER, recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
                       checked = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t sem;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static long counted, called;

/* Holds locks across calls that park: the fiber continues on another worker, and is still the owner. */
static void *locks(void *arg) {
    for (int i = 0; i < ROUNDS; i++) {
        CHECK(!pthread_mutex_lock(&plain));
        long before = counted;
        if (i % 10 == 0) usleep(10);
        counted = before + 1;
        CHECK(!pthread_mutex_unlock(&plain));
        CHECK(!pthread_mutex_lock(&recursive));
        if (i % 10 == 1) usleep(10);
        CHECK(!pthread_mutex_lock(&recursive) && !pthread_mutex_unlock(&recursive) &&
              !pthread_mutex_unlock(&recursive));
        CHECK(!pthread_mutex_lock(&checked));
        if (i % 10 == 2) usleep(10);
        CHECK(pthread_mutex_lock(&checked) == EDEADLK && !pthread_mutex_unlock(&checked));
        CHECK(!(i % 5 ? pthread_rwlock_rdlock(&rwlock) : pthread_rwlock_wrlock(&rwlock)));
        if (i % 10 == 3) usleep(10);
        CHECK(!pthread_rwlock_unlock(&rwlock));
    }
    return arg;
}

static int turn;
static void *takes_turns(void *arg) {
    int mine = (int)(long)arg;
    CHECK(!pthread_mutex_lock(&plain));
    while (turn != mine) CHECK(!pthread_cond_wait(&cond, &plain));
    turn++;
    CHECK(!pthread_cond_broadcast(&cond) && !pthread_mutex_unlock(&plain));
    return NULL;
}

static void call_once_here(void) {
    usleep(1000);
    called++;
}
static void *meets(void *unused) {
    CHECK(!pthread_once(&once, call_once_here) && called == 1);
    int r = pthread_barrier_wait(&barrier);
    CHECK(r == 0 || r == PTHREAD_BARRIER_SERIAL_THREAD);
    CHECK(!sem_wait(&sem) && !sem_post(&sem));
    return unused;
}

/* The permit of a fiber belongs to the program: no lock takes it. */
static void *keeps_permit(void *unused) {
    CHECK(!weft_unpark(weft_self()));
    CHECK(!pthread_mutex_lock(&plain) && !pthread_mutex_unlock(&plain) && !sem_wait(&sem) && !sem_post(&sem));
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    CHECK(!pthread_mutex_lock(&plain));
    CHECK(pthread_cond_timedwait(&cond, &plain, &now) == ETIMEDOUT);
    CHECK(!pthread_mutex_unlock(&plain) && !weft_park());
    return unused;
}

/* A cancelled fiber still gets its locks. */
static void *is_cancelled(void *unused) {
    CHECK(!weft_cancel(weft_self()));
    CHECK(!pthread_mutex_lock(&plain) && !pthread_mutex_unlock(&plain));
    return unused;
}

static int all(void *unused) {
    pthread_t t[4];
    (void)unused;
    for (int i = 0; i < 4; i++) CHECK(!pthread_create(&t[i], NULL, locks, NULL));
    on_fibers(FIBERS, locks);
    for (int i = 0; i < 4; i++) CHECK(!pthread_join(t[i], NULL));
    CHECK(counted == (long)(FIBERS + 4) * ROUNDS);
    on_fibers(FIBERS, takes_turns);
    CHECK(!pthread_barrier_init(&barrier, NULL, FIBERS + 1) && !sem_init(&sem, 0, 0));
    CHECK(!pthread_create(&t[0], NULL, meets, NULL));
    struct weft_fiber f[FIBERS];
    for (long i = 0; i < FIBERS; i++) f[i] = start(meets, NULL);
    usleep(1000);
    CHECK(!sem_post(&sem));
    for (int i = 0; i < FIBERS; i++) finish(f[i]);
    CHECK(!pthread_join(t[0], NULL));
    CHECK(!pthread_mutex_lock(&plain));
    struct weft_fiber keeper = start(keeps_permit, NULL), cancelled = start(is_cancelled, NULL);
    usleep(1000);
    CHECK(!pthread_mutex_unlock(&plain));
    finish(keeper);
    finish(cancelled);
    return 0;
}
int main(void) { return run_all(all); }
