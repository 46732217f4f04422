/*
 * Clusters: sets of workers that share work with each other and with no other cluster.
 *
 * A fiber belongs to one, by its place word. The fiber or thread that makes it ready compares that with its own, so a
 * fiber of another cluster goes there, through that cluster's injector. To move a fiber is therefore
 * to change the word: it goes over when it next becomes ready, and at once if it moves itself.
 *
 * Records of clusters are made once and kept for the next program part that wants one; a generation tells old
 * handles. The life of a cluster:
 *
 *   vacant    no carriers. A creation takes it
 *   making    its carriers are being made, by the creator. It is in no sum, and has no fibers
 *   running   it can be found by its handle, and spawned into
 *   ending    it cannot. Its carriers are being joined, by a destroy or the stop
 *
 * weft__clusters_change is held while one becomes another, never while threads are made or joined. A stop closes all
 * clusters to threads under it, and lets no thread make another from then on; fibers may, until they have all ended. At
 * its end it waits for those that are being made or ended by other threads.
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

/* The same, and which of its lives that is. Read before it was found to run: if the cluster ends at this moment, the
 * caller acts on a life that is over, and is told so. */
static struct weft__cluster *find_life(struct weft_cluster handle, uint32_t *generation) {
    struct weft__worker *w = weft__self();
    *generation = (uint32_t)(handle.id >> 32);
    if (!handle.id) *generation = load_acq(w ? &w->cluster->generation : &weft__cluster.generation);
    return weft__cluster_find(handle);
}

WEFT_PUBLIC struct weft_cluster weft_cluster_self(void) {
    struct weft__worker *w = weft__self();
    return w ? handle_of(w->cluster) : (struct weft_cluster){0};
}

struct weft_cluster weft__cluster_lasting(void) {
    struct weft__worker *w = weft__self();
    return !w || load_acq(&w->cluster->running) ? (struct weft_cluster){0} : handle_of(&weft__cluster);
}

/* --- all of them -------------------------------------------------------------------------------------- */

static bool closed_to_threads; /* a stop is under way; under weft__clusters_change */

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

static bool close_it(struct weft__cluster *c, void *closed) {
    if (load_acq(&c->running)) weft__cluster_close(c, *(uint8_t *)closed);
    return true;
}

void weft__clusters_close(bool closed) {
    uint8_t how = closed ? WEFT_CLOSED_TO_THREADS : WEFT_OPEN;
    pthread_mutex_lock(&weft__clusters_change);
    closed_to_threads = closed;
    weft__each_cluster(close_it, &how);
    pthread_mutex_unlock(&weft__clusters_change);
}

void weft__clusters_begin(void) {
    pthread_mutex_lock(&weft__clusters_change);
    weft__past = (struct weft_stats){0};
    closed_to_threads = false;
    pthread_mutex_unlock(&weft__clusters_change);
}

void weft__clusters_forked(void) {
    pthread_mutex_init(&weft__clusters_change, NULL);
    closed_to_threads = false;
}

/* Another thread is making or ending it; that will be over in a moment. Locked. */
static bool is_changing(const struct weft__cluster *c) { return load_acq(&c->making) || load_acq(&c->ending); }

void weft__clusters_claim(void) {
    for (bool settled = false; !settled;) {
        pthread_mutex_lock(&weft__clusters_change);
        store_rel(&weft__cluster.ending, true); /* pairs with weft__ring_worker_ends */
        settled = true;
        for (unsigned i = 1; i < WEFT_CLUSTERS_MAX; i++) {
            struct weft__cluster *c = load_rlx(&weft__clusters[i]);
            if (c && is_changing(c)) settled = false;
        }
        pthread_mutex_unlock(&weft__clusters_change);
        if (!settled) weft__nap(100 * WEFT_MICROSECOND);
    }
}

/* May the caller make a cluster, or end one? Locked. */
static bool may_change(void) { return load_acq(&weft__cluster.running) && !load_acq(&weft__cluster.ending); }
static bool may_make(void) { return may_change() && (weft__self() || !closed_to_threads); }

