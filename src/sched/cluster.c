/*
 * Clusters: sets of workers that share work with each other and with nobody else.
 *
 * A fiber belongs to one, by its place word. Whoever makes it ready compares that with its own, so a
 * fiber of another cluster goes there, through that cluster's injector. To move a fiber is therefore
 * to change the word: it goes over when it next becomes ready, and at once if it moves itself.
 *
 * Clusters are made once and kept for the next program part that wants one; a generation tells old
 * handles.
 */
#include "sched/cluster.h"

#include "sched/block.h"
#include "sched/config.h"
#include "sched/cpus.h"
#include "sched/quiet.h"

pthread_mutex_t weft__clusters_change = PTHREAD_MUTEX_INITIALIZER;
struct weft__past weft__past;

static unsigned number_of(const struct weft__cluster *c) { return c->place >> WEFT_PLACE_CLUSTER_SHIFT; }

static struct weft_cluster handle_of(const struct weft__cluster *c) {
    return (struct weft_cluster){(uint64_t)load_rlx(&c->generation) << 32 | (number_of(c) + 1)};
}

struct weft__cluster *weft__cluster_find(struct weft_cluster handle) {
    struct weft__worker *w = weft__self();
    struct weft__cluster *c;
    if (!handle.id) {
        c = w ? w->cluster : &weft__cluster;
    } else {
        uint32_t number = (uint32_t)handle.id - 1;
        c = number < WEFT_CLUSTERS_MAX ? load_acq(&weft__clusters[number]) : NULL; /* pairs with its making */
        if (c && load_rlx(&c->generation) != handle.id >> 32) c = NULL;
    }
    return c && load_acq(&c->running) ? c : NULL; /* pairs with its start */
}

WEFT_PUBLIC struct weft_cluster weft_cluster_self(void) {
    struct weft__worker *w = weft__self();
    return w ? handle_of(w->cluster) : (struct weft_cluster){0};
}

/* --- making and ending ---------------------------------------------------------------------------- */

/* One that nobody uses. Locked. */
static struct weft__cluster *vacant(void) {
    for (unsigned i = 1; i < WEFT_CLUSTERS_MAX; i++) {
        struct weft__cluster *c = load_rlx(&weft__clusters[i]);
        if (c && !load_rlx(&c->running)) return c;
        if (c) continue;
        if (!(c = weft__alloc_aligned(WEFT_APART, sizeof *c))) return NULL;
        pthread_mutex_init(&c->resizing, NULL);
        c->place = i << WEFT_PLACE_CLUSTER_SHIFT;
        c->injector.closed = true;
        store_rel(&weft__clusters[i], c); /* pairs with weft__cluster_of */
        return c;
    }
    return NULL;
}

static int create(struct weft_cluster *cluster, const struct weft_config *config, int node) {
    struct weft__cluster *c = vacant();
    if (!c) return -ENOMEM;
    c->stealing = !config->no_stealing;
    c->helping = !config->no_helping;
    c->returns = config->unpark == WEFT_UNPARK_LAST;
    c->late_after = config->bound;
    c->bound = config->bind;
    c->node = node;
    c->stack_class = (uint8_t)weft__stack_class(config->stack_size);
    store_rlx(&c->generation, load_rlx(&c->generation) + 1);
    int err = weft__cluster_start(c, config->workers);
    if (!err) *cluster = handle_of(c);
    return err;
}

WEFT_PUBLIC int weft_cluster_create(struct weft_cluster *cluster, const struct weft_config *given) {
    struct weft_config config = given ? *given : (struct weft_config)WEFT_CONFIG_INIT;
    if (!cluster) return -EINVAL;
    if (!load_acq(&weft__cluster.running)) return -ESRCH;
    int err = weft__config_complete(&config);
    if (err) return err;
    pthread_mutex_lock(&weft__clusters_change);
    err = create(cluster, &config, -1);
    pthread_mutex_unlock(&weft__clusters_change);
    return err;
}

static bool is_elsewhere(struct weft__fiber *f, void *cluster) {
    return weft__cluster_of(load_rlx(&f->context.place)) != cluster;
}

static void close_it(struct weft__cluster *c, bool closed) {
    weft__lock(&c->injector.lock);
    c->injector.closed = closed;
    weft__unlock(&c->injector.lock);
}

/* Its workers' counts are part of the sum by which a stop knows that all has ended. */
static void remember(struct weft__cluster *c) {
    weft__past.spawned += load_rlx(&c->injector.spawned);
    for (unsigned i = 0; i < c->count; i++) {
        weft__past.spawned += load_rlx(&c->workers[i]->numbers.spawned);
        weft__past.ended += load_acq(&c->workers[i]->numbers.completed); /* pairs with end */
    }
}

/* Threads cannot hand in fibers any more; if none lives in it, none will. Locked. */
static int destroy(struct weft__cluster *c) {
    close_it(c, true);
    if (!weft__each_live(is_elsewhere, c)) {
        close_it(c, false);
        return -EBUSY;
    }
    store_rlx(&c->generation, load_rlx(&c->generation) + 1);
    remember(c);
    weft__cluster_stop(c);
    return 0;
}

