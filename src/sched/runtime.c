/*
 * The runtime: start, stop, run. Owns the first cluster and its workers.
 *
 * When is everything done? Each worker counts the fibers it spawned and the ones that ended on it;
 * the numbers only grow. The ends are summed first, the spawns after: if both are equal, then at
 * the moment between the two sums nothing was outstanding, because the ends can only have been more
 * by then and the spawns only fewer, and there are never more ends than spawns. A request that is under way counts
 * like a fiber. Threads cannot spawn once a stop has begun; the functions of timers can, so these are held before
 * the last sum:
 *
 *   the stop                                     a worker that finds something due in a wheel
 *   1. timers_held = true                        1. expiring = true
 *   -- heavy fence --                            -- light fence --
 *   2. waits until no worker is expiring         2. timers_held? then it calls nothing
 *   3. sums: nothing can be added any more       3. expiring = false
 *
 * When is nothing going to happen any more? When all clusters are quiet (quiet.c), and no thread of the program is left
 * that could wake a fiber (thread.c). A thread that weft knows nothing of may do so at any time, so a stop waits for
 * as long as there is one, and says so.
 */
#include "base/say.h"
#include "sched/cluster.h"
#include "sched/config.h"
#include "sched/fork.h"
#include "sched/quiet.h"
#include "sched/starved.h"
#include "sched/trim.h"
#include "sched/wait.h"

#include <limits.h>

struct weft__cluster weft__cluster = {.injector = {.closed = WEFT_CLOSED}, .resizing = PTHREAD_MUTEX_INITIALIZER};
_Atomic(struct weft__cluster *) weft__clusters[WEFT_CLUSTERS_MAX] = {&weft__cluster};
_Atomic bool weft__timers_held;
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
    weft__threads_begin();
    weft__clusters_begin();
    weft__told_anew();
    weft__stack_guards(!config.no_guards);
    c->print_stats = config.stats;
    if ((err = weft__overflow_watch())) return err;
    if ((err = weft__trimmer_start())) goto unwatch;
    if ((err = weft__cluster_make(c, &config, automatic, -1))) goto stop_trimmer;
    if ((err = weft__monitor_start())) goto dismantle;
    store_rlx(&weft__timers_held, false);
    weft__cluster_open(c, WEFT_OPEN); /* nothing can fail from here on: a fiber that is spawned will run */
    return 0;
dismantle:
    weft__cluster_dismantle(c);
stop_trimmer:
    weft__trimmer_stop();
unwatch:
    weft__overflow_unwatch();
    return err;
}

/* --- has all ended? ----------------------------------------------------------------------------- */

static bool add_ended(struct weft__cluster *c, void *sum) {
    for (unsigned i = 0; i < c->count; i++)
        *(uint64_t *)sum += load_acq(&c->workers[i]->numbers.completed); /* pairs with end */
    return true;
}

static bool add_requests(struct weft__cluster *c, void *sum) {
    for (unsigned i = 0; i < c->count; i++)
        *(uint64_t *)sum +=
            load_acq(&c->workers[i]->ring.in_flight); /* pairs with reap: its function has been called */
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
    uint64_t ended = weft__past.completed, spawned = weft__past.spawned;
    weft__each_cluster(add_ended, &ended);
    weft__each_cluster(add_requests, &spawned);
    weft__each_cluster(add_spawned, &spawned);
    pthread_mutex_unlock(&weft__clusters_change);
    return ended == spawned;
}

static bool calls_nothing(struct weft__cluster *c, void *unused) {
    (void)unused;
    for (unsigned i = 0; i < c->count; i++)
        if (load_acq(&c->workers[i]->expiring)) return false; /* pairs with weft__expire */
    return true;
}

