/* SPDX-License-Identifier: MIT */
/*
 * Victims: the other workers in the order in which a worker looks at them, to help or to steal. This file only decides,
 * and deals with plain numbers, so that a simulation can call it, too. Each worker has a list of its own, which no
 * other worker uses. The worker sorts it again when workers have moved to other CPUs.
 */
#ifndef WEFT_SCHED_VICTIMS_H
#define WEFT_SCHED_VICTIMS_H

#include "topo/topology.h"

/* One of so many looks goes to the next worker in turn, at whatever distance it is. */
#define WEFT_SWEEP 8

struct weft__victims {
    unsigned self;
    unsigned count;               /* number of other workers */
    unsigned room;                /* capacity of `order` */
    uint16_t *order;              /* the other workers, the nearest first */
    unsigned end[WEFT_DISTANCES]; /* workers at distance d are order[end[d - 1]] up to order[end[d] - 1] */
    bool fixed;                   /* a round begins with the first worker, not with a random worker */
};

/* Sorts the workers by distance. *v is all zeros before the first call, and can be sorted again, with another number of
 * workers. -ENOMEM: *v is unchanged. */
int weft__victims_arrange(struct weft__victims *v, const struct weft__topology *t, const uint16_t *cpu_of_worker,
                          unsigned workers, unsigned self);
/* For experiments: treats all workers as equally far. A round begins with a random worker or, if `fixed`, with the next
 * worker by index. */
int weft__victims_level(struct weft__victims *v, unsigned workers, unsigned self, bool fixed);
void weft__victims_free(struct weft__victims *v);

/*
 * To help: chooses one worker; the caller itself if there is no other. `looks` counts the calls: 0, 1, 2 and so on.
 *
 * Seven of eight looks are random. Three quarters of these go to workers that share the cache, three
 * sixteenths to other workers of the same node, the rest to workers further away. If there is no worker
 * at a distance, the look goes to the next distance. Every eighth look goes to the next worker in a fixed
 * round. So each of n others is certainly looked at within 8n looks. If there are workers at all three
 * distances, each of the m furthest is looked at with a probability of 7/(128 m) + 1/(8n) at each look. With 256
 * workers, half of them on the other socket: 2040 looks at most, and once in 1100 on average. But all 256 look, so a
 * given worker is looked at about once while each worker makes one look.
 */
unsigned weft__victims_one(const struct weft__victims *v, uint64_t looks, uint64_t *random);

/* To steal: visits every worker once, the nearest first. Among workers of the same distance it begins with a random
 * worker. */
struct weft__victims_round {
    uint32_t random;
    unsigned next, distance;
};
void weft__victims_begin(const struct weft__victims *v, uint64_t *random, struct weft__victims_round *r);
bool weft__victims_next(const struct weft__victims *v, struct weft__victims_round *r, unsigned *worker);

#endif
