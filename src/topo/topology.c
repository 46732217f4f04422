/* SPDX-License-Identifier: MIT */
/* See topology.h. */
#include "topo/topology.h"

#include "base/message.h"
#include "base/sys.h"

#include <stdlib.h>

#define WEFT_FLAT_CPUS 1024

unsigned weft__topology_distance(const struct weft__topology *t, unsigned a, unsigned b) {
    const struct weft__cpu_location *p = weft__topology_locate(t, a), *q = weft__topology_locate(t, b);
    if (p->core == q->core) return WEFT_NEAR_CORE;
    if (p->cache == q->cache) return WEFT_NEAR_CACHE; /* which may span memory nodes */
    return p->node == q->node ? WEFT_NEAR_NODE : WEFT_FAR;
}

static struct weft__topology flat = {
    .cpus = WEFT_FLAT_CPUS,
    .cores = WEFT_FLAT_CPUS,
    .caches = 1,
    .nodes = 1,
    .location = {[WEFT_FLAT_CPUS - 1] = {0}},
};
static const struct weft__topology *ours;

static void be_flat(void) {
    for (unsigned i = 0; i < WEFT_FLAT_CPUS; i++) flat.location[i].core = (uint16_t)i;
    ours = &flat;
}

/* A fork during this needs no care: no lock is held, and pthread_once begins anew in the child. */
static void load_ours(void) {
    const char *description = getenv("WEFT_TOPOLOGY");
    if (description && *description) {
        ours = weft__topology_described(description);
        if (!ours) weft__say("WEFT_TOPOLOGY=%s is ignored: it cannot be read", description);
    }
    if (!ours) ours = weft__topology_machine(WEFT_SYSFS);
    if (!ours) be_flat();
}

const struct weft__topology *weft__topology(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load_ours);
    return ours;
}

/* The location of an offline CPU is unknown. It gets the location of the CPU before it, because the kernel mostly gives
 * neighbours consecutive numbers. */
void weft__topology_fill(struct weft__topology *t, const bool *known) {
    for (unsigned i = 1; i < t->cpus; i++)
        if (!known[i]) t->location[i] = t->location[i - 1];
}
