/* SPDX-License-Identifier: MIT */
/*
 * Which CPUs are near each other: the core, last-level cache and memory node of each CPU. The scheduler uses it to move
 * fibers to near workers. The topology is read once and never changes. It does not say which CPUs the process may use,
 * nor on which CPU a worker runs.
 *
 * CPUs have the kernel's numbers. Cores, caches and nodes have dense numbers, and neighbours have consecutive numbers.
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
    unsigned cpus; /* the highest number of a CPU, plus one */
    unsigned cores, caches, nodes;
    struct weft__cpu_location location[]; /* of each CPU */
};
#define WEFT_TOPOLOGY_CPUS 65536 /* CPUs with higher numbers are ignored */

/* The topology of this machine, or of the machine that WEFT_TOPOLOGY describes, for tests. Never NULL: if the machine
 * cannot be read, every CPU is a core of its own, and all share a cache. */
const struct weft__topology *weft__topology(void);

/*
 * Reads the machine from the kernel's files in this directory, which is WEFT_SYSFS except in tests. The last-level
 * cache of a CPU is the data cache with the highest level. If that level is below three and the cache belongs to one
 * core alone, other cores do not find a fiber's data there. Then all cores of the package count as sharing a cache.
 * NULL: the files cannot be read, or there is no memory. The caller frees the result with weft__free.
 */
#define WEFT_SYSFS "/sys/devices/system"
struct weft__topology *weft__topology_machine(const char *sysfs);

/*
 * Makes a topology from a line such as "package:2 numa:1 l3:8 core:8 pu:1": levels from the outermost to the innermost.
 * The number says how many objects of this level are in an object of the level before. The last level is "pu", a CPU.
 * The line may give the CPUs' numbers: "pu:2(indexes=0,2,1,3)". hwloc uses the same words. The rule above for the
 * last-level cache holds here, too. NULL: the line is wrong, or there is no memory. The caller frees the result with
 * weft__free.
 */
struct weft__topology *weft__topology_described(const char *description);

/* Gives a location to each CPU that is not known: that of the CPU before it. */
void weft__topology_fill(struct weft__topology *t, const bool *known);

/* A CPU that was added after the topology was read gets the location of a CPU that was there. */
static inline const struct weft__cpu_location *weft__topology_locate(const struct weft__topology *t, unsigned cpu) {
    return &t->location[likely(cpu < t->cpus) ? cpu : cpu % t->cpus];
}

/* The nearest thing that two CPUs share: a core, a cache, a memory node, or none of them. */
enum { WEFT_NEAR_CORE, WEFT_NEAR_CACHE, WEFT_NEAR_NODE, WEFT_FAR, WEFT_DISTANCES };
unsigned weft__topology_distance(const struct weft__topology *t, unsigned a, unsigned b);

#endif