/* --- making ----------------------------------------------------------------------------------------- */

/* Ends the carriers, which find nothing to do any more. */
static void join_carriers(struct weft__cluster *c) {
    pthread_mutex_lock(&c->resizing); /* nobody adds a worker from here on */
    store_rel(&c->stopping, true);
    pthread_mutex_unlock(&c->resizing);
    fence_sc(); /* pairs with the fence of a worker that announces its sleep: it sees stopping, or we it */
    for (unsigned i = 0; i < c->count; i++) weft__idle_wake(c->workers[i]);
    for (unsigned i = 0; i < c->count; i++) pthread_join(c->workers[i]->thread, NULL);
    weft__dry_tell(); /* one of them may have been on duty there */
    for (unsigned i = 0; i < c->count; i++) {
        weft__driver_settle(&c->workers[i]->driver);
        weft__ring_close(&c->workers[i]->ring); /* no worker looks at another's ring now */
    }
}

static void release_workers(struct weft__cluster *c) {
    for (unsigned i = 0; i < c->count; i++) weft__worker_release(c->workers[i]);
    store_rlx(&c->count, 0);
    store_rlx(&c->wanted, 0);
    store_rlx(&c->lent, 0);
    store_rlx(&c->reserve, 0);
    store_rlx(&c->configured, 0);
}

void weft__cluster_dismantle(struct weft__cluster *c) {
    join_carriers(c);
    release_workers(c);
}

int weft__cluster_make(struct weft__cluster *c, const struct weft_config *config, bool automatic, int node) {
    c->stealing = !config->no_stealing;
    c->helping = !config->no_helping;
    store_rlx(&c->rescues, !config->no_rescue);
    store_rlx(&c->fibers, c->place | (config->unpark == WEFT_UNPARK_LAST ? WEFT_PLACE_RETURNS : 0));
    store_rlx(&c->late_after, config->bound);
    c->bound = config->bind;
    store_rlx(&c->node, node);
    if (c->bound || node >= 0) weft__threads_bind();
    store_rlx(&c->stack_class, (uint8_t)weft__stack_class(config->stack_size));
    pthread_mutex_lock(&c->resizing); /* against a resize that has found an earlier life of it */
    store_rlx(&c->stopping, false);
    pthread_mutex_unlock(&c->resizing);
    store_rlx(&c->idle.state, 0);
    c->tasks.kind = config->continuations ? &weft__deque_kept : weft__deque_kinds[config->deque];
    store_rlx(&c->injector.spawned, 0);
    weft__timed_none(&c->injector.timed);
    int err = weft__resize(c, load_rlx(&c->generation), config->workers, automatic);
    if (err) weft__cluster_dismantle(c);
    return err;
}

void weft__cluster_open(struct weft__cluster *c, uint8_t closed) {
    weft__cluster_close(c, closed);
    store_rel(&c->running, true); /* pairs with weft__cluster_find, and all that ask whether there is a runtime */
}