/* All have ended, and none will begin: timers call nothing from here on. Or else they do again. */
static bool all_ended_for_good(void) {
    if (!all_ended()) return false;
    store_rlx(&weft__timers_held, true);
    weft__fence_heavy(); /* pairs with weft__expire: it sees that they are held, or we that it calls them */
    for (unsigned turn = 0; !weft__each_cluster(calls_nothing, NULL);) weft__backoff(&turn);
    bool ended = all_ended();
    if (!ended) store_rlx(&weft__timers_held, false); /* a worker with something due does not sleep, and looks again */
    return ended;
}

/* --- is the rest blocked for ever? ---------------------------------------------------------------- */

static bool is_quiet(struct weft__cluster *c, void *unused) {
    (void)unused;
    return weft__is_quiet(c);
}

static bool add_wakes(struct weft__cluster *c, void *sum) {
    *(uint64_t *)sum += load_acq(&c->idle.wakes);
    return true;
}

/* All are quiet, one after the other, and no worker woke meanwhile. */
static bool all_quiet(uint64_t *wakes) {
    uint64_t before = 0, after = 0;
    weft__each_cluster(add_wakes, &before);
    if (!weft__each_cluster(is_quiet, NULL)) return false;
    weft__drain_collect(); /* a drain is ended by that, here or by the last worker that fell asleep */
    if (load_acq(&weft__quiet.waiting) > 1) return false; /* and has not gone on yet; we are one */
    weft__each_cluster(add_wakes, &after);
    *wakes = after;
    return before == after;
}

enum outlook {
    GOES_ON, /* something happens, or will */
    WAITS,   /* unless a thread of the program does something, nothing will */
    BLOCKED, /* nothing will, and no thread is left to do anything */
};

/*
 * The threads are looked at between two looks at the clusters. If no worker has woken between these, no fiber has run,
 * and so none has woken or made a thread; a thread that was awake before we looked has left its traces by the second
 * look.
 */
static enum outlook outlook(void) {
    uint64_t first, second;
    if (!all_quiet(&first)) return GOES_ON;
    if (weft__threads_awake()) return WAITS;
    return all_quiet(&second) && first == second ? BLOCKED : GOES_ON;
}

/* --- messages ------------------------------------------------------------------------------------- */

enum { NAMED = 16 };

static bool name_blocked(struct weft__fiber *f, void *count) {
    size_t *n = count;
    struct weft__text text;
    if (++*n <= NAMED) weft__say("blocked, and nothing is left to wake it: %s", weft__describe(f, &text));
    return true;
}

static void report_blocked(void) {
    size_t n = 0;
    weft__each_live(name_blocked, &n);
    if (n > NAMED) weft__say("blocked, too: %z more", n - NAMED);
}

struct some_fiber {
    size_t count;
    struct weft__text text;
};
static bool name_first(struct weft__fiber *f, void *some) {
    struct some_fiber *s = some;
    if (!s->count++) weft__describe(f, &s->text);
    return true;
}

static void report_waiting(void) {
    struct some_fiber some = {.count = 0};
    unsigned threads = weft__threads_awake();
    weft__each_live(name_first, &some);
    if (!some.count || !threads) return; /* that is over */
    weft__say("the stop waits: %z fibers are blocked, and only another thread could wake them%s. One of them: %s",
              some.count, threads == UINT_MAX ? "" : ", of which the program still has some", some.text.text);
}

/* Says so, in one line, after a second and then at growing intervals, that it has been waiting for threads only. */
struct patience {
    uint64_t since, length; /* 0: it does not wait for them now */
};
static void wait_patiently(struct patience *p, enum outlook o) {
    uint64_t now = weft__clock();
    if (o != WAITS) {
        *p = (struct patience){0};
    } else if (!p->since) {
        *p = (struct patience){now, WEFT_SECOND};
    } else if (now - p->since >= p->length) {
        report_waiting();
        *p = (struct patience){now, 2 * p->length};
    }
}

/* --- stop ------------------------------------------------------------------------------------- */

