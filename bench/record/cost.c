/* SPDX-License-Identifier: MIT */
/*
 * What the flight recorder costs: cost [OPERATIONS] [ROUNDS] [FILE]
 *
 * Each operation runs on one worker with the recorder off and on, in turn, and the CPU time of its thread is taken. The
 * events are counted on the tapes, not assumed. With FILE, the events are also written there. Prints medians, ranges.
 * Linked with libweft.a, because the tapes are no public interface.
 */
#include "weft.h"
#include "weft/chan.h"
#include "weft/trace.h"

#include "sched/record/record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS_MOST = 101 };
static unsigned long count = 300000;
static unsigned rounds = 9;
static int to = -1;

static void must(int rc) {
    if (rc >= 0) return;
    fprintf(stderr, "cost: %s\n", strerror(-rc));
    exit(1);
}

/* --- operations ------------------------------------------------------------------------------------------ */

static struct weft_sem sems[2];
static struct weft_chan *chan;

static void *yields(void *arg) {
    for (unsigned long i = 0; i < count / 2; i++) weft_yield();
    return arg;
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
static void *sends(void *arg) {
    uint64_t item = 0;
    for (unsigned long i = 0; i < count; i++) must(arg ? weft_chan_send(chan, &item) : weft_chan_recv(chan, &item));
    return NULL;
}
static void *nothing(void *arg) { return arg; }

static void two(void *(*fn)(void *)) {
    struct weft_fiber pair[2];
    for (size_t i = 0; i < 2; i++) must(weft_sem_init(&sems[i], 0));
    for (size_t i = 0; i < 2; i++) must(weft_spawn(&pair[i], NULL, fn, (void *)i));
    for (size_t i = 0; i < 2; i++) must(weft_join(pair[i], NULL));
}
static void yield(void) { two(yields); }
static void pingpong(void) { two(plays); }
static void channel(void) {
    if (!(chan = weft_chan_make(sizeof(uint64_t), 0))) must(-ENOMEM);
    two(sends);
    must(weft_chan_free(chan));
}
static void create(void) {
    enum { BATCH = 100 };
    struct weft_fiber fibers[BATCH];
    for (unsigned long i = 0; i < count; i += BATCH) {
        for (unsigned k = 0; k < BATCH; k++) must(weft_spawn(&fibers[k], NULL, nothing, NULL));
        for (unsigned k = 0; k < BATCH; k++) must(weft_join(fibers[k], NULL));
    }
}

/* --- measuring ------------------------------------------------------------------------------------------- */

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); /* of the only worker: other programs do not count */
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double events_written(void) {
    uint64_t n = 0;
    for (unsigned i = 0; i < load_acq(&weft__recorder.tapes); i++) n += load_rlx(&weft__recorder.tape[i]->head);
    return (double)n;
}

static double nanoseconds(void (*fn)(void)) {
    double begin = now();
    fn();
    return (now() - begin) / (double)count;
}

static int less(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(const char *name, void (*fn)(void)) {
    double off[ROUNDS_MOST], on[ROUNDS_MOST], event[ROUNDS_MOST], events = 0;
    for (unsigned i = 0; i < rounds; i++) {
        off[i] = nanoseconds(fn);
        must(weft_trace_begin(to));
        must(weft_sleep_for(20 * WEFT_MILLISECOND)); /* rules for the stacks are found */
        if (!i) fn(), must(weft_sleep_for(20 * WEFT_MILLISECOND));
        double before = events_written();
        on[i] = nanoseconds(fn);
        events = (events_written() - before) / (double)count;
        must(weft_trace_end());
        event[i] = (on[i] - off[i]) / events;
    }
    qsort(off, rounds, sizeof *off, less);
    qsort(on, rounds, sizeof *on, less);
    qsort(event, rounds, sizeof *event, less);
    printf("| %s | %.1f | %.1f | %.2f | %.1f (%.1f to %.1f) |\n", name, off[rounds / 2], on[rounds / 2], events,
           event[rounds / 2], event[0], event[rounds - 1]);
    fflush(stdout);
}

static int call_main(void *unused) {
    (void)unused;
    printf("| operation | off, ns | on, ns | events | ns an event |\n|---|---|---|---|---|\n");
    measure("yield", yield);
    measure("semaphore, round trip", pingpong);
    measure("channel without a buffer, an item", channel);
    measure("spawn, run and join", create);
    return 0;
}

int main(int argc, char **argv) {
    struct weft_config config = {.workers = 1};
    if (argc > 1) count = strtoul(argv[1], NULL, 10) / 100 * 100;
    if (argc > 2) rounds = (unsigned)strtoul(argv[2], NULL, 10);
    if (argc > 3 && (to = open(argv[3], O_WRONLY | O_CREAT | O_TRUNC, 0666)) < 0) return perror(argv[3]), 1;
    if (!count || !rounds || rounds > ROUNDS_MOST)
        return fprintf(stderr, "usage: cost [OPERATIONS] [ROUNDS] [FILE]\n"), 2;
    return weft_run(call_main, NULL, &config) != 0;
}
