/*
 * Where the workers are, and who is near whom.
 *
 * Workers belong to no CPU, unless the program wants that; the kernel may move their carriers. Each
 * looks now and then where it is, and says so if that has changed: a map that is read often and
 * written seldom. Who finds that the map has changed arranges its victims anew, by distance.
 */
#define _GNU_SOURCE
#include "base/random.h"
#include "sched/dispatch.h"

#include <sched.h>
#include <unistd.h>

#define WEFT_WHERE_EVERY (1 * WEFT_MILLISECOND)

/* What it makes, it makes there. The carrier's own. */
static void use_node(struct weft__worker *w) {
    unsigned node = weft__place(weft__topology(), load_rlx(&w->cpu))->node;
    weft__stack_on_node(w->stacks, node);
    w->records.node = weft__mem_node(node);
}

static void look(struct weft__worker *w) {
    int cpu = sched_getcpu();
    if (cpu < 0 || cpu == load_rlx(&w->cpu)) return;
    store_rlx(&w->cpu, (uint16_t)cpu);
    use_node(w);
    add_ar(&w->cluster->map, 1); /* pairs with victims_of */
}

void weft__where(struct weft__worker *w, uint64_t now) {
    if (now < w->next_where || load_rlx(&w->cluster->count) < 2) return;
    w->next_where = now + WEFT_WHERE_EVERY;
    if (unlikely(w->bound_among != load_rlx(&w->cluster->configured))) weft__bind(w);
    look(w);
}

const struct weft__victims *weft__victims_of(struct weft__worker *w) {
    struct weft__cluster *c = w->cluster;
    uint32_t map = load_acq(&c->map); /* pairs with where, and with a worker that is added */
    if (likely(map == w->arranged && w->victims.count)) return &w->victims;
    unsigned count = load_acq(&c->count);
    uint16_t *cpus = weft__alloc(count * sizeof *cpus);
    for (unsigned i = 0; cpus && i < count; i++) cpus[i] = load_rlx(&c->workers[i]->cpu);
    if (cpus && !weft__victims_arrange(&w->victims, weft__topology(), cpus, count, w->index)) w->arranged = map;
    weft__free(cpus);
    return &w->victims;
}

/* None that runs only in another's stead: it may go at any time, and gives away what it has. */
struct weft__worker *weft__worker_on(struct weft__cluster *c, unsigned node, uint64_t *random) {
    unsigned asked = load_rlx(&c->configured), count = load_acq(&c->count), n = asked < count ? asked : count;
    for (unsigned i = 0, first = n ? weft__random_below(random, n) : 0; i < n; i++) {
        struct weft__worker *w = c->workers[(first + i) % n];
        if (weft__place(weft__topology(), load_rlx(&w->cpu))->node == node) return w;
    }
    return NULL;
}

/* The CPUs that the process may use, of one node or (-1) of all. */
static unsigned usable(int node, cpu_set_t *set) {
    if (sched_getaffinity(getpid(), sizeof *set, set)) CPU_ZERO(set);
    for (unsigned cpu = 0; node >= 0 && cpu < CPU_SETSIZE; cpu++)
        if (weft__place(weft__topology(), cpu)->node != node) CPU_CLR(cpu, set);
    return (unsigned)CPU_COUNT(set);
}

unsigned weft__node_cpus(int node) {
    cpu_set_t set;
    return usable(node, &set);
}

/* Keeps only the nth. */
static void keep_one(cpu_set_t *set, unsigned n) {
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, set) && n-- != 0) CPU_CLR(cpu, set);
}

/* The CPUs on which the worker stays; false: anywhere. Spares are not bound to one: they run while its
 * worker is stuck, perhaps computing. */
static bool confined(struct weft__worker *w, cpu_set_t *set) {
    struct weft__cluster *c = w->cluster;
    if (!c->bound && load_rlx(&c->node) < 0) return false;
    unsigned cpus = usable(load_rlx(&c->node), set);
    if (cpus && c->bound && w->index < load_rlx(&c->configured)) keep_one(set, w->index % cpus);
    return cpus > 0;
}

void weft__expect(struct weft__worker *w) {
    cpu_set_t set;
    if (!confined(w, &set)) return;
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &set)) {
            store_rlx(&w->cpu, (uint16_t)cpu);
            return;
        }
}

/* Also when the number of regular workers has changed: a spare may have become one of them, or the other way
 * round. A call that fails leaves the carrier where the kernel puts it. */
void weft__bind(struct weft__worker *w) {
    cpu_set_t set;
    w->bound_among = load_rlx(&w->cluster->configured);
    if (confined(w, &set)) sched_setaffinity(0, sizeof set, &set);
    use_node(w); /* where it is expected, or the worker's last carrier was */
    look(w);
}
