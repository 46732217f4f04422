/* SPDX-License-Identifier: MIT */
/* Masks by thread, pthread_kill, sigwait, sigsuspend, signals of the process, interrupted calls. */
#define _GNU_SOURCE
#include "check.h"

#include <semaphore.h>
#include <signal.h>
#include <sys/types.h>
#include <time.h>

static sem_t there, done;
static volatile int handled;
static pthread_t by;

static void handle(int signal) {
    (void)signal;
    by = pthread_self();
    handled++;
}
static void wait_for(sem_t *s) {
    while (sem_wait(s)) continue;
}
static sigset_t set_of(int signal) {
    sigset_t s;
    sigemptyset(&s);
    sigaddset(&s, signal);
    return s;
}

static void *computes(void *stop) {
    sem_post(&there);
    while (!handled) __atomic_thread_fence(__ATOMIC_SEQ_CST);
    CHECK(pthread_equal(by, pthread_self()));
    return stop;
}
static void *sleeps(void *arg) {
    struct timespec long_time = {100, 0}, left;
    sem_post(&there);
    CHECK(nanosleep(&long_time, &left) == -1 && errno == EINTR && left.tv_sec > 0);
    CHECK(pthread_equal(by, pthread_self()));
    return arg;
}
static void *reads(void *fds) {
    char c;
    sem_post(&there);
    CHECK(read(*(int *)fds, &c, 1) == -1 && errno == EINTR);
    return fds;
}
static void to_threads(void) {
    int fds[2];
    void *(*all[])(void *) = {computes, sleeps, reads};
    CHECK(!pipe(fds));
    for (int i = 0; i < 3; i++) {
        handled = 0;
        pthread_t t = start(all[i], fds);
        wait_for(&there);
        do { /* perhaps it does not sleep yet: then the handler runs first, and another signal is needed */
            CHECK(!pthread_kill(t, SIGUSR1));
            usleep(5000);
        } while (pthread_tryjoin_np(t, NULL));
        CHECK(handled >= 1);
    }
}

static void *waits(void *arg) {
    sigset_t set = set_of(SIGUSR2);
    int signal;
    sem_post(&there);
    CHECK(!sigwait(&set, &signal) && signal == SIGUSR2);
    sem_post(&done);
    return arg;
}
static void *suspends(void *arg) {
    sigset_t none;
    sigemptyset(&none);
    sem_post(&there);
    CHECK(sigsuspend(&none) == -1 && errno == EINTR);
    return arg;
}
static void waiting(void) {
    sigset_t set = set_of(SIGUSR2), pending;
    struct timespec soon = {0, 1000000};
    CHECK(!pthread_sigmask(SIG_BLOCK, &set, NULL)); /* threads inherit it */
    CHECK(sigtimedwait(&set, NULL, &soon) == -1 && errno == EAGAIN);
    pthread_t t = start(waits, NULL);
    wait_for(&there);
    CHECK(!pthread_kill(t, SIGUSR2));
    wait_for(&done);
    finish(t);
    t = start(waits, NULL);
    wait_for(&there);
    CHECK(!kill(getpid(), SIGUSR2)); /* for the thread that waits for it */
    finish(t);
    wait_for(&done);
    CHECK(!raise(SIGUSR2) && !sigpending(&pending) && sigismember(&pending, SIGUSR2));
    handled = 0;
    CHECK(!pthread_sigmask(SIG_UNBLOCK, &set, NULL) && handled == 1);
    CHECK(!pthread_sigmask(SIG_BLOCK, &set, NULL));
    handled = 0;
    t = start(suspends, NULL);
    wait_for(&there);
    CHECK(!pthread_kill(t, SIGUSR2)); /* the signal is blocked until the thread suspends, so it cannot be lost */
    finish(t);
    CHECK(handled == 1);
}

int main(void) {
    struct sigaction a = {.sa_handler = handle};
    CHECK(!sigaction(SIGUSR1, &a, NULL) && !sigaction(SIGUSR2, &a, NULL) && !sigaction(SIGALRM, &a, NULL));
    sem_init(&there, 0, 0);
    sem_init(&done, 0, 0);
    to_threads();
    waiting();
    handled = 0;
    ualarm(2000, 0); /* from the kernel, to the process */
    while (!handled) usleep(1000);
    return passed();
}
