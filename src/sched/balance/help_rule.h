/* SPDX-License-Identifier: MIT */
/*
 * Helping: when a worker that has work of its own takes fibers from another queue, because they wait longer there.
 * Decisions only, over plain numbers, so that a simulation can drive them, too. All times are nanoseconds.
 */
#ifndef WEFT_SCHED_HELP_H
#define WEFT_SCHED_HELP_H

#include <stdbool.h>
#include <stdint.h>

/* What a worker knows of a queue. */
struct weft__view {
    uint64_t waited;  /* the oldest fiber has waited at least this long; 0: not known */
    uint64_t average; /* how long fibers usually wait there, measured or estimated */
    uint64_t length;
};

/* Delays that differ by less are alike: a cache miss or an interrupt is not worth a migration. */
#define WEFT_HELP_SLACK 20000

/* The moving average after one more sample, which counts an eighth. A sample that is far too large is limited:
 * otherwise a worker that stood still for a while would find every other queue young for a long time, and would not
 * help there. */
static inline uint64_t weft__help_average(uint64_t average, uint64_t sample) {
    uint64_t most = 2 * average + WEFT_HELP_SLACK;
    return average - average / 8 + (sample < most ? sample : most) / 8;
}

/* On average each worker looks at another queue once in this time (ns), so each queue is looked at once in this time.
 */
#define WEFT_HELP_INTERVAL 8000
#define WEFT_HELP_LOOKS 8 /* at most at a time: a look may miss the cache */

/* How many other queues a worker looks at. elapsed: the time since its last look. */
static inline unsigned weft__help_looks(uint64_t elapsed, unsigned others) {
    uint64_t looks = 1 + elapsed / WEFT_HELP_INTERVAL;
    if (looks > WEFT_HELP_LOOKS) looks = WEFT_HELP_LOOKS;
    return looks < others ? (unsigned)looks : others;
}

/* If dispatches are fast: the least time between two looks. While the queues are even it grows to the second value. */
#define WEFT_HELP_PAUSE 4000
#define WEFT_HELP_PAUSE_MOST (4 * WEFT_HELP_PAUSE)

/* The time from this look to the next. before: the time from the last look to this one. */
static inline uint64_t weft__help_pause(uint64_t before, bool is_even) {
    uint64_t pause = is_even ? 2 * before : WEFT_HELP_PAUSE;
    if (pause < WEFT_HELP_PAUSE) return WEFT_HELP_PAUSE;
    return pause < WEFT_HELP_PAUSE_MOST ? pause : WEFT_HELP_PAUSE_MOST;
}

/* How many fibers to take from the other queue; 0: leave it alone. */
uint64_t weft__help(const struct weft__view *mine, const struct weft__view *theirs);

#endif