/* One that is not in use. Locked. */
static struct weft__cluster *vacant(void) {
    for (unsigned i = 1; i < WEFT_CLUSTERS_MAX; i++) {
        struct weft__cluster *c = load_rlx(&weft__clusters[i]);
        if (c && (load_rlx(&c->running) || is_changing(c))) continue;
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

/* From vacant to making. */
static int reserve(struct weft__cluster **reserved) {
    struct weft__cluster *c = NULL;
    int err = -ESRCH;
    pthread_mutex_lock(&weft__clusters_change);
    if (may_make()) err = (c = vacant()) ? 0 : -ENOMEM;
    if (!err) {
        store_rlx(&c->generation, load_rlx(&c->generation) + 1);
        store_rlx(&c->making, true);
    }
    pthread_mutex_unlock(&weft__clusters_change);
    *reserved = c;
    return err;
}

/* From making to running, unless a stop has come meanwhile. What a fiber makes then is closed to threads, too. */
static int publish(struct weft__cluster *c) {
    pthread_mutex_lock(&weft__clusters_change);
    bool may = may_make();
    if (may) {
        weft__cluster_open(c, closed_to_threads ? WEFT_CLOSED_TO_THREADS : WEFT_OPEN);
        store_rel(&c->making, false);
    }
    pthread_mutex_unlock(&weft__clusters_change);
    return may ? 0 : -ESRCH;
}

static int create(struct weft_cluster *cluster, const struct weft_config *config, bool automatic, int node) {
    struct weft__cluster *c;
    int err = reserve(&c);
    if (err) return err;
    err = weft__cluster_make(c, config, automatic, node);
    if (!err) {
        struct weft_cluster handle = handle_of(c);
        err = publish(c);
        if (err)
            weft__cluster_dismantle(c);
        else
            *cluster = handle;
    }
    if (err) store_rel(&c->making, false); /* pairs with is_changing: it is vacant again */
    return err;
}

WEFT_PUBLIC int weft_cluster_create(struct weft_cluster *cluster, const struct weft_config *given) {
    struct weft_config config = given ? *given : (struct weft_config)WEFT_CONFIG_INIT;
    if (!cluster) return -EINVAL;
    if (!load_acq(&weft__cluster.running)) return -ESRCH;
    bool automatic;
    int err = weft__config_complete(&config, &automatic);
    return err ? err : create(cluster, &config, automatic, -1);
}

/* --- ending ----------------------------------------------------------------------------------------- */

static bool is_elsewhere(struct weft__fiber *f, void *cluster) {
    return weft__cluster_of(load_rlx(&f->context.place)) != cluster;
}

/* How many fibers have come into it, in whatever way. */
static uint64_t births_in(struct weft__cluster *c) {
    uint64_t n = load_acq(&c->injector.spawned) + load_acq(&c->arrivals);
    for (unsigned i = 0; i < load_acq(&c->count); i++) n += load_rlx(&c->workers[i]->numbers.spawned);
    return n;
}

/* From running to ending, if as many fibers have come into it as before the caller saw that none lived there. Closed
 * under the injector's lock, at which spawns from elsewhere count: each of them came before, or is refused. Locked. */
static bool close_if_empty(struct weft__cluster *c, uint64_t births) {
    weft__lock(&c->injector.lock);
    bool empty = births_in(c) == births;
    if (empty) c->injector.closed = WEFT_CLOSED;
    weft__unlock(&c->injector.lock);
    if (!empty) return false;
    store_rlx(&c->generation, load_rlx(&c->generation) + 1);
    store_rel(&c->ending, true); /* pairs with weft__each_cluster: it is in one of the two states at any time */
    store_rel(&c->running, false);
    return true;
}

/*
 * Does any fiber live in it? If not, it ends. A fiber that is seen nowhere may have been born into a record that was
 * looked at before, by one that has ended since; then its birth is counted between the two counts. If fibers live
 * there, or have come meanwhile, the cluster stays as it was, and no spawn into it is disturbed.
 */
static int begin_end(struct weft__cluster *c, struct weft_cluster handle) {
    uint64_t births = births_in(c);
    weft__fence_heavy(); /* pairs with weft__notify in a spawn: the fibers that we have counted are seen */
    if (!weft__each_live(is_elsewhere, c)) return -EBUSY;
    weft__fence_heavy(); /* the same: if a fiber was seen to have ended, the births are that it counted */
    pthread_mutex_lock(&weft__clusters_change);
    int err = weft__cluster_find(handle) == c && may_change() ? 0 : -ESRCH;
    if (!err && !close_if_empty(c, births)) err = -EBUSY;
    pthread_mutex_unlock(&weft__clusters_change);
    return err;
}

/* Deadlines of fibers that have left, and timers that fibers armed here. */
static void hand_on_timers(struct weft__cluster *c, struct weft__worker *to) {
    for (unsigned i = 0; i < c->count; i++)
        if (weft__wheel_next(&c->workers[i]->wheel) != WEFT_FOREVER)
            weft__wheel_move(&c->workers[i]->wheel, &to->wheel);
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
           !atomic_compare_exchange_weak(&f->context.place, &place,
                                         place_in(&weft__cluster, place) | (place & WEFT_PLACE_MOVING))) {
    }
    return true;
}

/* A fiber or thread may have looked at a fiber's place, and put it here, when it had just been moved away. */
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
    int err = begin_end(c, cluster);
    if (err) return err;
    weft__monitor_leaves(c); /* at a stop, the monitor has ended before the clusters do */
    weft__cluster_end(c);
    return 0;
}