WEFT_PUBLIC int weft_cluster_destroy(struct weft_cluster cluster) {
    struct weft__worker *w = weft__self();
    struct weft__cluster *c = weft__cluster_find(cluster);
    if (!c) return -ESRCH;
    if (c == &weft__cluster) return -EINVAL;
    if (w && w->cluster == c) return -EDEADLK;
    pthread_mutex_lock(&weft__clusters_change);
    int err = weft__cluster_find(cluster) == c ? destroy(c) : -ESRCH;
    pthread_mutex_unlock(&weft__clusters_change);
    return err;
}

/* Those of the nodes below n that we may use. Locked. */
static int create_per_node(struct weft_cluster *clusters, unsigned n, struct weft_config *config) {
    unsigned made = 0;
    int err = 0;
    for (int node = 0; !err && made < n && node < (int)weft__topology()->nodes; node++) {
        config->workers = weft__node_cpus(node);
        if (config->workers && !(err = create(&clusters[made], config, node))) made++;
    }
    while (err && made) destroy(weft__cluster_find(clusters[--made]));
    return err ? err : (int)made;
}

WEFT_PUBLIC int weft_cluster_per_node(struct weft_cluster *clusters, unsigned n, const struct weft_config *given) {
    struct weft_config config = given ? *given : (struct weft_config)WEFT_CONFIG_INIT;
    if (!clusters || !n) return -EINVAL;
    if (!load_acq(&weft__cluster.running)) return -ESRCH;
    int err = weft__config_complete(&config);
    if (err) return err;
    pthread_mutex_lock(&weft__clusters_change);
    err = create_per_node(clusters, n, &config);
    pthread_mutex_unlock(&weft__clusters_change);
    return err;
}

/* --- size, rest ----------------------------------------------------------------------------------- */

WEFT_PUBLIC int weft_cluster_resize(struct weft_cluster cluster, unsigned workers) {
    if (workers > WEFT_WORKERS_MAX) return -EINVAL;
    struct weft__cluster *c = weft__cluster_find(cluster);
    if (!c) return -ESRCH;
    c->automatic = !workers;
    return weft__resize(c, workers ? workers : weft__default_workers());
}

void weft__follow_quota(void) {
    struct weft__cluster *c = &weft__cluster;
    if (!c->automatic) return;
    unsigned workers = weft__default_workers();
    if (workers != load_rlx(&c->configured)) weft__resize(c, workers);
}

WEFT_PUBLIC int weft_cluster_workers(struct weft_cluster cluster) {
    struct weft__cluster *c = weft__cluster_find(cluster);
    return c ? (int)load_rlx(&c->configured) : -ESRCH;
}

WEFT_PUBLIC int weft_cluster_drain_until(struct weft_cluster cluster, uint64_t deadline) {
    struct weft__cluster *c = weft__cluster_find(cluster);
    return c ? weft__drain(c, deadline) : -ESRCH;
}

WEFT_PUBLIC int weft_cluster_drain(struct weft_cluster cluster) {
    return weft_cluster_drain_until(cluster, WEFT_FOREVER);
}

/* --- moving ---------------------------------------------------------------------------------------- */

/* Where the fiber belongs from now on. A pin is to a worker of the cluster that it leaves. */
static int rehouse(struct weft__fiber *f, struct weft_fiber fiber, struct weft_cluster to) {
    pthread_mutex_lock(&weft__clusters_change); /* the cluster must not end just now */
    struct weft__cluster *c = weft__cluster_find(to);
    int err = c ? 0 : -ESRCH;
    uint32_t place = load_rlx(&f->context.place), next;
    do {
        if (!err && load_rlx(&f->slot.generation) != (uint32_t)fiber.id) err = -ESRCH;
        if (err) break;
        next = (place & (WEFT_PLACE_PRIORITY)) | c->place | (c->returns ? WEFT_PLACE_RETURNS : 0);
    } while (!atomic_compare_exchange_weak(&f->context.place, &place, next));
    pthread_mutex_unlock(&weft__clusters_change);
    return err;
}

static WEFT_SWITCHES void go_over(struct weft__worker *w, struct weft__fiber *me) {
    weft__inject(weft__cluster_of(load_rlx(&me->context.place)), me);
    weft__suspend(w, me);
}

WEFT_PUBLIC int weft_cluster_move(struct weft_fiber fiber, struct weft_cluster to) {
    struct weft__worker *w = weft__self();
    struct weft__fiber *me = w ? load_rlx(&w->current) : NULL;
    if (!fiber.id && !me) return -EPERM;
    if (!fiber.id) fiber = weft__handle(me);
    struct weft__fiber *f = weft__fiber_of(fiber);
    if (!f || load_rlx(&f->context.kind) != WEFT_KIND_FIBER) return -ESRCH;
    int err = rehouse(f, fiber, to);
    if (!err && f == me && weft__cluster_of(load_rlx(&me->context.place)) != w->cluster) go_over(w, me);
    return err;
}
