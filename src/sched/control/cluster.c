/* SPDX-License-Identifier: MIT */
/*
 * Clusters: sets of workers that share work with each other and with no other cluster.
 *
 * The placement word of a fiber names its cluster. The fiber or thread that makes a fiber ready compares that with its
 * own cluster, and puts a fiber of another cluster into the injector of that cluster. So weft_cluster_move only changes
 * the word: the fiber goes over when it next becomes ready, or at once if it moves itself.
 *
 * Records of clusters are made once and kept for later clusters. A generation tells old handles from new ones. The
 * states of a cluster:
 *
 *   vacant    the record is free for the next cluster
 *   making    the creator makes the carriers. No sum includes the cluster, and it has no fibers
 *   running   the handle is valid, and spawns are accepted
 *   ending    the handle is stale. A destroy or the stop joins the carriers
 *
 * A thread holds weft__clusters_change while it changes a state, never while it makes or joins threads. Under that lock
 * a stop closes all clusters to threads, and from then on no thread may make a cluster; fibers may, until they have all
 * ended. At its end the stop waits for clusters that other threads are making or ending.
 */
#include "sched/control/cluster.h"
#include "base/assert.h"
#include "sched/control/config.h"
#include "sched/control/quiescence.h"
#include "sched/dispatch/dispatch.h"
#include "sched/elastic/cpu_quota.h"
#include "sched/elastic/monitor.h"
#include "sched/elastic/resize.h"
#include "sched/elastic/worker_record.h"
#include "sched/life/own_tls_spawn.h"
#include "sched/observe/stats.h"
#include "sched/place/placement.h"
#include "sched/tasks/tasks.h"
#include "sched/wake/io_backpressure.h"

/* The cluster of a handle, and its generation. The generation is read before the cluster is found to run: if the
 * cluster ends at this moment, the caller acts on an old generation, and gets an error. */
static struct weft__cluster *find_with_generation(struct weft_cluster handle, uint64_t *generation) {
    struct weft__worker *w = weft__self();
    *generation = weft__cluster_generation(handle);
    if (!handle.id) *generation = load_acq(w ? &w->cluster->generation : &weft__cluster.generation);
    return weft__cluster_find(handle);
}

WEFT_PUBLIC struct weft_cluster weft_cluster_self(void) {
    struct weft__worker *w = weft__self();
    return w ? weft__cluster_handle(w->cluster) : (struct weft_cluster){0};
}

/* --- all of them -------------------------------------------------------------------------------------- */

static bool closed_to_threads; /* a stop is under way; protected by weft__clusters_change */

void weft__cluster_close(struct weft__cluster *c, uint8_t closed) {
    weft__lock(&c->injector.lock);
    c->injector.closed = closed;
    weft__unlock(&c->injector.lock);
}

static bool cluster_close_each(struct weft__cluster *c, void *closed) {
    if (load_acq(&c->running)) weft__cluster_close(c, *(uint8_t *)closed);
    return true;
}

void weft__clusters_close(bool closed) {
    uint8_t how = closed ? WEFT_CLOSED_TO_THREADS : WEFT_OPEN;
    pthread_mutex_lock(&weft__clusters_change);
    closed_to_threads = closed;
    weft__each_cluster(cluster_close_each, &how);
    pthread_mutex_unlock(&weft__clusters_change);
}

void weft__clusters_begin(void) {
    pthread_mutex_lock(&weft__clusters_change);
    weft__past = (struct weft_stats){0};
    closed_to_threads = false;
    pthread_mutex_unlock(&weft__clusters_change);
}

void weft__clusters_after_fork(void) {
    pthread_mutex_init(&weft__clusters_change, NULL);
    closed_to_threads = false;
}

/* Is another thread making or ending this cluster? That ends soon. Locked. */
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
static bool cluster_may_make(void) { return may_change() && (weft__self() || !closed_to_threads); }

/* --- making ----------------------------------------------------------------------------------------- */

