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
#include "sched/tasks.h"

pthread_mutex_t weft__clusters_change = PTHREAD_MUTEX_INITIALIZER;
struct weft_stats weft__past;

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

struct weft_cluster weft__cluster_lasting(void) {
    struct weft__worker *w = weft__self();
    return !w || load_acq(&w->cluster->running) ? (struct weft_cluster){0} : handle_of(&weft__cluster);
}

/* --- making ----------------------------------------------------------------------------------------- */

bool weft__each_cluster(bool (*fn)(struct weft__cluster *, void *), void *arg) {
    for (unsigned i = 0; i < WEFT_CLUSTERS_MAX; i++) {
        struct weft__cluster *c = load_acq(&weft__clusters[i]);
        if (c && (load_acq(&c->running) || load_acq(&c->ending)) && !fn(c, arg)) return false;
    }
    return true;
}

void weft__cluster_close(struct weft__cluster *c, uint8_t closed) {
    weft__lock(&c->injector.lock);
    c->injector.closed = closed;
    weft__unlock(&c->injector.lock);
}

/* Ends the carriers, which find nothing to do any more. */
static void join_carriers(struct weft__cluster *c) {
    pthread_mutex_lock(&c->resizing); /* nobody adds a worker from here on */
    store_rel(&c->stopping, true);
    pthread_mutex_unlock(&c->resizing);
    fence_sc(); /* pairs with the fence of a worker that announces its sleep: it sees stopping, or we it */
    for (unsigned i = 0; i < c->count; i++) weft__idle_wake(c->workers[i]);
    for (unsigned i = 0; i < c->count; i++) pthread_join(c->workers[i]->thread, NULL);
    for (unsigned i = 0; i < c->count; i++) weft__ring_close(&c->workers[i]->ring); /* none looks at another's now */
}

static void release_workers(struct weft__cluster *c) {
    for (unsigned i = 0; i < c->count; i++) weft__worker_release(c->workers[i]);
    store_rlx(&c->count, 0);
    store_rlx(&c->wanted, 0);
    store_rlx(&c->lent, 0);
    store_rlx(&c->reserve, 0);
    store_rlx(&c->configured, 0);
}

int weft__cluster_start(struct weft__cluster *c, const struct weft_config *config, bool automatic, int node) {
    c->stealing = !config->no_stealing;
    c->helping = !config->no_helping;
    c->rescues = !config->no_rescue;
    store_rlx(&c->fibers, c->place | (config->unpark == WEFT_UNPARK_LAST ? WEFT_PLACE_RETURNS : 0));
    c->late_after = config->bound;
    c->bound = config->bind;
    c->node = node;
    if (c->bound || node >= 0) weft__threads_bind();
    store_rlx(&c->automatic, automatic);
    c->stack_class = (uint8_t)weft__stack_class(config->stack_size);
    store_rlx(&c->stopping, false);
    store_rlx(&c->idle.state, 0);
    c->tasks.kind = config->continuations ? &weft__deque_kept : weft__deque_kinds[config->deque];
    store_rlx(&c->injector.spawned, 0);
    weft__timed_none(&c->injector.timed);
    int err = weft__resize(c, config->workers);
    if (err) {
        join_carriers(c);
        release_workers(c);
        return err;
    }
    weft__cluster_close(c, WEFT_OPEN);
    store_rel(&c->running, true); /* pairs with whoever asks whether there is a runtime */
    return 0;
}

/* One that nobody uses. Locked. */
static struct weft__cluster *vacant(void) {
    for (unsigned i = 1; i < WEFT_CLUSTERS_MAX; i++) {
        struct weft__cluster *c = load_rlx(&weft__clusters[i]);
        if (c && (load_rlx(&c->running) || load_rlx(&c->ending))) continue;
        if (c) return c;
        if (!(c = weft__alloc_aligned(WEFT_APART, sizeof *c))) return NULL;
        pthread_mutex_init(&c->resizing, NULL);
        c->place = i << WEFT_PLACE_CLUSTER_SHIFT;
        c->injector.closed = WEFT_CLOSED;
        store_rel(&weft__clusters[i], c); /* pairs with weft__cluster_of */
        return c;
    }
    return NULL;
}

