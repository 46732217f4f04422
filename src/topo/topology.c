/* See topology.h. Built without hwloc, every machine is flat. */
#include "topo/topology.h"

#include "base/say.h"
#include "base/sys.h"

#include <stdlib.h>

#define WEFT_FLAT_CPUS 1024

unsigned weft__distance(const struct weft__topology *t, unsigned a, unsigned b) {
    const struct weft__place *p = weft__place(t, a), *q = weft__place(t, b);
    if (p->core == q->core) return WEFT_NEAR_CORE;
    if (p->cache == q->cache) return WEFT_NEAR_CACHE; /* which may span memory nodes */
    return p->node == q->node ? WEFT_NEAR_NODE : WEFT_FAR;
}

static struct weft__topology flat = {
    .cpus = WEFT_FLAT_CPUS,
    .cores = WEFT_FLAT_CPUS,
    .caches = 1,
    .nodes = 1,
    .place = {[WEFT_FLAT_CPUS - 1] = {0}},
};
static const struct weft__topology *ours;

static void be_flat(void) {
    for (unsigned i = 0; i < WEFT_FLAT_CPUS; i++) flat.place[i].core = (uint16_t)i;
    ours = &flat;
}

static void load_ours(void) {
    const char *description = getenv("WEFT_TOPOLOGY");
    if (description && *description) {
        ours = weft__topology_load(description);
        if (!ours) weft__say("WEFT_TOPOLOGY=%s is ignored: it cannot be read", description);
    }
    if (!ours) ours = weft__topology_load(NULL);
    if (!ours) be_flat();
}

/* hwloc has locks of its own, which a child must not inherit from a thread that is just loading. */
static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;

static void *load_ours_unforked(void *unused) {
    pthread_mutex_lock(&loading);
    load_ours();
    pthread_mutex_unlock(&loading);
    return unused;
}

/* On a thread of its own: hwloc needs tens of kilobytes of stack, and a fiber that names a memory node may be the first
 * to ask. Without a thread every machine is flat. */
static void load_once(void) {
    pthread_t thread;
    if (weft__thread_create_deaf(&thread, load_ours_unforked, NULL))
        be_flat();
    else
        pthread_join(thread, NULL);
}

void weft__topology_before_fork(void) { pthread_mutex_lock(&loading); }
void weft__topology_after_fork(void) { pthread_mutex_unlock(&loading); }

const struct weft__topology *weft__topology(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load_once);
    return ours;
}

#ifndef WEFT_HAVE_HWLOC

struct weft__topology *weft__topology_load(const char *description) {
    (void)description;
    return NULL;
}

#else

#include <hwloc.h>

/* The last-level cache, or what stands for it. A second level that belongs to one core is no place
 * where a fiber's data could be found by another: then all cores of the package are alike. */
static hwloc_obj_t cache_of(hwloc_topology_t h, hwloc_obj_t pu, hwloc_obj_t core) {
    hwloc_obj_t last = NULL;
    for (hwloc_obj_t o = pu; o; o = o->parent)
        if (hwloc_obj_type_is_dcache(o->type)) last = o;
    if (last && (last->attr->cache.depth >= 3 || !hwloc_bitmap_isequal(last->cpuset, core->cpuset))) return last;
    hwloc_obj_t package = hwloc_get_ancestor_obj_by_type(h, HWLOC_OBJ_PACKAGE, pu);
    return package ? package : hwloc_get_root_obj(h);
}

/* Memory hangs beside the tree: the first of the nodes that are local to the CPU. */
static hwloc_obj_t node_of(hwloc_topology_t h, hwloc_obj_t pu) {
    int first = hwloc_bitmap_first(pu->nodeset);
    hwloc_obj_t node = first < 0 ? NULL : hwloc_get_numanode_obj_by_os_index(h, (unsigned)first);
    return node ? node : hwloc_get_root_obj(h);
}

