/* SPDX-License-Identifier: MIT */
/* Create with attributes, join in all forms, detach, exit, cancel, clean-up handlers, once. */
#define _GNU_SOURCE
#include "check.h"

#include <limits.h>
#include <semaphore.h>
#include <stdint.h>
#include <sys/mman.h>
#include <threads.h>
#include <time.h>

static sem_t go, never;
static int cleaned, ran;

static void *returns(void *arg) { return arg; }
static void *waits(void *arg) {
    while (sem_wait(&go)) continue;
    return arg;
}
static void *exits(void *arg) {
    pthread_exit(arg);
    return NULL;
}

static void joins(void) {
    void *result;
    struct timespec past = {1, 0};
    pthread_t t = start(waits, &go);
    CHECK(pthread_tryjoin_np(t, &result) == EBUSY);
    CHECK(pthread_timedjoin_np(t, &result, &past) == ETIMEDOUT);
    CHECK(pthread_clockjoin_np(t, &result, CLOCK_MONOTONIC, &past) == ETIMEDOUT);
    sem_post(&go);
    CHECK(finish(t) == &go);
    CHECK(finish(start(exits, &never)) == &never);
    CHECK(pthread_join(pthread_self(), NULL) == EDEADLK);
}

enum { STACK = 256 << 10 }; /* aarch64 demands 128 KiB */
static void *on_stack(void *arg) {
    char here;
    CHECK(&here >= (char *)arg && &here < (char *)arg + STACK);
    pthread_attr_t attr;
    void *low;
    size_t size;
    CHECK(!pthread_getattr_np(pthread_self(), &attr) && !pthread_attr_getstack(&attr, &low, &size));
    CHECK(low == arg && size == STACK);
    return arg;
}
static void *uses_much(void *arg) {
    volatile char much[3 << 20];
    much[0] = much[sizeof much - 1] = 1;
    return (void *)&much != arg ? arg : NULL;
}
static void *has_attributes(void *arg) {
    pthread_attr_t attr;
    int detached;
    CHECK(!pthread_getattr_np(pthread_self(), &attr) && !pthread_attr_getdetachstate(&attr, &detached));
    CHECK(detached == PTHREAD_CREATE_DETACHED);
    sem_post(arg);
    return NULL;
}
static void attributes(void) {
    pthread_attr_t attr;
    pthread_t t;
    sem_t done;
    void *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(!pthread_attr_init(&attr) && !pthread_attr_setstack(&attr, stack, STACK));
    CHECK(!pthread_create(&t, &attr, on_stack, stack));
    CHECK(finish(t) == stack);
    CHECK(!pthread_attr_init(&attr) && !pthread_attr_setstacksize(&attr, 4 << 20));
    CHECK(!pthread_create(&t, &attr, uses_much, stack));
    CHECK(finish(t) == stack);
    CHECK(!pthread_attr_init(&attr) && !pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED));
    sem_init(&done, 0, 0);
    CHECK(!pthread_create(&t, &attr, has_attributes, &done));
    while (sem_wait(&done)) continue;
    /* Whether it has ended or not. */
    CHECK(!pthread_attr_setstacksize(&attr, STACK));
    for (int i = 0; i < 200; i++) {
        CHECK(!pthread_create(&t, &attr, returns, NULL));
        if (i % 2) sched_yield();
        CHECK(pthread_join(t, NULL) == EINVAL && pthread_detach(t) == EINVAL);
    }
    t = start(waits, NULL);
    CHECK(!pthread_detach(t) && pthread_detach(t) == EINVAL && pthread_join(t, NULL) == EINVAL);
    sem_post(&go);
    char name[16];
    CHECK(!pthread_setname_np(pthread_self(), "someone") && !pthread_getname_np(pthread_self(), name, sizeof name));
    CHECK(!strcmp(name, "someone"));
}

static void clean(void *by) { cleaned += *(int *)by; }
static void *is_cancelled(void *arg) {
    int one = 1, ten = 10;
    pthread_cleanup_push(clean, &one);
    pthread_cleanup_push(clean, &ten);
    sem_post(arg);
    while (sem_wait(&never)) continue;
    pthread_cleanup_pop(0);
    pthread_cleanup_pop(0);
    return arg;
}
static void *is_cancelled_later(void *arg) {
    int before;
    CHECK(!pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before) && before == PTHREAD_CANCEL_ENABLE);
    sem_post(arg);
    while (sem_wait(&go)) continue;
    pthread_testcancel();
    CHECK(!pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &before) && before == PTHREAD_CANCEL_DISABLE);
    pthread_testcancel();
    return NULL;
}
static void *computes(void *arg) {
    CHECK(!pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL));
    sem_post(arg);
    for (volatile int i = 0;; i++) continue;
    return NULL;
}
static void cancellation(void) {
    sem_t there;
    sem_init(&there, 0, 0);
    void *(*all[])(void *) = {is_cancelled, is_cancelled_later, computes};
    for (int i = 0; i < 3; i++) {
        pthread_t t = start(all[i], &there);
        while (sem_wait(&there)) continue;
        CHECK(!pthread_cancel(t));
        if (i == 1) sem_post(&go);
        CHECK(finish(t) == PTHREAD_CANCELED);
    }
    CHECK(cleaned == 11);
}

static void run_once(void) {
    usleep(1000);
    ran++;
}
static pthread_once_t once = PTHREAD_ONCE_INIT;
static void *asks_once(void *arg) {
    CHECK(!pthread_once(&once, run_once) && ran == 1);
    return arg;
}

static int adds(void *n) { return *(int *)n + 1; }
static void c11(void) {
    thrd_t t;
    int n = 4, result;
    CHECK(thrd_create(&t, adds, &n) == thrd_success && thrd_join(t, &result) == thrd_success && result == 5);
}

int main(void) {
    pthread_t t[20];
    sem_init(&go, 0, 0);
    sem_init(&never, 0, 0);
    CHECK(finish(start(returns, &go)) == &go);
    joins();
    attributes();
    cancellation();
    for (int i = 0; i < 20; i++) t[i] = start(asks_once, NULL);
    for (int i = 0; i < 20; i++) finish(t[i]);
    c11();
    puts("ok");
    fflush(stdout);
    start(returns, NULL);
    pthread_exit(NULL); /* the process ends when the last thread has */
}
