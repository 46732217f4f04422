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
#include "sched/fork.h"
#include "sched/quiet.h"
#include "sched/wait.h"

struct weft__cluster weft__cluster = {.injector = {.closed = WEFT_CLOSED}, .resizing = PTHREAD_MUTEX_INITIALIZER};
_Atomic(struct weft__cluster *) weft__clusters[WEFT_CLUSTERS_MAX] = {&weft__cluster};
static pthread_mutex_t control = PTHREAD_MUTEX_INITIALIZER; /* held by a start, a stop or a run */

/* --- start ------------------------------------------------------------------------------------ */

static int start(const struct weft_config *given) {
    struct weft__cluster *c = &weft__cluster;
    struct weft_config config = given ? *given : (struct weft_config)WEFT_CONFIG_INIT;
    bool automatic;
    if (load_rlx(&c->running)) return -EBUSY;
    int err = weft__config_complete(&config, &automatic);
    if (err) return err;
    weft__fence_init();
    c->print_stats = config.stats;
    weft__threads_begin();
    weft__past = (struct weft_stats){0};
    weft__told_anew();
    weft__stack_guards(!config.no_guards);
    if ((err = weft__overflow_watch())) return err;
    if ((err = weft__cluster_start(c, &config, automatic, -1))) goto unwatch;
    if ((err = weft__monitor_start())) goto stop;
    return 0;
stop:
    weft__cluster_close(c, WEFT_CLOSED);
    weft__cluster_end(c);
unwatch:
    weft__overflow_unwatch();
    return err;
}

/* --- stop ------------------------------------------------------------------------------------- */

static bool add_ended(struct weft__cluster *c, void *sum) {
    for (unsigned i = 0; i < c->count; i++)
        *(uint64_t *)sum += load_acq(&c->workers[i]->numbers.completed); /* pairs with end */
    return true;
}

static bool add_spawned(struct weft__cluster *c, void *sum) {
    *(uint64_t *)sum += load_acq(&c->injector.spawned);
    for (unsigned i = 0; i < c->count; i++) {
        *(uint64_t *)sum += load_acq(&c->workers[i]->numbers.spawned);
        *(uint64_t *)sum += load_acq(&c->workers[i]->ring.in_flight); /* what is under way has not ended either */
    }
    return true;
}

/* See the head of the file. */
static bool all_ended(void) {
    pthread_mutex_lock(&weft__clusters_change);
    uint64_t ended = weft__past.completed, spawned = weft__past.spawned;
    weft__each_cluster(add_ended, &ended);
    weft__each_cluster(add_spawned, &spawned);
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
    weft__each_cluster(add_wakes, &before);
    if (!weft__each_cluster(is_quiet, NULL)) return false;
    weft__drain_collect(); /* who waits for quiet is woken by it, here or by the last that fell asleep */
    if (load_acq(&weft__quiet.waiting) > 1) return false; /* and has not run yet; we are one */
    weft__each_cluster(add_wakes, &after);
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

/* While it is closed to them, threads cannot hand in new fibers: a stop must come to an end. */
static bool close_it(struct weft__cluster *c, void *to_threads) {
    if (load_acq(&c->running)) weft__cluster_close(c, to_threads ? WEFT_CLOSED_TO_THREADS : WEFT_OPEN);
    return true;
}

/* Being destroyed by somebody; that will be over in a moment. */
static bool is_not_ending(struct weft__cluster *c, void *unused) {
    (void)unused;
    return c == &weft__cluster || !load_acq(&c->ending);
}

/* No cluster is made any more, and nobody else ends one. */
static void claim_clusters(void) {
    pthread_mutex_lock(&weft__clusters_change);
    store_rel(&weft__cluster.ending, true);
    while (!weft__each_cluster(is_not_ending, NULL)) {
        pthread_mutex_unlock(&weft__clusters_change);
        weft__nap(100 * WEFT_MICROSECOND);
        pthread_mutex_lock(&weft__clusters_change);
    }
    pthread_mutex_unlock(&weft__clusters_change);
}

static bool end_it(struct weft__cluster *c, void *unused) {
    (void)unused;
    if (c != &weft__cluster) weft__cluster_end(c);
    return true;
}

static void shut_down(void) {
    weft__monitor_stop();
    claim_clusters();
    if (weft__cluster.print_stats) weft__stats_print();
    weft__each_cluster(end_it, NULL);
    weft__cluster_end(&weft__cluster); /* the last one: until then no other begins or ends */
    weft__layers_stopped();
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
    weft__each_cluster(close_it, &control);
    if (wait_for_end()) {
        report_blocked();
        weft__each_cluster(close_it, NULL);
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
    weft__each_cluster(close_it, &control);
    weft__each_live(abandon_it, NULL);
    shut_down();
    return -EBUSY;
}

void weft__runtime_forked(void) {
    pthread_mutex_init(&control, NULL);
    pthread_mutex_init(&weft__clusters_change, NULL);
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
};

/* What it returns is the fiber's result, like that of a main that ends by weft_exit. */
static void *call_main(void *call) {
    struct main_call *m = call;
    return (void *)(intptr_t)m->main(m->arg);
}

WEFT_PUBLIC int weft_run(int (*main)(void *), void *arg, const struct weft_config *config) {
    if (!main) return -EINVAL;
    struct main_call call = {main, arg};
    void *result = NULL;
    struct weft_attr attr = {.name = "main"};
    if (weft__self() || pthread_mutex_trylock(&control)) return -EBUSY;
    int err = start(config);
    if (!err) {
        struct weft_fiber first;
        err = weft_spawn_at(&first, &attr, call_main, &call, "weft_run");
        if (!err) err = weft_join(first, &result);
        int stopped = stop_for_good();
        if (!err) err = stopped;
    }
    pthread_mutex_unlock(&control);
    return err ? err : (int)(intptr_t)result;
}

WEFT_PUBLIC unsigned weft_workers(void) {
    struct weft__worker *w = weft__self();
    struct weft__cluster *c = w ? w->cluster : &weft__cluster;
    return load_acq(&c->running) ? load_rlx(&c->configured) : 0;
}

WEFT_PUBLIC const char *weft_version(void) {
    return WEFT_STR(WEFT_VERSION_MAJOR) "." WEFT_STR(WEFT_VERSION_MINOR) "." WEFT_STR(WEFT_VERSION_PATCH);
}
