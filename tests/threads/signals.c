/* SPDX-License-Identifier: MIT */
/*
 * Masks by thread, pthread_kill, sigwait, sigsuspend, signals of the process, interrupted calls, handlers on alternate
 * stacks and handlers that end with a jump, SIGPIPE.
 */
#define _GNU_SOURCE
#include "check.h"

#include <fcntl.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/socket.h>
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

/* --- alternate stacks -------------------------------------------------------------------------------------- */

enum { STACK = 64 << 10 };
static char *alternate;
static volatile bool was_there, was_told;
static __thread int own = 7;

static void look_at_stack(int signal) {
    char here;
    stack_t is;
    was_there = &here >= alternate && &here < alternate + STACK;
    was_told = !sigaltstack(NULL, &is) && is.ss_flags == SS_ONSTACK && sigaltstack(&is, NULL) == -1 && errno == EPERM;
    own++;
    usleep(100); /* a thread may park in a handler */
    CHECK(signal == SIGUSR1 && own == 8);
}
static void *has_stack(void *arg) {
    stack_t set = {.ss_sp = alternate, .ss_size = STACK}, is;
    struct sigaction a = {.sa_handler = look_at_stack, .sa_flags = SA_ONSTACK}, before;
    CHECK(!sigaltstack(&set, NULL) && !sigaction(SIGUSR1, &a, &before));
    CHECK(!pthread_kill(pthread_self(), SIGUSR1) && was_there && was_told && own == 8);
    CHECK(!sigaltstack(NULL, &is) && is.ss_sp == alternate && is.ss_flags == 0);
    a.sa_flags = 0;
    own = 7;
    CHECK(!sigaction(SIGUSR1, &a, NULL) && !pthread_kill(pthread_self(), SIGUSR1) && !was_there);
    CHECK(!sigaction(SIGUSR1, &before, NULL));
    return arg;
}

/* --- jumps out of handlers ---------------------------------------------------------------------------------- */

static sigjmp_buf back;
static void jump(int signal) {
    handled++;
    siglongjmp(back, signal);
}
/* How the thread waits for the signal. The jump must leave nothing of the wait behind, and restore the mask. */
static void *jumps(void *how) {
    struct timespec long_time = {100, 0};
    static int fds[2];
    sem_t never;
    CHECK(!pipe(fds));
    sem_init(&never, 0, 0);
    for (volatile int i = 0; i < 3; i++) {
        char c;
        if (sigsetjmp(back, 1)) continue;
        sem_post(&there);
        if (!strcmp(how, "computes"))
            for (;;) __atomic_thread_fence(__ATOMIC_SEQ_CST);
        if (!strcmp(how, "sleeps")) nanosleep(&long_time, NULL);
        if (!strcmp(how, "reads")) (void)!read(fds[0], &c, 1);
        if (!strcmp(how, "waits")) sem_wait(&never);
        CHECK(!"it came back without a jump");
    }
    sigset_t mask;
    CHECK(!pthread_sigmask(SIG_BLOCK, NULL, &mask) && !sigismember(&mask, SIGUSR1));
    CHECK(!close(fds[0]) && !close(fds[1]));
    return NULL;
}
static void jumping(void) {
    struct sigaction a = {.sa_handler = jump}, before;
    char *how[] = {"computes", "sleeps", "reads", "waits"};
    CHECK(!sigaction(SIGUSR1, &a, &before));
    for (int i = 0; i < 4; i++) {
        handled = 0;
        pthread_t t = start(jumps, how[i]);
        for (int n = 1; n <= 3; n++) {
            wait_for(&there);
            CHECK(!pthread_kill(t, SIGUSR1));
            while (handled < n) usleep(100);
        }
        finish(t);
    }
    CHECK(!sigaction(SIGUSR1, &before, NULL));
}

/* --- writing to what nothing reads ---------------------------------------------------------------------------- */

/* kind: 0, 1 a pipe, 2, 3 a socket; the odd descriptors do not block. */
static int broken(int kind) {
    int fds[2];
    CHECK(kind < 2 ? !pipe(fds) : !socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
    CHECK(!close(fds[0]) && (!(kind & 1) || !fcntl(fds[1], F_SETFL, O_NONBLOCK)));
    return fds[1];
}
static void *breaks(void *arg) {
    sigset_t set = set_of(SIGPIPE), pending;
    struct timespec none = {0, 0};
    struct sigaction a = {.sa_handler = handle};
    CHECK(!sigaction(SIGPIPE, &a, NULL));
    for (int kind = 0; kind < 4; kind++) {
        int fd = broken(kind);
        handled = 0;
        CHECK(!pthread_sigmask(SIG_BLOCK, &set, NULL) && write(fd, "x", 1) == -1 && errno == EPIPE && !handled);
        CHECK(!sigpending(&pending) && sigismember(&pending, SIGPIPE));
        CHECK(sigtimedwait(&set, NULL, &none) == SIGPIPE);
        CHECK(!pthread_sigmask(SIG_UNBLOCK, &set, NULL) && !handled);
        CHECK(write(fd, "x", 1) == -1 && errno == EPIPE && handled == 1 && pthread_equal(by, pthread_self()));
        if (kind >= 2) CHECK(send(fd, "x", 1, MSG_NOSIGNAL) == -1 && errno == EPIPE && handled == 1);
        CHECK(!close(fd));
    }
    return arg;
}

int main(void) {
    struct sigaction a = {.sa_handler = handle};
    CHECK(!sigaction(SIGUSR1, &a, NULL) && !sigaction(SIGUSR2, &a, NULL) && !sigaction(SIGALRM, &a, NULL));
    sem_init(&there, 0, 0);
    sem_init(&done, 0, 0);
    to_threads();
    waiting();
    CHECK((alternate = malloc(STACK)) != NULL);
    finish(start(has_stack, NULL));
    jumping();
    finish(start(breaks, NULL));
    handled = 0;
    ualarm(2000, 0); /* from the kernel, to the process */
    while (!handled) usleep(1000);
    return passed();
}