/* Those of the nodes that we may use, n at most. Returns how many; *err: why not more. */
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
    unsigned made = create_per_node(clusters, n, &config, &err);
    while (err && made) weft_cluster_destroy(clusters[--made]);
    return err ? err : (int)made;
}

/* --- size, rest ----------------------------------------------------------------------------------- */

WEFT_PUBLIC int weft_cluster_resize(struct weft_cluster cluster, unsigned workers) {
    if (workers > WEFT_WORKERS_MAX) return -EINVAL;
    struct weft__cluster *c;
    uint32_t generation;
    if (!(c = find_life(cluster, &generation))) return -ESRCH;
    int node = load_rlx(&c->node);
    bool automatic = !workers && node < 0;
    if (!workers) workers = node < 0 ? weft__default_workers() : weft__node_cpus(node);
    return weft__resize(c, generation, workers, automatic);
}

static bool follow(struct weft__cluster *c, void *workers) {
    weft__resize_automatic(c, *(unsigned *)workers);
    return true;
}

unsigned weft__follow_quota(void) {
    unsigned workers = weft__default_workers();
    weft__each_cluster(follow, &workers);
    return workers;
}

WEFT_PUBLIC int weft_cluster_workers(struct weft_cluster cluster) {
    struct weft__cluster *c = weft__cluster_find(cluster);
    return c ? (int)load_rlx(&c->configured) : -ESRCH;
}

WEFT_PUBLIC int weft_cluster_drain_until(struct weft_cluster cluster, uint64_t deadline) {
    uint32_t generation;
    struct weft__cluster *c = find_life(cluster, &generation);
    return c ? weft__drain(c, generation, deadline) : -ESRCH;
}

WEFT_PUBLIC int weft_cluster_drain(struct weft_cluster cluster) {
    return weft_cluster_drain_until(cluster, WEFT_FOREVER);
}

/* --- moving ---------------------------------------------------------------------------------------- */

/*
 * The fiber belongs to c from now on. Its record may begin another life at any time, and that one must not be moved by
 * a handle of the last; but no compare-and-swap of the place can tell: the two may have the same. So the place is
 * marked before the life is looked at. If that is still the right one, then so it was when the mark was set; a later
 * life begins with a place without a mark, and then there is nothing left to move. If not, a wrong life may have been
 * marked, which changes nothing for it, and the mark is taken back. Locked: one at a time.
 */
static int rehouse(struct weft__fiber *f, struct weft_fiber fiber, struct weft__cluster *c) {
    atomic_fetch_or(&f->context.place, WEFT_PLACE_MOVING); /* acquire, pairs with init: the life is read after it */
    if (load_rlx(&f->slot.life) != fiber.id) {
        atomic_fetch_and(&f->context.place, ~WEFT_PLACE_MOVING);
        return -ESRCH;
    }
    uint32_t place = load_rlx(&f->context.place);
    while (place & WEFT_PLACE_MOVING)
        if (atomic_compare_exchange_weak(&f->context.place, &place, place_in(c, place))) return 0;
    return -ESRCH;
}

static int move(struct weft__fiber *f, struct weft_fiber fiber, struct weft_cluster to) {
    pthread_mutex_lock(&weft__clusters_change); /* the cluster must not end just now */
    struct weft__cluster *c = weft__cluster_find(to);
    int err = c ? rehouse(f, fiber, c) : -ESRCH;
    if (!err) store_rel(&c->arrivals, load_rlx(&c->arrivals) + 1); /* pairs with births_in: the fiber is seen there */
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
    int err = move(f, fiber, to);
    if (!err && f == me && weft__cluster_of(load_rlx(&me->context.place)) != w->cluster) go_over(w, me);
    return err;
}
