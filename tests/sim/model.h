/* SPDX-License-Identifier: MIT */
/*
 * A simulated machine with many workers: virtual time, one thread, the same result every time. The
 * library's own sched/balance/help_rule.c and sched/place/victims.c make the decisions.
 *
 * Workers have a queue each, first in, first out. A fiber runs for a while, then yields, or sleeps
 * and becomes ready again in the queue of the worker that it ran on. Now and then a fiber computes for
 * long: the worker is stuck, and the fibers in its queue are stranded until another worker
 * takes them. Between events nothing happens: a look at a queue takes time, but sees the queue at one moment.
 */
#ifndef WEFT_TESTS_SIM_MODEL_H
#define WEFT_TESTS_SIM_MODEL_H

#include "topo/topology.h"

struct machine {
    unsigned sockets, caches, cores; /* caches of a socket, cores of a cache; a worker for each core */
};

/* Times are in nanoseconds. Each is a mean, and the actual times are spread evenly around it. */
struct load {
    const char *name;
    unsigned fibers; /* for each worker */
    uint64_t run;
    uint64_t sleep;       /* after each run; 0: yields */
    uint64_t stuck_every; /* a worker; 0: never */
    uint64_t stuck_for;
    unsigned gone; /* this many workers get stuck once and for ever, and no others */
};

struct rule {
    const char *name;
    bool helps; /* otherwise only workers without work take from others */
    bool near;  /* as victims.c decides; otherwise a worker looks at all others equally often */
};

struct cost {
    uint64_t dispatch, look[WEFT_DISTANCES], move[WEFT_DISTANCES]; /* to move: for each fiber, when it runs */
};
extern const struct cost cost;

struct outcome {
    uint64_t *wait; /* of each stranded fiber that ran, from ready to running; sorted */
    size_t waits;
    size_t never; /* still in the queue of a stuck worker */
    uint64_t steals[WEFT_DISTANCES], helps[WEFT_DISTANCES];
    double work; /* which part of the workers' time fibers ran */
};

/* Towards the end no worker gets stuck, so that all stranded fibers can be counted. */
void simulate(const struct machine *m, const struct load *l, const struct rule *r, uint64_t duration, uint64_t seed,
              struct outcome *out);

#endif
