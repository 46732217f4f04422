/* SPDX-License-Identifier: MIT */
/*
 * Repeats one operation of weft on one worker. bench/instructions.sh runs it under callgrind, and counts the
 * instructions of an operation. It subtracts the count of a run with fewer operations, so that work that is done once
 * does not count.
 *
 *   ops NAME COUNT
 */
#include "weft.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned long count;

static void must(int rc) {
    if (rc < 0) {
        fprintf(stderr, "ops: %s\n", strerror(-rc));
        exit(1);
    }
}

/* --- two fibers that take turns --------------------------------------------------------------------------- */

static struct weft_fiber pair[2];
static struct weft_sem sems[2];

static void *yields(void *arg) {
    for (unsigned long i = 0; i < count; i++) weft_yield();
    return arg;
}

/* Each fiber unparks the other and parks. Two permits would count as one, so it begins with a park. */
static void *parks(void *arg) {
    size_t me = (size_t)arg;
    if (me) must(weft_park());
    for (unsigned long i = 0; i < count; i++) {
        weft_unpark(pair[!me]); /* it may have ended */
        if (me == 0 || i + 1 < count) must(weft_park());
    }
    return NULL;
}

static void *plays(void *arg) {
    size_t me = (size_t)arg;
    for (unsigned long i = 0; i < count; i++) {
        if (me) must(weft_sem_wait(&sems[1]));
        must(weft_sem_post(&sems[!me]));
        if (!me) must(weft_sem_wait(&sems[0]));
    }
    return NULL;
}

static void two(void *(*fn)(void *)) {
    for (size_t i = 0; i < 2; i++) {
        must(weft_sem_init(&sems[i], 0));
        must(weft_spawn(&pair[i], NULL, fn, (void *)i));
    }
    for (size_t i = 0; i < 2; i++) must(weft_join(pair[i], NULL));
}

static void yield(void) { two(yields); }
static void park(void) { two(parks); }
static void pingpong(void) { two(plays); }

/* --- fibers and calls that come and go --------------------------------------------------------------------- */

static void *nothing(void *arg) { return arg; }

static void create(void) {
    enum { BATCH = 100 };
    struct weft_fiber fibers[BATCH];
    for (unsigned long i = 0; i < count; i += BATCH) {
        for (unsigned k = 0; k < BATCH; k++) must(weft_spawn(&fibers[k], NULL, nothing, NULL));
        for (unsigned k = 0; k < BATCH; k++) must(weft_join(fibers[k], NULL));
    }
}

static void do_nothing(void *arg) { (void)arg; }

static void generic(void) {
    for (unsigned long i = 0; i < count; i++) {
        struct weft_task task;
        must(weft_fork(&task, do_nothing, NULL));
        must(weft_task_join(&task));
    }
}

WEFT_TASK_1(long, same, long, n) { return n; }

WEFT_TASK_1(long, forks, unsigned long, n) {
    long sum = 0;
    for (unsigned long i = 0; i < n; i++) {
        WEFT_SPAWN(same, 1);
        sum += WEFT_SYNC(same);
    }
    return sum;
}

static void typed(void) {
    if (WEFT_RUN(forks, count) != (long)count) exit(1);
}

/* All forks before the first sync. */
WEFT_TASK_1(long, forks_all, unsigned long, n) {
    long sum = 0;
    for (unsigned long i = 0; i < n; i++) WEFT_SPAWN(same, 1);
    for (unsigned long i = 0; i < n; i++) sum += WEFT_SYNC(same);
    return sum;
}

static void flat(void) {
    if (WEFT_RUN(forks_all, count) != (long)count) exit(1);
}

/* ------------------------------------------------------------------------------------------------------------ */

static const struct op {
    const char *name;
    void (*run)(void);
} ops[] = {{"yield", yield},     {"park", park},   {"create", create}, {"pingpong", pingpong},
           {"generic", generic}, {"typed", typed}, {"flat", flat}};

static void *run(void *op) {
    ((const struct op *)op)->run();
    return NULL;
}

int main(int argc, char **argv) {
    struct weft_config config = WEFT_CONFIG_INIT;
    config.workers = 1;
    if (argc == 3) count = strtoul(argv[2], NULL, 0);
    for (size_t i = 0; count && i < sizeof ops / sizeof ops[0]; i++)
        if (!strcmp(ops[i].name, argv[1])) {
            struct weft_fiber fiber;
            must(weft_start(&config));
            must(weft_spawn(&fiber, NULL, run, (void *)(uintptr_t)&ops[i]));
            must(weft_join(fiber, NULL));
            must(weft_stop());
            return 0;
        }
    fprintf(stderr, "usage: ops NAME COUNT\n");
    return 2;
}