/* Numbers for things, in the order in which they are first asked for. Neighbours ask one after the
 * other, so the search begins with the last. */
struct numbers {
    unsigned count;
    hwloc_obj_t *thing;
};

static uint16_t number_of(struct numbers *n, hwloc_obj_t thing) {
    for (unsigned i = n->count; i-- > 0;)
        if (n->thing[i] == thing) return (uint16_t)i;
    n->thing[n->count] = thing;
    return (uint16_t)n->count++;
}

/* A number that no CPU has now may be that of one that is off: it stands where the CPU before it does,
 * because numbers mostly follow the machine. */
static void fill_gaps(struct weft__topology *t, const bool *known) {
    for (unsigned i = 1; i < t->cpus; i++)
        if (!known[i]) t->place[i] = t->place[i - 1];
}

static struct weft__topology *read_all(hwloc_topology_t h) {
    int n = hwloc_get_nbobjs_by_type(h, HWLOC_OBJ_PU);
    int last = hwloc_bitmap_last(hwloc_topology_get_topology_cpuset(h));
    if (n <= 0 || last < 0 || last > UINT16_MAX) return NULL;
    unsigned count = (unsigned)n, cpus = (unsigned)last + 1;
    struct weft__topology *t = weft__alloc(sizeof *t + cpus * sizeof t->place[0]);
    hwloc_obj_t *things = weft__alloc(3 * count * sizeof *things);
    bool *known = weft__alloc(cpus);
    if (t && things && known) {
        struct numbers core = {0, things}, cache = {0, things + count}, node = {0, things + 2 * count};
        t->cpus = cpus;
        for (unsigned i = 0; i < count; i++) {
            hwloc_obj_t pu = hwloc_get_obj_by_type(h, HWLOC_OBJ_PU, i);
            hwloc_obj_t its_core = hwloc_get_ancestor_obj_by_type(h, HWLOC_OBJ_CORE, pu);
            if (!its_core) its_core = pu;
            known[pu->os_index] = true;
            t->place[pu->os_index] = (struct weft__place){
                .core = number_of(&core, its_core),
                .cache = number_of(&cache, cache_of(h, pu, its_core)),
                .node = number_of(&node, node_of(h, pu)),
            };
        }
        fill_gaps(t, known);
        t->cores = core.count;
        t->caches = cache.count;
        t->nodes = node.count;
    } else {
        weft__free(t);
        t = NULL;
    }
    weft__free(things);
    weft__free(known);
    return t;
}

/* Only what is asked for above (and groups, or some memory nodes have nothing to hang on), and only
 * what the kernel tells: hwloc would also bind this thread to each CPU in turn, to ask it, which is
 * slow and moves the thread about. Every CPU, also those that are not for us: masks change. */
static int prepare(hwloc_topology_t h, const char *description) {
    hwloc_topology_set_all_types_filter(h, HWLOC_TYPE_FILTER_KEEP_NONE);
    hwloc_topology_set_type_filter(h, HWLOC_OBJ_PACKAGE, HWLOC_TYPE_FILTER_KEEP_ALL);
    hwloc_topology_set_type_filter(h, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
    hwloc_topology_set_type_filter(h, HWLOC_OBJ_GROUP, HWLOC_TYPE_FILTER_KEEP_STRUCTURE);
    hwloc_topology_set_cache_types_filter(h, HWLOC_TYPE_FILTER_KEEP_ALL);
    if (description) return hwloc_topology_set_synthetic(h, description);
    hwloc_topology_set_components(h, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
    return hwloc_topology_set_flags(h, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
}

struct weft__topology *weft__topology_load(const char *description) {
    hwloc_topology_t h;
    struct weft__topology *t = NULL;
    if (hwloc_topology_init(&h)) return NULL;
    if (!prepare(h, description) && !hwloc_topology_load(h)) t = read_all(h);
    hwloc_topology_destroy(h);
    return t;
}

#endif
