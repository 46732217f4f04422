/* SPDX-License-Identifier: MIT */
/*
 * On which CPUs the workers run, and which of them are near each other.
 *
 * Carriers are not bound to CPUs unless the program asks for it, so the kernel may move them. Each worker checks now
 * and then on which CPU it runs. If that has changed it publishes its CPU and increments cluster->map. A worker that
 * finds cluster->map changed sorts its victims by distance again. So workers read the map often and write it seldom.
 */
#define _GNU_SOURCE
#include "sched/place/placement.h"
#include "base/random.h"
#include "sched/wake/load.h"

#include <errno.h>

#include <sched.h>
#include <unistd.h>

#define WEFT_WHERE_EVERY (1 * WEFT_MILLISECOND)

/* From now on stacks and records for this worker come from the memory of the node of its CPU. Only its carrier calls
 * this. */
static void use_node(struct weft__worker *w) {
    unsigned node = weft__topology_locate(weft__topology(), load_rlx(&w->cpu))->node;
    weft__stack_set_node(w->cache.stacks, node);
    w->cache.records.node = weft__mem_node(node);
}

static void cpu_look(struct weft__worker *w) {
    int cpu = sched_getcpu();
    if (cpu < 0 || cpu == load_rlx(&w->cpu)) return;
    store_rlx(&w->cpu, (uint16_t)cpu);
    use_node(w);
    add_ar(&w->cluster->map, 1); /* pairs with weft__victims_of */
}

/* Stores in `set` the CPUs on which the calling carrier may run and no other busy worker of the cluster does. Returns
 * whether a worker of a lower index runs on the same CPU as w. */
static bool shares_cpu(struct weft__worker *w, cpu_set_t *set) {
    struct weft__cluster *c = w->cluster;
    unsigned count = load_acq(&c->count); /* pairs with the making of a worker */
    bool shares = false;
    for (unsigned i = 0; i < count; i++) {
        struct weft__worker *other = c->workers[i];
        if (other == w || !weft__has_been_awake(other)) continue;
        CPU_CLR(load_rlx(&other->cpu), set);
        shares |= i < w->index && load_rlx(&other->cpu) == load_rlx(&w->cpu);
    }
    return shares;
}

/*
 * Beside busy processes the kernel may put two workers on one CPU, and leave them there: then one of them waits while
 * the other runs, and fibers that need both workers wait for slices of 4 ms. If so, the worker of the higher index
 * moves. It changes its affinity and changes it back at once, here at home, so no thread or process that a fiber
 * creates inherits the change. (transfer beside a busy process: 2,235 -> 64 us.) It stays if the work is input and
 * output: then the other CPU belongs to the clients. (weft serve, two workers, wrk on the same CPUs: 6.1 -> 9.6 us a
 * request.)
 */
static void move_apart(struct weft__worker *w, uint64_t now) {
    struct weft__cluster *c = w->cluster;
    cpu_set_t allowed, set;
    if (likely(!weft__is_crowded(c, now)) || c->binds || weft__is_crowd(c, 1) || weft__does_io(w)) return;
    if (sched_getaffinity(0, sizeof allowed, &allowed)) return;
    set = allowed;
    if (!shares_cpu(w, &set) || !CPU_COUNT(&set)) return;
    if (!sched_setaffinity(0, sizeof set, &set)) sched_setaffinity(0, sizeof allowed, &allowed);
    cpu_look(w);
}

void weft__location_update(struct weft__worker *w, uint64_t now) {
    if (now < w->location.next_check || load_rlx(&w->cluster->count) < 2) return;
    w->location.next_check = now + WEFT_WHERE_EVERY;
    if (unlikely(w->location.bound_among != load_rlx(&w->cluster->configured))) weft__carrier_bind(w);
    cpu_look(w);
    move_apart(w, now);
}

const struct weft__victims *weft__victims_of(struct weft__worker *w) {
    struct weft__cluster *c = w->cluster;
    uint32_t map = load_acq(&c->map); /* pairs with cpu_look, and with a worker that is added */
    if (likely(map == w->location.arranged && w->location.victims.count)) return &w->location.victims;
    unsigned count = load_acq(&c->count);
    uint16_t *cpus = weft__alloc(count * sizeof *cpus);
    for (unsigned i = 0; cpus && i < count; i++) cpus[i] = load_rlx(&c->workers[i]->cpu);
    unsigned order = c->policy.victims;
    int err = -ENOMEM;
    if (unlikely(order != WEFT_VICTIMS_NEAR))
        err = weft__victims_level(&w->location.victims, count, w->index, order == WEFT_VICTIMS_ROUND);
    else if (cpus)
        err = weft__victims_arrange(&w->location.victims, weft__topology(), cpus, count, w->index);
    if (!err) w->location.arranged = map;
    weft__free(cpus);
    return &w->location.victims;
}

/* Does not choose a spare: a spare may retire at any time, and then gives its fibers away. */
struct weft__worker *weft__worker_on(struct weft__cluster *c, unsigned node, uint64_t *random) {
    unsigned asked = load_rlx(&c->configured), ready = weft__cluster_ready(c), n = asked < ready ? asked : ready;
    for (unsigned i = 0, first = n ? weft__random_below(random, n) : 0; i < n; i++) {
        struct weft__worker *w = c->workers[(first + i) % n];
        if (weft__topology_locate(weft__topology(), load_rlx(&w->cpu))->node == node) return w;
    }
    return NULL;
}

/* Stores in `set` the CPUs that the process may use: those of a node, or of all nodes (-1). Returns how many. */
static unsigned cpus_usable(int node, cpu_set_t *set) {
    if (sched_getaffinity(getpid(), sizeof *set, set)) CPU_ZERO(set);
    for (unsigned cpu = 0; node >= 0 && cpu < CPU_SETSIZE; cpu++)
        if (weft__topology_locate(weft__topology(), cpu)->node != node) CPU_CLR(cpu, set);
    return (unsigned)CPU_COUNT(set);
}

unsigned weft__node_cpus(int node) {
    cpu_set_t set;
    return cpus_usable(node, &set);
}

/* Removes all CPUs but the nth. */
static void keep_one(cpu_set_t *set, unsigned n) {
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, set) && n-- != 0) CPU_CLR(cpu, set);
}

/* Stores in `set` the CPUs to which the carrier will be bound; false: it will not be bound. A spare is not bound to a
 * single CPU, because the worker that it replaces may be computing there. */
static bool confined(struct weft__worker *w, cpu_set_t *set) {
    struct weft__cluster *c = w->cluster;
    if (!c->binds && load_rlx(&c->node) < 0) return false;
    unsigned cpus = cpus_usable(load_rlx(&c->node), set);
    if (cpus && c->binds && w->index < load_rlx(&c->configured)) keep_one(set, w->index % cpus);
    return cpus > 0;
}

void weft__location_expect(struct weft__worker *w) {
    cpu_set_t set;
    if (!confined(w, &set)) return;
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &set)) {
            store_rlx(&w->cpu, (uint16_t)cpu);
            return;
        }
}

/* Called again when the number of regular workers has changed: a spare may have become a regular worker, or the other
 * way round. If the system call fails, the kernel decides where the carrier runs. */
void weft__carrier_bind(struct weft__worker *w) {
    cpu_set_t set;
    w->location.bound_among = load_rlx(&w->cluster->configured);
    if (confined(w, &set)) sched_setaffinity(0, sizeof set, &set);
    use_node(w); /* of the expected CPU, or of the worker's last carrier; cpu_look corrects it */
    cpu_look(w);
}
