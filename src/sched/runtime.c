/*
 * The runtime: start, stop, run. Owns the cluster and its workers.
 *
 * When is everything done? Each worker counts the fibers it spawned and the ones that ended on it;
 * the numbers only grow. The ends are summed first, the spawns after: if both are equal, then at
 * the moment between the two sums nothing was outstanding, because the ends can only have been more
 * by then and the spawns only fewer, and there are never more ends than spawns.
 *
 * When is nothing going to happen any more? See quiet.c.
 */
#include "base/say.h"
#include "sched/cluster.h"
#include "sched/config.h"
#include "sched/quiet.h"
#include "sched/wait.h"

struct weft__cluster weft__cluster = {.injector = {.closed = true}, .resizing = PTHREAD_MUTEX_INITIALIZER};
_Atomic(struct weft__cluster *) weft__clusters[WEFT_CLUSTERS_MAX] = {&weft__cluster};
static pthread_mutex_t control = PTHREAD_MUTEX_INITIALIZER; /* held by a start, a stop or a run */

/* While it is closed, threads cannot hand in new fibers: a stop must come to an end. */
static void close_injector(struct weft__cluster *c, bool closed) {
    weft__lock(&c->injector.lock);
    c->injector.closed = closed;
    weft__unlock(&c->injector.lock);
}

/* --- start ------------------------------------------------------------------------------------ */

/* Ends the carriers, which find nothing to do any more. */
static void join_carriers(struct weft__cluster *c) {
    pthread_mutex_lock(&c->resizing); /* nobody adds a worker from here on */
    store_rel(&c->stopping, true);
    pthread_mutex_unlock(&c->resizing);
    fence_sc(); /* pairs with the fence of a worker that announces its sleep: it sees stopping, or we it */
    for (unsigned i = 0; i < c->count; i++) weft__idle_wake(c->workers[i]);
    for (unsigned i = 0; i < c->count; i++) pthread_join(c->workers[i]->thread, NULL);
    for (unsigned i = 0; i < c->count; i++) weft__worker_release(c->workers[i]);
    store_rlx(&c->count, 0);
    store_rlx(&c->wanted, 0);
    store_rlx(&c->configured, 0);
}

/* A cluster with its workers, ready for fibers. */
int weft__cluster_start(struct weft__cluster *c, unsigned workers) {
    store_rlx(&c->stopping, false);
    store_rlx(&c->idle.state, 0);
    int err = weft__resize(c, workers);
    if (err) {
        join_carriers(c);
        return err;
    }
    weft__lock(&c->injector.lock);
    c->injector.closed = false;
    store_rlx(&c->injector.spawned, 0);
    weft__unlock(&c->injector.lock);
    store_rel(&c->running, true); /* pairs with whoever asks whether there is a runtime */
    return 0;
}

void weft__cluster_stop(struct weft__cluster *c) {
    join_carriers(c);
    store_rel(&c->running, false);
}

static int start(const struct weft_config *given) {
    struct weft__cluster *c = &weft__cluster;
    struct weft_config config = given ? *given : (struct weft_config)WEFT_CONFIG_INIT;
    if (load_rlx(&c->running)) return -EBUSY;
    c->automatic = !config.workers;
    int err = weft__config_complete(&config);
    if (err) return err;
    weft__fence_init();
    c->stealing = !config.no_stealing;
    c->helping = !config.no_helping;
    c->stack_class = (uint8_t)weft__stack_class(config.stack_size);
    c->print_stats = config.stats;
    c->returns = config.unpark == WEFT_UNPARK_LAST;
    c->late_after = config.bound;
    c->bound = config.bind;
    c->node = -1;
    weft__past = (struct weft__past){0, 0};
    weft__stack_guards(!config.no_guards);
    if ((err = weft__overflow_watch())) return err;
    if ((err = weft__cluster_start(c, config.workers))) goto unwatch;
    if ((err = weft__monitor_start())) goto stop;
    return 0;
stop:
    close_injector(c, true);
    weft__cluster_stop(c);
unwatch:
    weft__overflow_unwatch();
    return err;
}

/* --- stop ------------------------------------------------------------------------------------- */

/* Calls fn for each cluster that runs, until it says no; returns whether all said yes. */
static bool each_cluster(bool (*fn)(struct weft__cluster *, void *), void *arg) {
    for (unsigned i = 0; i < WEFT_CLUSTERS_MAX; i++) {
        struct weft__cluster *c = load_acq(&weft__clusters[i]);
        if (c && load_acq(&c->running) && !fn(c, arg)) return false;
    }
    return true;
}

static bool add_ended(struct weft__cluster *c, void *sum) {
    for (unsigned i = 0; i < c->count; i++)
        *(uint64_t *)sum += load_acq(&c->workers[i]->numbers.completed); /* pairs with end */
    return true;
}

static bool add_spawned(struct weft__cluster *c, void *sum) {
    *(uint64_t *)sum += load_acq(&c->injector.spawned);
    for (unsigned i = 0; i < c->count; i++) *(uint64_t *)sum += load_acq(&c->workers[i]->numbers.spawned);
    return true;
}

/* See the head of the file. */
static bool all_ended(void) {
    pthread_mutex_lock(&weft__clusters_change);
    uint64_t ended = weft__past.ended, spawned = weft__past.spawned;
    each_cluster(add_ended, &ended);
    each_cluster(add_spawned, &spawned);
    pthread_mutex_unlock(&weft__clusters_change);
    return ended == spawned;
}