/* Looked at when the last worker falls asleep, and now and then: no thread tells that it ends, and functions of timers
 * may keep the workers awake. */
#define WEFT_LOOK_FIRST WEFT_MILLISECOND
#define WEFT_LOOK_LAST (256 * WEFT_MILLISECOND)

/* Waits until all fibers have ended: 0; or until the rest is blocked for ever: -EBUSY. */
static int wait_for_end(void) {
    struct patience patience = {0};
    int err = 0;
    add_ar(&weft__quiet.waiting, 1);
    fence_sc(); /* pairs with the fence of the last worker that goes to sleep: it sees that we wait, or we it */
    for (uint64_t nap = WEFT_LOOK_FIRST; !err; nap = nap < WEFT_LOOK_LAST ? 2 * nap : nap) {
        uint32_t told = load_acq(&weft__quiet.told);
        if (all_ended_for_good()) break;
        enum outlook o = outlook();
        if (o == BLOCKED && !all_ended())
            err = -EBUSY;
        else
            weft__futex_wait(&weft__quiet.told, told, weft__clock() + nap);
        wait_patiently(&patience, o);
    }
    add_ar(&weft__quiet.waiting, -1);
    return err;
}

static bool end_it(struct weft__cluster *c, void *unused) {
    (void)unused;
    if (c != &weft__cluster) weft__cluster_end(c);
    return true;
}

/* They are held, and a worker with something due would not sleep. */
static bool drop_timers(struct weft__cluster *c, void *unused) {
    (void)unused;
    for (unsigned i = 0; i < load_acq(&c->count); i++) weft__wheel_close(&c->workers[i]->wheel);
    return true;
}

static void shut_down(void) {
    weft__each_cluster(drop_timers, NULL);
    weft__monitor_stop();
    weft__clusters_claim();
    if (weft__cluster.print_stats) weft__stats_print();
    weft__each_cluster(end_it, NULL);
    weft__cluster_end(&weft__cluster); /* the last one: until then no other begins or ends */
    weft__starved_forget();
    weft__trimmer_stop();
    weft__layers_stopped();
    weft__backtrace_unwatch();
    weft__overflow_unwatch();
}

static int stop(void) {
    if (!load_rlx(&weft__cluster.running)) return -ESRCH;
    weft__clusters_close(true);
    if (wait_for_end()) {
        report_blocked();
        weft__clusters_close(false);
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

/* For a run: fibers that are blocked are cancelled; those that then still do not end are left as they are. Their
 * memory stays, because others may hold pointers into their stacks. */
static int stop_for_good(void) {
    int err = stop();
    if (err != -EBUSY) return err;
    weft__each_live(cancel_it, NULL);
    err = stop();
    if (err != -EBUSY) return err;
    weft__clusters_close(true);
    weft__each_live(abandon_it, NULL);
    shut_down();
    return -EBUSY;
}

void weft__runtime_forked(void) {
    pthread_mutex_init(&control, NULL);
    weft__clusters_forked();
    store_rlx(&weft__timers_held, false);
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

/* Waits until main has ended. If it cannot, because all is blocked, it says so, once: cancelling is not for us while
 * main has not returned. */
static int join_main(struct weft_fiber first, void **result) {
    bool said = false;
    int err;
    for (uint64_t nap = WEFT_SECOND; (err = weft_join_until(first, result, weft__clock() + nap)) == -ETIMEDOUT;) {
        if (nap < 64 * WEFT_SECOND) nap *= 2;
        if (said) continue;
        add_ar(&weft__quiet.waiting, 1);
        said = outlook() == BLOCKED;
        add_ar(&weft__quiet.waiting, -1);
        if (said) report_blocked();
    }
    return err;
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
        err = weft__stack_reserve(weft__cluster.stack_class); /* else nothing would ever end its wait for one */
        if (!err) err = weft_spawn_at(&first, &attr, call_main, &call, "weft_run");
        if (!err) err = join_main(first, &result);
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
