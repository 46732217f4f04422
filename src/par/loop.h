/*
 * The one way in which a range is cut into pieces and run: loops and reductions. See loop.c.
 */
#ifndef WEFT_PAR_LOOP_H
#define WEFT_PAR_LOOP_H

#include "par/par.h"

struct weft__loop {
    const char *name; /* of what the user has called */
    /* One of these two: of a loop, of a reduction. */
    int (*body)(size_t begin, size_t end, void *arg);
    int (*fold)(size_t begin, size_t end, void *value, void *arg);
    void *arg;
    void (*combine)(void *left, const void *right, void *arg);
    const void *identity;
    size_t size;       /* of a value; 0: there are none */
    size_t begin, end; /* the whole range */
    size_t grain, unit;
    size_t element; /* bytes; 0: not known */
    size_t most;    /* elements of a morsel */
    uint64_t budget;
    unsigned partition, spread, workers;
    bool lazily;     /* cut on demand only */
    bool forks_rest; /* what a lazy loop has not begun is forked while a body runs */
    unsigned parts;  /* static and directed loops: how many equal ones */
    struct weft_affinity *affinity;
    _Atomic int result;
};

/* Takes the options over, with their defaults. -EINVAL: one is out of range. */
int weft__loop_options(struct weft__loop *loop, const struct weft_for_options *options);

/* Where a range may be cut for elements of this size: multiples of so many begin a cache line. */
size_t weft__loop_unit(size_t element);

/* Runs one of its parts, cut into pieces as the partitioner says. */
void weft__loop_part(struct weft__loop *loop, size_t part, void *value);

/* Runs the loop with its parts sent to workers; false: that is not possible. (spread.c) */
bool weft__loop_spread(struct weft__loop *loop, void *value);

/* Runs the loop over its range, into the value; in a fiber. Returns loop->result. */
int weft__loop_run(struct weft__loop *loop, void *value);

#endif
