/* SPDX-License-Identifier: MIT */
/*
 * How a range is cut into pieces and run, for loops and reductions. See loop.c.
 */
#ifndef WEFT_PAR_LOOP_H
#define WEFT_PAR_LOOP_H

#include "par/par.h"

struct weft__loop {
    const char *name; /* public function that the user has called */
    /* One of the two: `body` for a loop, `fold` for a reduction. */
    int (*body)(size_t begin, size_t end, void *arg);
    int (*fold)(size_t begin, size_t end, void *value, void *arg);
    void *arg;
    void (*combine)(void *left, const void *right, void *arg);
    const void *identity;
    size_t size;       /* of a value; 0: no values */
    size_t begin, end; /* the whole range */
    size_t grain, unit;
    size_t element; /* bytes of an element; 0: unknown */
    size_t most;    /* most elements of a morsel */
    uint64_t budget;
    unsigned partition, spread, workers;
    bool lazily;     /* cut on demand only */
    bool forks_rest; /* while a body of a lazy loop or a probe runs, the rest is forked */
    unsigned parts;  /* static and directed loops: number of equal parts */
    struct weft_affinity *affinity;
    _Atomic int result;
};

/* Copies the options, with defaults. -EINVAL: an option is out of range. */
int weft__loop_set_options(struct weft__loop *loop, const struct weft_for_options *options);

/* Where a range may be cut for elements of this size: multiples of the result start at a cache line. */
size_t weft__loop_unit(size_t element);

/* Runs a part, cut into pieces by the partitioner. */
void weft__loop_run_part(struct weft__loop *loop, size_t part, void *value);

/* Runs the loop with its parts mailed to workers. False: not possible. (loop_spread.c) */
bool weft__loop_run_spread(struct weft__loop *loop, void *value);

/* Runs the loop over its range, into the value. In a fiber. Returns loop->result. */
int weft__loop_run(struct weft__loop *loop, void *value);

#endif
