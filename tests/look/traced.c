/* SPDX-License-Identifier: MIT */
/*
 * A program to record: two fibers that ask and answer, two that want a mutex while it is held, and a channel. It runs
 * for a number of rounds, or without end: traced [ROUNDS [abort]]. traced ROUNDS yield: a fiber that only yields.
 */
#include "weft.h"
#include "weft/chan.h"
#include "weft/trace.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct weft_sem there = WEFT_SEM_INIT(0), back = WEFT_SEM_INIT(0);
static struct weft_mutex guard = WEFT_MUTEX_INIT;
static long rounds;
static int aborts;

static int goes_on(long i) { return !rounds || i < rounds; }

static void *asks(void *arg) {
    for (long i = 0; goes_on(i); i++) {
        weft_span_begin("round");
        weft_sem_post(&there);
        weft_sem_wait(&back);
        weft_span_end();
        if (i % 32 == 0) weft_sleep_until(weft_now() + WEFT_MILLISECOND);
    }
    return arg;
}

static void *answers(void *arg) {
    for (long i = 0; goes_on(i); i++) {
        weft_sem_wait(&there);
        weft_sem_post(&back);
    }
    return arg;
}

static void *holds(void *arg) {
    for (long i = 0; goes_on(i * 64); i++) {
        weft_mutex_lock(&guard);
        weft_sleep_until(weft_now() + WEFT_MILLISECOND);
        weft_mutex_unlock(&guard);
        weft_count("held", i);
    }
    return arg;
}

static int yields_alone(void *unused) {
    (void)unused;
    for (long i = 0; i < rounds; i++) weft_yield();
    return 0;
}

static int traced_main(void *unused) {
    static void *(*const all[])(void *) = {asks, answers, holds, holds};
    static const struct weft_attr attr[] = {
        {.name = "asks"}, {.name = "answers"}, {.name = "holds"}, {.name = "holds"}};
    struct weft_fiber f[4];
    (void)unused;
    puts("ready");
    fflush(stdout);
    for (int i = 0; i < 4; i++)
        if (weft_spawn(&f[i], &attr[i], all[i], NULL)) return 1;
    for (int i = 0; i < 4; i++) weft_join(f[i], NULL);
    weft_instant("over");
    if (aborts) abort();
    return 0;
}

int main(int argc, char **argv) {
    rounds = argc > 1 ? atol(argv[1]) : 0;
    aborts = argc > 2 && !strcmp(argv[2], "abort");
    bool yields = argc > 2 && !strcmp(argv[2], "yield");
    return weft_run(yields ? yields_alone : traced_main, NULL, NULL) != 0;
}