static bool is_quiet(struct weft__cluster *c, void *unused) {
    (void)unused;
    return weft__is_quiet(c);
}

static bool add_wakes(struct weft__cluster *c, void *sum) {
    *(uint64_t *)sum += load_acq(&c->idle.wakes);
    return true;
}

/* All are quiet, one after the other, and nobody woke meanwhile. */
static bool nothing_will_happen(void) {
    uint64_t before = 0, after = 0;
    each_cluster(add_wakes, &before);
    if (!each_cluster(is_quiet, NULL)) return false;
    each_cluster(add_wakes, &after);
    return before == after;
}

/* Waits until all fibers have ended: 0; or until the rest is blocked for ever: -EBUSY. */
static int wait_for_end(void) {
    int err = 0;
    add_ar(&weft__quiet.waiting, 1);
    fence_sc(); /* pairs with the fence of the last worker that goes to sleep: it sees that we wait, or we it */
    for (;;) {
        uint32_t told = load_acq(&weft__quiet.told);
        if (all_ended()) break;
        if (nothing_will_happen() && !all_ended()) {
            err = -EBUSY;
            break;
        }
        weft__futex_wait(&weft__quiet.told, told, WEFT_FOREVER);
    }
    add_ar(&weft__quiet.waiting, -1);
    return err;
}

static bool close_it(struct weft__cluster *c, void *closed) {
    close_injector(c, closed != NULL);
    return true;
}

static bool stop_it(struct weft__cluster *c, void *unused) {
    (void)unused;
    weft__cluster_stop(c);
    return true;
}

static void shut_down(void) {
    weft__monitor_stop();
    if (weft__cluster.print_stats) weft__stats_print(&weft__cluster);
    each_cluster(stop_it, NULL);
    weft__backtrace_unwatch();
    weft__overflow_unwatch();
}

static bool name_blocked(struct weft__fiber *f, void *count) {
    enum { NAMED = 16 };
    size_t *n = count;
    struct weft__text text;
    if (++*n <= NAMED) weft__say("blocked, and nobody is left to wake it: %s", weft__describe(f, &text));
    return true;
}

static void report_blocked(void) {
    size_t n = 0;
    weft__each_live(name_blocked, &n);
    if (n > 16) weft__say("blocked, too: %z more", n - 16);
}

static int stop(void) {
    if (!load_rlx(&weft__cluster.running)) return -ESRCH;
    each_cluster(close_it, &control);
    if (wait_for_end()) {
        report_blocked();
        each_cluster(close_it, NULL);
        return -EBUSY;
    }
    shut_down();
    return 0;
}

static bool cancel_it(struct weft__fiber *f, void *unused) {
    (void)unused;
    weft_cancel(weft__handle(f));
    return true;
}

static bool abandon_it(struct weft__fiber *f, void *unused) {
    (void)unused;
    store_rlx(&f->context.kind, WEFT_KIND_ABANDONED);
    return true;
}

/* For a run: whoever is blocked is cancelled; whoever then still does not end is left as it is. Its
 * memory stays, because others may hold pointers into its stack. */
static int stop_for_good(void) {
    int err = stop();
    if (err != -EBUSY) return err;
    weft__each_live(cancel_it, NULL);
    err = stop();
    if (err != -EBUSY) return err;
    each_cluster(close_it, &control);
    weft__each_live(abandon_it, NULL);
    shut_down();
    return -EBUSY;
}

/* --- the public calls -------------------------------------------------------------------------- */

WEFT_PUBLIC int weft_start(const struct weft_config *config) {
    if (weft__self() || pthread_mutex_trylock(&control)) return -EBUSY;
    int err = start(config);
    pthread_mutex_unlock(&control);
    return err;
}

WEFT_PUBLIC int weft_stop(void) {
    if (weft__self()) return -EDEADLK;
    if (pthread_mutex_trylock(&control)) return -EBUSY;
    int err = stop();
    pthread_mutex_unlock(&control);
    return err;
}

struct main_call {
    int (*main)(void *);
    void *arg;
    int result;
};

static void *call_main(void *call) {
    struct main_call *m = call;
    m->result = m->main(m->arg);
    return NULL;
}

WEFT_PUBLIC int weft_run(int (*main)(void *), void *arg, const struct weft_config *config) {
    if (!main) return -EINVAL;
    struct main_call call = {main, arg, 0};
    struct weft_attr attr = {.name = "main"};
    if (weft__self() || pthread_mutex_trylock(&control)) return -EBUSY;
    int err = start(config);
    if (!err) {
        struct weft_fiber first;
        err = weft_spawn_at(&first, &attr, call_main, &call, "weft_run");
        if (!err) err = weft_join(first, NULL);
        int stopped = stop_for_good();
        if (!err) err = stopped;
    }
    pthread_mutex_unlock(&control);
    return err ? err : call.result;
}

WEFT_PUBLIC unsigned weft_workers(void) {
    struct weft__worker *w = weft__self();
    struct weft__cluster *c = w ? w->cluster : &weft__cluster;
    return load_acq(&c->running) ? load_rlx(&c->configured) : 0;
}

WEFT_PUBLIC const char *weft_version(void) {
    return WEFT_STR(WEFT_VERSION_MAJOR) "." WEFT_STR(WEFT_VERSION_MINOR) "." WEFT_STR(WEFT_VERSION_PATCH);
}