/* Ends the carriers. There is no work for them any more. */
static void join_carriers(struct weft__cluster *c) {
    pthread_mutex_lock(&c->resizing); /* no thread adds a worker from here on */
    store_rel(&c->stopping, true);
    pthread_mutex_unlock(&c->resizing);
    fence_sc(); /* pairs with a worker that announces its sleep: it sees `stopping`, or this thread wakes it */
    for (unsigned i = 0; i < c->count; i++) weft__idle_wake(c->workers[i]);
    for (unsigned i = 0; i < c->count; i++) pthread_join(c->workers[i]->carrier.thread, NULL);
    weft__poll_duty_notify(); /* one of them may have had the poll duty */
    for (unsigned i = 0; i < c->count; i++) {
        weft__driver_await_wakers(&c->workers[i]->driver);
        weft__uring_close(&c->workers[i]->ring); /* no worker looks at another's ring now */
    }
}

static void release_workers(struct weft__cluster *c) {
    for (unsigned i = 0; i < c->count; i++) weft__worker_release(c->workers[i]);
    store_rlx(&c->count, 0);
    store_rlx(&c->wanted, 0);
    store_rlx(&c->lent, 0);
    store_rlx(&c->reserve, 0);
    store_rlx(&c->overload_rate, 0);
    store_rlx(&c->configured, 0);
}

void weft__cluster_dismantle(struct weft__cluster *c) {
    join_carriers(c);
    release_workers(c);
}

int weft__cluster_make(struct weft__cluster *c, const struct weft_config *config, bool automatic, int node) {
    if (config->own_tls && weft__own_tls_check()) return -ENOTSUP;
    c->stealing = !config->no_stealing;
    c->helping = !config->no_helping;
    store_rlx(&c->rescues, !config->no_rescue);
    store_rlx(&c->own_tls, config->own_tls);
    if (config->own_tls) weft__own_tls_heed();
    weft__policy_read(&c->policy);
    bool returns = config->unpark == WEFT_UNPARK_LAST || c->policy.queue != WEFT_QUEUE_OWN;
    store_rlx(&c->fibers, c->placement | (returns ? WEFT_PLACEMENT_RETURNS : 0));
    store_rlx(&c->late_after, config->delay_limit);
    c->binds = config->bind;
    store_rlx(&c->node, node);
    if (c->binds || node >= 0) weft__threads_bind();
    store_rlx(&c->stack_class, (uint8_t)weft__stack_class(config->stack_size));
    pthread_mutex_lock(&c->resizing); /* excludes a late resize of an earlier cluster in this record */
    store_rlx(&c->stopping, false);
    pthread_mutex_unlock(&c->resizing);
    store_rlx(&c->idle.state, 0);
    c->tasks.variant = config->continuations ? &weft__deque_kept : weft__deque_variants[config->deque];
    store_rlx(&c->injector.spawned, 0);
    weft__timed_none(&c->injector.timed);
    int err = weft__resize(c, load_rlx(&c->generation), config->workers, automatic);
    if (err) weft__cluster_dismantle(c);
    return err;
}

void weft__cluster_open(struct weft__cluster *c, uint8_t closed) {
    WEFT_ASSERT(!load_rlx(&c->running) && !load_rlx(&c->ending));
    WEFT_ASSERT(load_rlx(&c->wanted) > 0);
    weft__cluster_close(c, closed);
    store_rel(&c->running, true); /* pairs with weft__cluster_find, and all that ask whether there is a runtime */
}

/* A cluster record that is not in use. Locked. */
static struct weft__cluster *cluster_find_vacant(void) {
    for (unsigned i = 1; i < WEFT_CLUSTERS_MAX; i++) {
        struct weft__cluster *c = load_rlx(&weft__clusters[i]);
        if (c && (load_rlx(&c->running) || is_changing(c))) continue;
        if (c) return c;
        if (!(c = weft__alloc_aligned(WEFT_APART, sizeof *c))) return NULL;
        pthread_mutex_init(&c->resizing, NULL);
        c->placement = i << WEFT_PLACEMENT_CLUSTER_SHIFT;
        c->injector.closed = WEFT_CLOSED;
        store_rel(&weft__clusters[i], c); /* pairs with weft__cluster_of */
        return c;
    }
    return NULL;
}

/* Takes a vacant record: vacant -> making. */
static int cluster_reserve(struct weft__cluster **reserved) {
    struct weft__cluster *c = NULL;
    int err = -ESRCH;
    pthread_mutex_lock(&weft__clusters_change);
    if (cluster_may_make()) err = (c = cluster_find_vacant()) ? 0 : -ENOMEM;
    if (!err) {
        store_rlx(&c->generation, load_rlx(&c->generation) + 1);
        store_rlx(&c->making, true);
    }
    pthread_mutex_unlock(&weft__clusters_change);
    *reserved = c;
    return err;
}

