/* SPDX-License-Identifier: MIT */
/*
 * Victims: the workers that a worker looks at, to help or to steal. Decisions only, over plain numbers, so that
 * a simulation can drive them, too. Of one worker, and used by it alone; arranged anew when workers
 * have moved to other CPUs.
 */
#ifndef WEFT_SCHED_VICTIMS_H
#define WEFT_SCHED_VICTIMS_H

#include "topo/topology.h"

/* Every so many looks, one goes to the next in turn, be it near or far. */
#define WEFT_SWEEP 8

struct weft__victims {
    unsigned self;
    unsigned count;               /* the others */
    unsigned room;                /* in order */
    uint16_t *order;              /* the nearest first */
    unsigned end[WEFT_DISTANCES]; /* those at distance d are order[end[d - 1]] up to order[end[d] - 1] */
    bool fixed;                   /* a round begins with the first, not with a random one */
};

/* All zeros to begin with; may be arranged again, with other numbers. -ENOMEM: it is as it was. */
int weft__victims_arrange(struct weft__victims *v, const struct weft__topology *t, const uint16_t *cpu_of_worker,
                          unsigned workers, unsigned self);
/* For experiments: all are equally far. A round begins with a random one, or, if `fixed`, with the next by index. */
int weft__victims_level(struct weft__victims *v, unsigned workers, unsigned self, bool fixed);
void weft__victims_free(struct weft__victims *v);

/*
 * To help: one worker; itself if there is no other. `looks` counts the calls: 0, 1, 2 and so on.
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

/* To steal: every worker once, the nearest first; among workers of the same distance from a random one on. */
struct weft__victims_round {
    uint32_t random;
    unsigned next, distance;
};
void weft__victims_begin(const struct weft__victims *v, uint64_t *random, struct weft__victims_round *r);
bool weft__victims_next(const struct weft__victims *v, struct weft__victims_round *r, unsigned *worker);

#endif
