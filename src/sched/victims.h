/*
 * Victims: whom a worker looks at, to help or to steal. Decisions only, over plain numbers, so that
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
};

/* All zeros to begin with; may be arranged again, with other numbers. -ENOMEM: it is as it was. */
int weft__victims_arrange(struct weft__victims *v, const struct weft__topology *t, const uint16_t *cpu_of_worker,
                          unsigned workers, unsigned self);
void weft__victims_free(struct weft__victims *v);

/*
 * To help: one worker; itself if there is no other. `looks` counts the calls: 0, 1, 2 and so on.
 *
 * Of eight looks, seven are random: three quarters of them go to the nearest, those that share the
 * cache, three sixteenths to the rest of the node, the rest further away; where nobody is, to the
 * next that are. The eighth goes round all in turn. So of n others, each is looked at within 8n
 * looks, for certain; one of m that are furthest at each look with 7/(128 m) + 1/(8n), where there
 * are all three kinds. With 256 workers, half of them on the other socket: 2040 looks at most, and
 * once in 1100 on average. But all 256 look: somebody looks at a given one about once in every look
 * of each.
 */
unsigned weft__victims_one(const struct weft__victims *v, uint64_t looks, uint64_t *random);

/* To steal: everybody once, the nearest first, from a random one on within a distance. */
struct weft__victims_round {
    uint32_t random;
    unsigned next, distance;
};
void weft__victims_begin(const struct weft__victims *v, uint64_t *random, struct weft__victims_round *r);
bool weft__victims_next(const struct weft__victims *v, struct weft__victims_round *r, unsigned *worker);

#endif