/* making -> running. -ESRCH: a stop has begun meanwhile. During a stop only a fiber can make a cluster, and threads
 * cannot spawn into it. */
static int cluster_publish(struct weft__cluster *c) {
    pthread_mutex_lock(&weft__clusters_change);
    bool may = cluster_may_make();
    if (may) {
        weft__cluster_open(c, closed_to_threads ? WEFT_CLOSED_TO_THREADS : WEFT_OPEN);
        store_rel(&c->making, false);
    }
    pthread_mutex_unlock(&weft__clusters_change);
    return may ? 0 : -ESRCH;
}

static int cluster_create(struct weft_cluster *cluster, const struct weft_config *config, bool automatic, int node) {
    struct weft__cluster *c;
    int err = cluster_reserve(&c);
    if (err) return err;
    err = weft__cluster_make(c, config, automatic, node);
    if (!err) {
        struct weft_cluster handle = weft__cluster_handle(c);
        err = cluster_publish(c);
        if (err)
            weft__cluster_dismantle(c);
        else
            *cluster = handle;
    }
    if (err) store_rel(&c->making, false); /* pairs with is_changing: it is vacant again */
    return err;
}

WEFT_PUBLIC int weft__cluster_create(struct weft_cluster *cluster, const struct weft_config *given, size_t size) {
    struct weft_config config;
    if (!cluster) return -EINVAL;
    if (!load_acq(&weft__cluster.running)) return -ESRCH;
    bool automatic;
    int err = weft__config_take(&config, given, size);
    if (!err) err = weft__config_complete(&config, &automatic);
    return err ? err : cluster_create(cluster, &config, automatic, -1);
}

/* --- ending ----------------------------------------------------------------------------------------- */

static bool is_elsewhere(struct weft__fiber *f, void *cluster) {
    return weft__cluster_of(load_rlx(&f->context.placement)) != cluster;
}

/* How many fibers have come into the cluster so far, spawned or moved. */
static uint64_t births_in(struct weft__cluster *c) {
    uint64_t n = load_acq(&c->injector.spawned) + load_acq(&c->arrivals);
    for (unsigned i = 0; i < load_acq(&c->count); i++) n += load_rlx(&c->workers[i]->numbers.spawned);
    return n;
}

/* running -> ending, if no fiber has come since the caller counted `births`; after that count it saw no fiber in the
 * cluster. Spawns from outside are counted under the injector's lock. The cluster is closed under the same lock, so
 * each spawn is counted before, or refused. Locked. */
static bool close_if_empty(struct weft__cluster *c, uint64_t births) {
    weft__lock(&c->injector.lock);
    bool empty = births_in(c) == births;
    if (empty) c->injector.closed = WEFT_CLOSED;
    weft__unlock(&c->injector.lock);
    if (!empty) return false;
    store_rlx(&c->generation, load_rlx(&c->generation) + 1);
    store_rel(&c->ending, true); /* pairs with weft__each_cluster, which must see running or ending at any time */
    store_rel(&c->running, false);
    return true;
}

/*
 * Begins the end of the cluster if no fiber lives in it. The loop over all records may miss a fiber: another fiber
 * spawned it into a record that the loop had passed, and ended before the loop came to it. But that spawn raises the
 * number of births between the two counts. If fibers live in the cluster, or have come meanwhile, the cluster stays as
 * it was (-EBUSY), and no spawn into it is refused.
 */
static int begin_end(struct weft__cluster *c, struct weft_cluster handle) {
    uint64_t births = births_in(c);
    weft__fence_heavy(); /* pairs with weft__notify in a spawn: the loop sees the fibers that were counted */
    if (!weft__each_live(is_elsewhere, c)) return -EBUSY;
    weft__fence_heavy(); /* the same: the second count includes the spawns of each fiber that the loop saw ended */
    pthread_mutex_lock(&weft__clusters_change);
    int err = weft__cluster_find(handle) == c && may_change() ? 0 : -ESRCH;
    if (!err && !close_if_empty(c, births)) err = -EBUSY;
    pthread_mutex_unlock(&weft__clusters_change);
    return err;
}