/* Locked. */
static int create(struct weft_cluster *cluster, const struct weft_config *config, bool automatic, int node) {
    if (!load_acq(&weft__cluster.running) || load_acq(&weft__cluster.ending)) return -ESRCH;
    struct weft__cluster *c = vacant();
    if (!c) return -ENOMEM;
    store_rlx(&c->generation, load_rlx(&c->generation) + 1);
    int err = weft__cluster_start(c, config, automatic, node);
    if (!err) *cluster = handle_of(c);
    return err;
}

WEFT_PUBLIC int weft_cluster_create(struct weft_cluster *cluster, const struct weft_config *given) {
    struct weft_config config = given ? *given : (struct weft_config)WEFT_CONFIG_INIT;
    if (!cluster) return -EINVAL;
    if (!load_acq(&weft__cluster.running)) return -ESRCH;
    bool automatic;
    int err = weft__config_complete(&config, &automatic);
    if (err) return err;
    pthread_mutex_lock(&weft__clusters_change);
    err = create(cluster, &config, automatic, -1);
    pthread_mutex_unlock(&weft__clusters_change);
    return err;
}

/* --- ending ----------------------------------------------------------------------------------------- */

static bool is_elsewhere(struct weft__fiber *f, void *cluster) {
    return weft__cluster_of(load_rlx(&f->context.place)) != cluster;
}

/* Nobody can hand in fibers any more; if none lives in it, none will. Locked. */
static int begin_end(struct weft__cluster *c) {
    weft__cluster_close(c, WEFT_CLOSED);
    if (!weft__each_live(is_elsewhere, c)) {
        weft__cluster_close(c, WEFT_OPEN);
        return -EBUSY;
    }
    store_rlx(&c->generation, load_rlx(&c->generation) + 1);
    store_rel(&c->ending, true);
    store_rel(&c->running, false);
    return 0;
}

/* Deadlines of fibers that have left, and timers that fibers armed here. */
static void hand_on_timers(struct weft__cluster *c, struct weft__worker *to) {
    for (unsigned i = 0; i < c->count; i++)
        if (load_acq(&c->workers[i]->wheel.armed)) weft__wheel_move(&c->workers[i]->wheel, &to->wheel);
    fence_sc(); /* pairs with the fence of a worker that announces its sleep: it sees the timers, or we it */
    weft__idle_wake(to);
}

/* Where a fiber goes that had this place. A pin is to a worker of the cluster that it leaves. */
static uint32_t place_in(struct weft__cluster *c, uint32_t place) {
    return (place & WEFT_PLACE_PRIORITY) | load_rlx(&c->fibers);
}

/* Spawned here by one that was moved away, while it was still running here. */
static bool take_in(struct weft__fiber *f, void *cluster) {
    uint32_t place = load_rlx(&f->context.place);
    while (weft__cluster_of(place) == cluster &&
           !atomic_compare_exchange_weak(&f->context.place, &place, place_in(&weft__cluster, place))) {
    }
    return true;
}

/* Somebody may have looked at a fiber's place, and put it here, when it had just been moved away. */
static void hand_on(struct weft__cluster *c) {
    if (c != &weft__cluster) weft__each_live(take_in, c);
    fence_sc(); /* pairs with weft__mail: it sees that the cluster does not run, or we the mail */
    for (unsigned i = 0; i < c->count; i++) weft__mail_on(c->workers[i]);
    weft__inject_on(c);
    if (c != &weft__cluster) hand_on_timers(c, weft__cluster.workers[0]);
}

void weft__cluster_end(struct weft__cluster *c) {
    join_carriers(c);
    hand_on(c);
    weft__tasks_reset(c);
    pthread_mutex_lock(&weft__clusters_change);
    weft__stats_add(c, &weft__past); /* part of the sum by which a stop knows that all has ended */
    release_workers(c);
    store_rel(&c->running, false);
    store_rel(&c->ending, false);
    pthread_mutex_unlock(&weft__clusters_change);
    weft__tell_quiet(); /* a stop may have waited for that */
}

