/*
 * Which CPUs are near each other: which core, last-level cache and memory node each belongs to, so
 * that fibers move to a near worker rather than a far one. Read once, never changed: it says nothing
 * of which CPUs may be used, nor of which worker is where.
 *
 * CPUs have the kernel's numbers; cores, caches and nodes are numbered densely, in the order of the
 * machine, so that neighbours have neighbouring numbers.
 */
#ifndef WEFT_TOPO_TOPOLOGY_H
#define WEFT_TOPO_TOPOLOGY_H

#include "base/base.h"

struct weft__place {
    uint16_t core, cache, node;
};

struct weft__topology {
    unsigned cpus; /* the highest number of a CPU, and one */
    unsigned cores, caches, nodes;
    struct weft__place place[]; /* of each CPU */
};

/* This machine's; or the one that WEFT_TOPOLOGY describes, for tests. Never NULL: of a machine that
 * cannot be read, all CPUs are cores of their own that share one cache. */
const struct weft__topology *weft__topology(void);

/* Around a fork, in parent and child: nobody reads the machine meanwhile. */
void weft__topology_before_fork(void);
void weft__topology_after_fork(void);

/* NULL: this machine. Else hwloc's description of one: "package:2 numa:1 l3:8 core:8 pu:1". Returns
 * NULL when it cannot be read or there is no memory; to be freed with weft__free. */
struct weft__topology *weft__topology_load(const char *description);

/* A CPU that came after the topology was read stands where one that was there then stands. */
static inline const struct weft__place *weft__place(const struct weft__topology *t, unsigned cpu) {
    return &t->place[likely(cpu < t->cpus) ? cpu : cpu % t->cpus];
}

/* What two CPUs share at the least. */
enum { WEFT_NEAR_CORE, WEFT_NEAR_CACHE, WEFT_NEAR_NODE, WEFT_FAR, WEFT_DISTANCES };
unsigned weft__distance(const struct weft__topology *t, unsigned a, unsigned b);

#endif