/* Moves the timers of the cluster to another worker: deadlines of fibers that have left, and timers of the program. */
static void hand_on_timers(struct weft__cluster *c, struct weft__worker *to) {
    for (unsigned i = 0; i < c->count; i++)
        if (weft__wheel_next(&c->workers[i]->wheel) != WEFT_FOREVER)
            weft__wheel_move(&c->workers[i]->wheel, &to->wheel);
    fence_sc(); /* pairs with a worker that announces its sleep: it sees the timers, or this thread wakes it */
    weft__idle_wake(to);
}

/* The new placement of a fiber that moves to cluster c. Only the priority stays: a pin names a worker of the old
 * cluster. */
static uint32_t placement_in(struct weft__cluster *c, uint32_t placement) {
    return (placement & WEFT_PLACEMENT_PRIORITY) | load_rlx(&c->fibers);
}

/* Moves a fiber of this cluster to the first cluster. Such a fiber was spawned here by a fiber that had been moved away
 * but was still running here. */
static bool take_in(struct weft__fiber *f, void *cluster) {
    uint32_t placement = load_rlx(&f->context.placement);
    while (weft__cluster_of(placement) == cluster &&
           !cas_ar(&f->context.placement, &placement,
                   placement_in(&weft__cluster, placement) | (placement & WEFT_PLACEMENT_MOVING)))
        continue;
    return true;
}

/* Hands everything that is left in the cluster's queues on. A waker may have read a fiber's placement just before the
 * fiber was moved away, and have put it into a queue of this cluster. */
static void cluster_hand_on(struct weft__cluster *c) {
    if (c != &weft__cluster) weft__each_live(take_in, c);
    fence_sc(); /* pairs with weft__mail: it sees that the cluster does not run, or this thread sees the mail */
    for (unsigned i = 0; i < c->count; i++) weft__mailbox_hand_on(c->workers[i]);
    weft__injector_hand_on(c);
    if (c != &weft__cluster) hand_on_timers(c, weft__cluster.workers[0]);
}

void weft__cluster_end(struct weft__cluster *c) {
    join_carriers(c);
    cluster_hand_on(c);
    weft__tasks_reset(c);
    pthread_mutex_lock(&weft__clusters_change);
    weft__stats_add(c, &weft__past); /* a stop adds these numbers to find out whether all fibers have ended */
    release_workers(c);
    store_rel(&c->running, false);
    store_rel(&c->ending, false);
    pthread_mutex_unlock(&weft__clusters_change);
    weft__quiet_notify(); /* a stop may be waiting for the end of this cluster */
}

WEFT_PUBLIC int weft_cluster_destroy(struct weft_cluster cluster) {
    struct weft__worker *w = weft__self();
    struct weft__cluster *c = weft__cluster_find(cluster);
    if (!c) return -ESRCH;
    if (c == &weft__cluster) return -EINVAL;
    if (w && w->cluster == c) return -EDEADLK;
    int err = begin_end(c, cluster);
    if (err) return err;
    weft__monitor_leaves(c); /* a stop need not do this: it ends the monitor before the clusters */
    weft__cluster_end(c);
    return 0;
}

/* Makes a cluster for each node that the process may use, n at most. Returns how many. *err: why there are no more. */
static unsigned create_per_node(struct weft_cluster *clusters, unsigned n, struct weft_config *config, int *err) {
    unsigned made = 0;
    for (int node = 0; !*err && made < n && node < (int)weft__topology()->nodes; node++) {
        config->workers = weft__node_cpus(node);
        if (config->workers && !(*err = cluster_create(&clusters[made], config, false, node))) made++;
    }
    return made;
}

WEFT_PUBLIC int weft__cluster_per_node(struct weft_cluster *clusters, unsigned n, const struct weft_config *given,
                                       size_t size) {
    struct weft_config config;
    bool automatic;
    if (!clusters || !n) return -EINVAL;
    if (!load_acq(&weft__cluster.running)) return -ESRCH;
    int err = weft__config_take(&config, given, size);
    if (!err) err = weft__config_complete(&config, &automatic);
    if (err) return err;
    unsigned made = create_per_node(clusters, n, &config, &err);
    while (err && made) weft_cluster_destroy(clusters[--made]);
    return err ? err : (int)made;
}

/* --- size, rest ----------------------------------------------------------------------------------- */

