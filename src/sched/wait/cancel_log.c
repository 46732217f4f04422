/* SPDX-License-Identifier: MIT */
/*
 * The log of cancellations: how many there were for each reason, and the latest with the names of their fibers.
 * Cancelling is rare, so one lock is enough.
 */
#include "sched/wait/cancel_log.h"
#include "sched/core/self.h"

#include <stdio.h>
#include <string.h>

#define KEPT 64

static struct weft__lock lock;
static struct weft_cancellation latest[KEPT];
static uint64_t noted;                 /* number of all cancellations; the last is at (noted - 1) % KEPT */
static _Atomic uint64_t by_threads[4]; /* cancellations by threads, for each cause; workers count their own */

/* If weft_cancel comes late, the fiber may have ended, and another fiber may use its record. Then the name is that of
 * the new fiber. */
static WEFT_MAY_RACE void describe_cause(struct weft__fiber *f, struct weft_cancellation *to) {
    bool is_fiber = load_rlx(&f->context.kind) == WEFT_KIND_FIBER;
    to->fiber = is_fiber ? weft__handle(f) : (struct weft_fiber){0};
    to->where = f->where;
    memcpy(to->name, f->name, sizeof to->name);
}

void weft__cancel_log_add(struct weft__fiber *f, int why) {
    struct weft_cancellation c = {.at = weft__clock(), .why = why};
    struct weft__worker *w = weft__self();
    describe_cause(f, &c);
    if (w)
        count_add(&(&w->numbers.by_request)[why - WEFT_BY_REQUEST], 1);
    else
        add_rlx(&by_threads[why], 1);
    weft__lock(&lock);
    latest[noted++ % KEPT] = c;
    weft__unlock(&lock);
}

/* Empties the log when a runtime starts, and in a forked child. */
void weft__cancel_log_reset(void) {
    weft__lock(&lock);
    noted = 0;
    for (unsigned i = 0; i < sizeof by_threads / sizeof *by_threads; i++) store_rlx(&by_threads[i], 0);
    weft__unlock(&lock);
}

/* The thread that held the lock does not exist in the child. What it was writing is dropped with the rest. */
void weft__cancel_log_after_fork(void) {
    weft__unlock(&lock);
    weft__cancel_log_reset();
}

void weft__cancel_log_add_threads(struct weft_stats *stats) {
    stats->by_request += load_rlx(&by_threads[WEFT_BY_REQUEST]);
    stats->by_failure += load_rlx(&by_threads[WEFT_BY_FAILURE]);
    stats->by_deadline += load_rlx(&by_threads[WEFT_BY_DEADLINE]);
}

WEFT_PUBLIC int weft_cancellations(struct weft_cancellation *list, unsigned n) {
    if (!list && n) return -EINVAL;
    weft__lock(&lock);
    unsigned count = noted < KEPT ? (unsigned)noted : KEPT;
    if (count > n) count = n;
    for (unsigned i = 0; i < count; i++) list[i] = latest[(noted - 1 - i) % KEPT];
    weft__unlock(&lock);
    return (int)count;
}

void weft__cancel_log_print(void) {
    enum { SHOWN = 8 };
    static const char *const reasons[] = {"", "by request", "by a failure", "by a deadline"};
    struct weft_cancellation list[SHOWN];
    struct weft__text text;
    int n = weft_cancellations(list, SHOWN);
    for (const struct weft_cancellation *c = list; c < list + n; c++)
        fprintf(stderr, "weft: cancelled %s: %s\n", reasons[c->why],
                weft__describe_as(c->fiber, c->name, c->where, &text));
}
