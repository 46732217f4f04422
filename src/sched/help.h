/*
 * Helping: when a worker that has work of its own takes some of another's, because that one's waits
 * longer. Decisions only, over plain numbers, so that a simulation can drive them, too.
 *
 * All times are nanoseconds. What a worker knows of a queue:
 */
#ifndef WEFT_SCHED_HELP_H
#define WEFT_SCHED_HELP_H

#include <stdint.h>

struct weft__view {
    uint64_t waited;  /* its oldest fiber has waited that long already, at least; 0: not known */
    uint64_t average; /* how long fibers usually wait there, by measurement or by estimate */
    uint64_t length;
};

/* Delays that differ by less are alike: a cache miss or an interrupt is not worth a migration. */
#define WEFT_HELP_SLACK 20000

/* The moving average after one more sample: seven eighths of what it was. A sample that is out of all
 * proportion counts little: a queue whose owner stood still for a while would find everybody else's
 * young for long after, and leave others waiting just as long. */
static inline uint64_t weft__help_average(uint64_t average, uint64_t sample) {
    uint64_t most = 2 * average + WEFT_HELP_SLACK;
    return average - average / 8 + (sample < most ? sample : most) / 8;
}

/* How many fibers to take from the other queue; 0: leave it alone. */
uint64_t weft__help(const struct weft__view *mine, const struct weft__view *theirs);

#endif