WEFT_PUBLIC int weft_cluster_resize(struct weft_cluster cluster, unsigned workers) {
    if (workers > WEFT_WORKERS_MAX) return -EINVAL;
    struct weft__cluster *c;
    uint64_t generation;
    if (!(c = find_with_generation(cluster, &generation))) return -ESRCH;
    int node = load_rlx(&c->node);
    bool automatic = !workers && node < 0;
    if (!workers) workers = node < 0 ? weft__default_workers() : weft__node_cpus(node);
    return weft__resize(c, generation, workers, automatic);
}

WEFT_PUBLIC int weft_cluster_workers(struct weft_cluster cluster) {
    struct weft__cluster *c = weft__cluster_find(cluster);
    return c ? (int)load_rlx(&c->configured) : -ESRCH;
}

WEFT_PUBLIC int weft_cluster_drain_until(struct weft_cluster cluster, uint64_t deadline) {
    uint64_t generation;
    struct weft__cluster *c = find_with_generation(cluster, &generation);
    return c ? weft__drain_wait(c, generation, deadline) : -ESRCH;
}

WEFT_PUBLIC int weft_cluster_drain(struct weft_cluster cluster) {
    return weft_cluster_drain_until(cluster, WEFT_FOREVER);
}

/* --- moving ---------------------------------------------------------------------------------------- */

/*
 * Moves the fiber to cluster c. The fiber may end at any time, and its record may begin another life, which this stale
 * handle must not move. A compare-and-swap of the placement alone cannot tell the two lives apart, because both may
 * have the same placement. So there are two steps:
 *
 *   1. Set the mark MOVING in the placement, then read the life. If it is the right life, the mark is in that life's
 *      placement. If not, the mark may be in a wrong life's placement. It does no harm there, and is removed.
 *   2. Replace the marked placement by a compare-and-swap. A new life begins with a placement without the mark, so this
 *      cannot change it: then the fiber has ended, and there is nothing to move.
 *
 * Locked: one move at a time.
 */
static int rehouse_fiber(struct weft__fiber *f, struct weft_fiber fiber, struct weft__cluster *c) {
    /* Pairs with the start of a fiber in this record: the life below is not older. */
    uint32_t placement = or_ar(&f->context.placement, WEFT_PLACEMENT_MOVING) | WEFT_PLACEMENT_MOVING;
    bool lives = load_rlx(&f->slot.life) == fiber.id;
    while (placement & WEFT_PLACEMENT_MOVING) {
        uint32_t to = lives ? placement_in(c, placement) : placement & ~WEFT_PLACEMENT_MOVING;
        if (cas_ar(&f->context.placement, &placement, to)) return lives ? 0 : -ESRCH; /* pairs with weft__mail */
    }
    return -ESRCH; /* the fiber has ended, and the record is used again */
}

static int cluster_move_fiber(struct weft__fiber *f, struct weft_fiber fiber, struct weft_cluster to) {
    pthread_mutex_lock(&weft__clusters_change); /* the cluster must not end just now */
    struct weft__cluster *c = weft__cluster_find(to);
    int err = c ? rehouse_fiber(f, fiber, c) : -ESRCH;
    if (!err) store_rel(&c->arrivals, load_rlx(&c->arrivals) + 1); /* pairs with births_in: the fiber is seen there */
    pthread_mutex_unlock(&weft__clusters_change);
    return err;
}

static WEFT_SWITCHES void fiber_go_over(struct weft__worker *w, struct weft__fiber *me) {
    weft__inject(weft__cluster_of(load_rlx(&me->context.placement)), me);
    weft__suspend(w, me);
}

WEFT_PUBLIC int weft_cluster_move(struct weft_fiber fiber, struct weft_cluster to) {
    struct weft__worker *w = weft__self();
    struct weft__fiber *me = w ? load_rlx(&w->current) : NULL;
    if (!fiber.id && !me) return -EPERM;
    if (!fiber.id) fiber = weft__handle(me);
    struct weft__fiber *f = weft__fiber_of(fiber);
    if (!f || load_rlx(&f->context.kind) != WEFT_KIND_FIBER) return -ESRCH;
    int err = cluster_move_fiber(f, fiber, to);
    if (!err && f == me && weft__cluster_of(load_rlx(&me->context.placement)) != w->cluster) fiber_go_over(w, me);
    return err;
}