WEFT_PUBLIC int weft_cluster_destroy(struct weft_cluster cluster) {
    struct weft__worker *w = weft__self();
    struct weft__cluster *c = weft__cluster_find(cluster);
    if (!c) return -ESRCH;
    if (c == &weft__cluster) return -EINVAL;
    if (w && w->cluster == c) return -EDEADLK;
    pthread_mutex_lock(&weft__clusters_change);
    bool ours = weft__cluster_find(cluster) == c && !load_acq(&weft__cluster.ending);
    int err = ours ? begin_end(c) : -ESRCH;
    pthread_mutex_unlock(&weft__clusters_change);
    if (err) return err;
    weft__monitor_leaves(c); /* at a stop, the monitor has ended before the clusters do */
    weft__cluster_end(c);
    return 0;
}

/* Those of the nodes that we may use, n at most. Locked. Returns how many; *err: why not more. */
static unsigned create_per_node(struct weft_cluster *clusters, unsigned n, struct weft_config *config, int *err) {
    unsigned made = 0;
    for (int node = 0; !*err && made < n && node < (int)weft__topology()->nodes; node++) {
        config->workers = weft__node_cpus(node);
        if (config->workers && !(*err = create(&clusters[made], config, false, node))) made++;
    }
    return made;
}

WEFT_PUBLIC int weft_cluster_per_node(struct weft_cluster *clusters, unsigned n, const struct weft_config *given) {
    struct weft_config config = given ? *given : (struct weft_config)WEFT_CONFIG_INIT;
    bool automatic;
    if (!clusters || !n) return -EINVAL;
    if (!load_acq(&weft__cluster.running)) return -ESRCH;
    int err = weft__config_complete(&config, &automatic);
    if (err) return err;
    pthread_mutex_lock(&weft__clusters_change);
    unsigned made = create_per_node(clusters, n, &config, &err);
    pthread_mutex_unlock(&weft__clusters_change);
    while (err && made) weft_cluster_destroy(clusters[--made]);
    return err ? err : (int)made;
}

/* --- size, rest ----------------------------------------------------------------------------------- */

WEFT_PUBLIC int weft_cluster_resize(struct weft_cluster cluster, unsigned workers) {
    if (workers > WEFT_WORKERS_MAX) return -EINVAL;
    struct weft__cluster *c = weft__cluster_find(cluster);
    if (!c) return -ESRCH;
    store_rlx(&c->automatic, !workers && c->node < 0);
    if (!workers) workers = c->node < 0 ? weft__default_workers() : weft__node_cpus(c->node);
    return weft__resize(c, workers);
}

static bool follow(struct weft__cluster *c, void *workers) {
    unsigned n = *(unsigned *)workers;
    if (load_rlx(&c->automatic) && load_acq(&c->running) && n != load_rlx(&c->configured)) weft__resize_soon(c, n);
    return true;
}

unsigned weft__follow_quota(void) {
    unsigned workers = weft__default_workers();
    if (pthread_mutex_trylock(&weft__clusters_change)) return workers; /* clusters come or go: next time */
    weft__each_cluster(follow, &workers);
    pthread_mutex_unlock(&weft__clusters_change);
    return workers;
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

/* Where the fiber belongs from now on. */
static int rehouse(struct weft__fiber *f, struct weft_fiber fiber, struct weft_cluster to) {
    pthread_mutex_lock(&weft__clusters_change); /* the cluster must not end just now */
    struct weft__cluster *c = weft__cluster_find(to);
    int err = c ? 0 : -ESRCH;
    uint32_t place = load_rlx(&f->context.place);
    do {
        if (!err && load_rlx(&f->slot.life) != fiber.id) err = -ESRCH;
    } while (!err && !atomic_compare_exchange_weak(&f->context.place, &place, place_in(c, place)));
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
