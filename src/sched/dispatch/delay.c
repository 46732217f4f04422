/* SPDX-License-Identifier: MIT */
/*
 * How long ready fibers wait: measured, published, and reported if it is too long.
 *
 * A clock read for each fiber would cost more than the switch. So one fiber of each queue at a time is
 * timed, at most one in WEFT_MARK_EVERY, at no cost to the others:
 *
 *   1. The worker sets the trap of its queue (queue/ready_queue.h). The next push then calls weft__age_mark,
 *      which notes the time and the position in the queue.
 *   2. weft__age_mark sets the worker's countdown so that the worker comes home just when that fiber is the
 *      next to run. Then weft__delay_tick computes how long the fiber has waited.
 *
 * `since`: when a timed fiber has come to the head, every fiber behind it became ready later. The worker
 * publishes the time at which the timed fiber became ready. Until the next timed fiber comes to the head, a
 * reader may think that the queue is older than it is, never younger. So the queue of a worker that does not
 * come home grows older.
 */
#include "sched/dispatch/delay.h"
#include "base/assert.h"
#include "base/message.h"
#include "base/probe.h"
#include "sched/balance/help_rule.h"
#include "sched/record/record.h"

#define WEFT_REPORT_EVERY (100 * WEFT_MILLISECOND)

/* Eight buckets an octave: a bucket spans an eighth of its value. */
static unsigned bucket_of(uint64_t ns) {
    if (ns < 8) return (unsigned)ns;
    unsigned octave = 63 - (unsigned)__builtin_clzll(ns);
    return octave * 8 + (unsigned)(ns >> (octave - 3) & 7);
}

static void delay_note(struct weft__worker *w, struct weft__fiber *f, uint64_t delay, uint64_t now) {
    uint64_t limit = load_rlx(&w->cluster->late_after);
    count_add(&w->delays.count[bucket_of(delay)], 1);
    if (delay > load_rlx(&w->delays.max)) store_rlx(&w->delays.max, delay);
    if (likely(!limit || delay <= limit)) return;
    count_add(&w->delays.late, 1);
    weft__report_late(w, f, NULL, delay, now);
}

/* Makes the worker come home after this many dispatches at the latest. */
static void come_home_after(struct weft__worker *w, uint64_t dispatches) {
    if (dispatches >= (uint64_t)w->pace.until_poll) return;
    w->pace.poll_from -= w->pace.until_poll - (int)dispatches - 1;
    w->pace.until_poll = (int)dispatches + 1;
}

WEFT_COLD void weft__age_mark(struct weft__worker *w) {
    WEFT_ASSERT(w->sampling.is_armed);
    w->sampling.is_armed = false;
    store_rlx(&w->age.mark, load_rlx(&w->ready.tail));
    store_rlx(&w->age.marked_at, weft__clock());
    come_home_after(w, weft__ready_length(&w->ready));
}

static void age_publish(struct weft__worker *w, uint64_t since) {
    store_rlx(&w->age.since, since);
    store_rlx(&w->age.length, weft__ready_length(&w->ready));
    store_rlx(&w->age.turn, w->pace.mean_turn / 16);
}

/* Has the timed fiber come to the head? Then the next fiber can be timed. */
void weft__delay_tick(struct weft__worker *w, uint64_t now) {
    uint64_t marked_at = load_rlx(&w->age.marked_at);
    if (marked_at) {
        int64_t ahead = (int64_t)(load_rlx(&w->age.mark) - load_rlx(&w->ready.head));
        if (ahead > 0) {
            come_home_after(w, (uint64_t)ahead);
            return;
        }
        if (ahead == 0) {                                 /* else another worker took the fiber, at an unknown time */
            uint64_t delay = weft__since(marked_at, now); /* it may have been marked after `now` was read */
            delay_note(w, weft__ready_peek(&w->ready), delay, now);
            store_rlx(&w->age.average, weft__help_average(load_rlx(&w->age.average), delay));
        }
        store_rlx(&w->age.marked_at, 0);
        age_publish(w, marked_at);
    } else if (!weft__ready_length(&w->ready))
        age_publish(w, now);
    if (w->sampling.is_armed || now < w->sampling.next) return;
    w->sampling.next = now + WEFT_MARK_EVERY;
    weft__age_begin(w);
}

void weft__age_begin(struct weft__worker *w) {
    w->sampling.is_armed = true;
    weft__ready_trap(&w->ready);
}

uint64_t weft__age_of(struct weft__worker *w, uint64_t now) {
    bool ahead = (int64_t)(load_rlx(&w->age.mark) - load_rlx(&w->ready.head)) >= 0;
    return ahead ? weft__since(load_rlx(&w->age.marked_at), now) : 0;
}

/* Prints at most one line in WEFT_REPORT_EVERY, and drops a line that would have to wait for the reader: reports must
 * not make delays worse. */
WEFT_COLD void weft__report_late(struct weft__worker *w, struct weft__fiber *late, struct weft__fiber *hog,
                                 uint64_t waited, uint64_t now) {
    struct weft__cluster *c = w->cluster;
    struct weft__text text, hog_text;
    weft__probe3(late, w->index, late, waited);
    if (late && weft__is_recording()) {
        weft__record_slow(WEFT_HAPPENED_LATE, load_rlx(&late->slot.life), waited, 0);
        add_rlx(&weft__recorder.late, 1);
    }
    uint64_t next = load_rlx(&c->next_report);
    if (!late || now < next || !cas_ar(&c->next_report, &next, now + WEFT_REPORT_EVERY)) return;
    weft__say_if_room("late: %s has waited for %z us (limit: %z us) on worker %z%s%s", weft__describe(late, &text),
                      (size_t)(waited / WEFT_MICROSECOND), (size_t)(load_rlx(&c->late_after) / WEFT_MICROSECOND),
                      (size_t)w->index, hog ? ", behind " : "", hog ? weft__describe(hog, &hog_text) : "");
}

/* --- lists other than the queue ------------------------------------------------------------------ */

/* A fiber that goes through a list pays for a lock. Reading the clock now and then costs little beside that. */
void weft__timed_put(struct weft__timed *t, struct weft__fiber *f) {
    if (t->fiber) return;
    t->fiber = f;
    store_rlx(&t->since, weft__clock());
}

uint64_t weft__timed_take(struct weft__timed *t, struct weft__fiber *f) {
    WEFT_ASSERT(f != NULL);
    if (likely(t->fiber != f)) return 0;
    uint64_t then = load_rlx(&t->since);
    weft__timed_none(t);
    return then;
}

void weft__timed_note(struct weft__worker *w, struct weft__fiber *f, uint64_t then) {
    uint64_t now = weft__clock();
    delay_note(w, f, weft__since(then, now), now);
}
