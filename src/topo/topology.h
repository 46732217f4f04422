/* SPDX-License-Identifier: MIT */
/*
 * Which CPUs are near each other: which core, last-level cache and memory node each belongs to, so
 * that fibers move to a near worker rather than a far one. Read once, never changed: it says nothing
 * of which CPUs may be used, nor of which worker is where.
 *
 * CPUs have the kernel's numbers; cores, caches and nodes are numbered densely, in the order of the
 * machine, so that neighbours have neighbouring numbers.
 *
 * machine.c reads the topology of the machine, described.c makes a topology from a line of text.
 */
#ifndef WEFT_TOPO_TOPOLOGY_H
#define WEFT_TOPO_TOPOLOGY_H

#include "base/base.h"

struct weft__cpu_location {
    uint16_t core, cache, node;
};

struct weft__topology {
    unsigned cpus; /* the highest number of a CPU, and one */
    unsigned cores, caches, nodes;
    struct weft__cpu_location location[]; /* of each CPU */
};
#define WEFT_TOPOLOGY_CPUS 65536 /* more are not read */

/* The topology of this machine, or of the machine that WEFT_TOPOLOGY describes, for tests. Never NULL: if the machine
 * cannot be read, every CPU is a core of its own, and all share a cache. */
const struct weft__topology *weft__topology(void);

/*
 * Reads the machine from the files that its kernel has in this directory: WEFT_SYSFS, but for tests. The last-level
 * cache of a CPU is its highest one of data. If that has a level below three and belongs to one core alone, other cores
 * do not find a fiber's data there: then all cores of the package count as sharing a cache. NULL: it cannot be read, or
 * there is no memory. Freed with weft__free.
 */
#define WEFT_SYSFS "/sys/devices/system"
struct weft__topology *weft__topology_machine(const char *sysfs);

/*
 * A machine from levels, outermost first, with how many of each there are in one of the level before:
 * "package:2 numa:1 l3:8 core:8 pu:1". The last is "pu", a CPU; its numbers may be given: "pu:2(indexes=0,2,1,3)". The
 * words are those of hwloc. The same rule holds for the cache. NULL: it makes no sense, or there is no memory.
 * Freed with weft__free.
 */
struct weft__topology *weft__topology_described(const char *description);

/* Gives a location to each CPU that is not known: that of the CPU before it. */
void weft__topology_fill(struct weft__topology *t, const bool *known);

/* A CPU that was added after the topology was read gets the location of a CPU that was there. */
static inline const struct weft__cpu_location *weft__topology_locate(const struct weft__topology *t, unsigned cpu) {
    return &t->location[likely(cpu < t->cpus) ? cpu : cpu % t->cpus];
}

/* What two CPUs share at the least. */
enum { WEFT_NEAR_CORE, WEFT_NEAR_CACHE, WEFT_NEAR_NODE, WEFT_FAR, WEFT_DISTANCES };
unsigned weft__topology_distance(const struct weft__topology *t, unsigned a, unsigned b);

#endif
