/* SPDX-License-Identifier: MIT */
/*
 * The runtime: start, stop, run. Owns the first cluster and its workers.
 *
 * When has everything ended? Each worker counts the fibers that it spawned, and the fibers that ended on it. The
 * numbers only grow. A stop first sums the ends, then the spawns. If both sums are equal, nothing was outstanding at
 * the moment between the two: at that moment there were at least as many ends and at most as many spawns, and there are
 * never more ends than spawns. A request that is under way counts like a fiber. Threads cannot spawn once a stop has
 * begun. The functions of timers can, so a stop holds them before the last sum:
 *
 *   the stop                                     a worker that finds something due in a wheel
 *   1. weft__timers_held = true                  1. expiring is odd
 *   -- heavy fence --                            -- light fence --
 *   2. waits until no worker is expiring         2. weft__timers_held? then it calls nothing
 *   3. sums: nothing can be added any more       3. expiring is even
 *
 * When will nothing happen any more? When all clusters are quiet (quiescence.c), and no thread of the program is left
 * that could wake a fiber (thread.c). A thread that weft knows nothing of may wake one at any time. So a stop waits as
 * long as there is such a thread, and prints a line about it.
 */
#include "base/message.h"
#include "base/probe.h"
#include "base/sanitizer.h"
#include "look/dump.h"
#include "look/layout.h"
#include "look/recorder.h"
#include "look/sampler.h"
#include "sched/control/atfork.h"
#include "sched/control/cluster.h"
#include "sched/control/config.h"
#include "sched/control/quiescence.h"
#include "sched/core/layers.h"
#include "sched/core/thread.h"
#include "sched/elastic/monitor.h"
#include "sched/elastic/recording.h"
#include "sched/elastic/trim.h"
#include "sched/life/background.h"
#include "sched/life/stack_overflow.h"
#include "sched/life/stack_shortage.h"
#include "sched/observe/stats.h"
#include "sched/wait/cancel_log.h"

#include <limits.h>
#include <stdlib.h>

static pthread_mutex_t control = PTHREAD_MUTEX_INITIALIZER; /* held by a start, a stop or a run */
/* What happens to a program in which every fiber is blocked for ever, main included (no_deadlock). */
static enum { GIVES_UP, HANGS, ABORTS, IS_SILENT } deadlock; /* the values of no_deadlock */

/* --- start ------------------------------------------------------------------------------------ */

static int runtime_start(const struct weft_config *given, size_t size) {
    struct weft__cluster *c = &weft__cluster;
    struct weft_config config;
    bool automatic;
    if (load_rlx(&c->running)) return -EBUSY;
    int err = weft__config_take(&config, given, size);
    if (!err) err = weft__config_complete(&config, &automatic);
    if (err) return err;
    weft__san_notice();
    weft__atfork_register();
    weft__fence_init();
    weft__threads_begin();
    weft__clusters_begin();
    weft__cancel_log_reset();
    weft__background_anew();
    weft__stack_set_guards(!config.no_guards);
    c->print_stats = config.stats;
    deadlock = config.no_deadlock <= IS_SILENT ? config.no_deadlock : HANGS;
    if ((err = weft__overflow_watch())) return err;
    if ((err = weft__trimmer_start())) goto unwatch;
    if ((err = weft__cluster_make(c, &config, automatic, -1))) goto stop_trimmer;
    if ((err = weft__monitor_start())) goto dismantle;
    store_rlx(&weft__timers_held, false);
    weft__dump_watch();
    weft__profile_watch();
    weft__trace_watch();
    weft__probe1(runtime_begin, config.workers);
    weft__cluster_open(c, WEFT_OPEN);    /* nothing fails after this, so each spawned fiber will run */
    weft__recording_tick(weft__clock()); /* WEFT_TRACE: records every event from the first fiber on */
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
        *(uint64_t *)sum += load_acq(&c->workers[i]->numbers.completed); /* pairs with fiber_end */
    return true;
}

struct left {
    uint64_t fibers, requests, operations; /* operations: requests that call a function instead of waking a fiber */
};

static bool add_requests(struct weft__cluster *c, void *left) {
    struct left *l = left;
    for (unsigned i = 0; i < c->count; i++) { /* pairs with reap_completions: the functions have returned */
        l->requests += load_acq(&c->workers[i]->ring.in_flight);
        l->operations += load_acq(&c->workers[i]->ring.functions);
    }
    return true;
}

static bool add_spawned(struct weft__cluster *c, void *sum) {
    *(uint64_t *)sum += load_acq(&c->injector.spawned);
    for (unsigned i = 0; i < c->count; i++) *(uint64_t *)sum += load_acq(&c->workers[i]->numbers.spawned);
    return true;
}

/* How much is outstanding. At one moment during this call it was at most this much; see the head of the file. */
static struct left count_left(void) {
    struct left left = {0};
    pthread_mutex_lock(&weft__clusters_change);
    uint64_t ended = weft__past.completed, spawned = weft__past.spawned;
    weft__each_cluster(add_ended, &ended);
    weft__each_cluster(add_requests, &left);
    weft__each_cluster(add_spawned, &spawned);
    pthread_mutex_unlock(&weft__clusters_change);
    left.fibers = spawned - ended;
    return left;
}

static bool all_ended(void) {
    struct left left = count_left();
    return !left.fibers && !left.requests;
}

/* Are only background fibers left, and the requests that they wait for? An operation that calls a function keeps the
 * runtime alive: without a ring, an ordinary fiber would make it. See background.c. */
static bool only_background_left(void) {
    struct weft__background before = weft__background_now();
    if (likely(before.begun == before.ended)) return false;
    struct left left = count_left();
    struct weft__background after = weft__background_now();
    if (before.begun != after.begun || before.ended != after.ended) return false;
    return left.fibers <= before.begun - before.ended && !left.operations;
}

static bool calls_nothing(struct weft__cluster *c, void *unused) {
    (void)unused;
    for (unsigned i = 0; i < c->count; i++)
        if (load_acq(&c->workers[i]->progress.expiring) & 1) return false; /* pairs with weft__expire */
    return true;
}

/* Has everything ended, and can nothing begin? If so, timers call no functions from now on. If not, they still do. */
static bool all_ended_for_good(void) {
    if (!all_ended()) return false;
    store_rlx(&weft__timers_held, true);
    weft__fence_heavy(); /* pairs with weft__expire: it sees that timers are held, or we see that it is expiring */
    for (unsigned turn = 0; !weft__each_cluster(calls_nothing, NULL);) weft__backoff(&turn);
    bool ended = all_ended();
    if (!ended) store_rlx(&weft__timers_held, false); /* workers with due timers stay awake, so none is lost */
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

/* Were all clusters quiet at one moment? They were found quiet one after the other, and no worker woke meanwhile. */
static bool all_quiet(uint64_t *wakes) {
    uint64_t before = 0, after = 0;
    weft__each_cluster(add_wakes, &before);
    if (!weft__each_cluster(is_quiet, NULL)) return false;
    weft__drain_collect(); /* ends the drains of quiet clusters; the last worker that fell asleep may have done so */
    if (load_acq(&weft__quiet.waiting) > 1) return false; /* the caller counts as one; a drain will go on */
    weft__each_cluster(add_wakes, &after);
    *wakes = after;
    return before == after;
}

enum outlook {
    GOES_ON, /* something happens or will happen */
    WAITS,   /* nothing will happen unless a thread of the program acts */
    BLOCKED, /* nothing will happen, and no thread of the program is left to act */
};

/*
 * The threads are counted between two looks at the clusters. If no worker has woken between the two looks, no fiber has
 * run, so no fiber has woken or made a thread. If a thread was awake before the count and woke a fiber, the second look
 * notices.
 */
static enum outlook stop_outlook(void) {
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

/* Prints why each fiber is blocked, with stacks. If that is not possible, prints the names of the fibers. */
static void report_deadlock(void) {
    if (!weft__explain_self()) report_blocked();
}

/* Main has returned, but other fibers are left. */
static void report_left_over(void) {
    weft__say(
        "main has returned, and nothing can happen any more: the other fibers are blocked, and are cancelled now");
    report_deadlock();
}

static bool count_fiber(struct weft__fiber *f, void *count) {
    (void)f;
    ++*(size_t *)count;
    return true;
}

static void report_abandoned(void) {
    size_t n = 0;
    weft__each_live(count_fiber, &n);
    weft__say("blocked fibers that did not end when they were cancelled, and are abandoned: %z", n);
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
    if (!some.count || !threads) return; /* the wait is over meanwhile */
    weft__say("the stop waits: %z fibers are blocked, and only another thread could wake them%s. One of them: %s",
              some.count, threads == UINT_MAX ? "" : ", of which the program still has some", some.text.text);
}

/* If a stop waits only for threads of the program, prints a line after a second, and again at growing intervals. */
struct patience {
    uint64_t since, length; /* since: 0 while the stop does not wait for threads */
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

/* A stop looks when the last worker falls asleep, and also at these intervals: a thread that ends does not notify the
 * stop, and functions of timers may keep the workers awake. */
#define WEFT_LOOK_FIRST WEFT_MILLISECOND
#define WEFT_LOOK_LAST (256 * WEFT_MILLISECOND)

/* Waits until all fibers have ended (0), or until the remaining fibers are blocked for ever (-EBUSY). */
static int runtime_wait_for_end(void) {
    struct patience patience = {0};
    int err = 0;
    bool background_told = false;
    add_ar(&weft__quiet.waiting, 1);
    /* Pairs with the fence of the last worker that goes to sleep: it sees that a stop waits, or the look below sees
     * that it sleeps. */
    fence_sc();
    for (uint64_t nap = WEFT_LOOK_FIRST; !err; nap = nap < WEFT_LOOK_LAST ? 2 * nap : nap) {
        uint32_t seen = load_acq(&weft__quiet.notified);
        if (all_ended_for_good()) break;
        if (!background_told && only_background_left()) {
            background_told = true;
            weft__background_end(true);
            nap = WEFT_LOOK_FIRST;
        }
        enum outlook o = stop_outlook();
        if (o == BLOCKED && !all_ended())
            err = -EBUSY;
        else
            weft__futex_wait(&weft__quiet.notified, seen, weft__clock() + nap);
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

/* Drops all timers. They are held, and a worker with a due timer would never sleep. */
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
    weft__cluster_end(&weft__cluster); /* last, because no cluster can begin or end without it */
    weft__starved_forget();
    weft__trimmer_stop();
    weft__layers_stopped();
    weft__backtrace_unwatch();
    weft__overflow_unwatch();
}

/* report: prints the fibers that are blocked for ever; NULL: they were printed before. */
static int stop_runtime(void (*report)(void)) {
    if (!load_rlx(&weft__cluster.running)) return -ESRCH;
    weft__clusters_close(true);
    if (runtime_wait_for_end()) {
        if (report) report();
        weft__background_end(false);
        weft__clusters_close(false);
        return -EBUSY;
    }
    shut_down();
    return 0;
}

static bool deadlock_cancel(struct weft__fiber *f, void *unused) {
    (void)unused;
    weft_cancel(weft__handle(f));
    return true;
}

static bool abandon_it(struct weft__fiber *f, void *unused) {
    (void)unused;
    store_rlx(&f->context.kind, WEFT_KIND_ABANDONED);
    return true;
}

/* The stop at the end of weft_run: cancels fibers that are blocked for ever, and abandons those that do not end even
 * then. Their memory stays, because there may be pointers into their stacks. */
static int stop_for_good(void (*report)(void)) {
    int err = stop_runtime(report);
    if (err != -EBUSY) return err;
    weft__each_live(deadlock_cancel, NULL);
    err = stop_runtime(report_abandoned);
    if (err != -EBUSY) return err;
    weft__clusters_close(true);
    weft__each_live(abandon_it, NULL);
    shut_down();
    return -EBUSY;
}

void weft__runtime_after_fork(void) {
    pthread_mutex_init(&control, NULL);
    weft__clusters_after_fork();
    store_rlx(&weft__timers_held, false);
}

/* --- the public calls -------------------------------------------------------------------------- */

WEFT_PUBLIC int weft__start(const struct weft_config *config, size_t size) {
    if (weft__self() || pthread_mutex_trylock(&control)) return -EBUSY;
    int err = runtime_start(config, size);
    pthread_mutex_unlock(&control);
    return err;
}

WEFT_PUBLIC int weft_stop(void) {
    if (weft__self()) return -EDEADLK;
    if (pthread_mutex_trylock(&control)) return -EBUSY;
    int err = stop_runtime(report_blocked);
    pthread_mutex_unlock(&control);
    return err;
}

struct main_call {
    int (*main)(void *);
    void *arg;
};

/* The result of main becomes the result of the fiber, as if main had called weft_fiber_exit. */
static void *call_main(void *call) {
    struct main_call *m = call;
    return (void *)(intptr_t)m->main(m->arg);
}

#define WEFT_OFTEN (10 * WEFT_MILLISECOND)
#define WEFT_SELDOM (4 * WEFT_SECOND)

/* Waits until main has ended. -EDEADLK: every fiber, main included, is blocked for ever, and no thread of the program
 * could wake any; the reasons were printed. With no_deadlock = 1 this prints them and goes on waiting, with 3 it never
 * looks. A look at a program whose workers are busy costs nothing; otherwise it visits all fibers.
 */
static int join_main(struct weft_fiber first, void **result) {
    bool said = false;
    int err;
    uint64_t nap = deadlock == ABORTS ? WEFT_OFTEN : WEFT_SECOND;
    if (deadlock == IS_SILENT) return weft_join(first, result);
    while ((err = weft_join_until(first, result, weft__clock() + nap)) == -ETIMEDOUT) {
        if (deadlock != ABORTS && nap < WEFT_SELDOM) nap *= 2;
        if (said) continue;
        add_ar(&weft__quiet.waiting, 1);
        said = stop_outlook() == BLOCKED;
        add_ar(&weft__quiet.waiting, -1);
        if (!said) continue;
        weft__say("nothing can happen any more: all fibers are blocked, and no other thread could wake one");
        report_deadlock();
        if (deadlock == ABORTS) abort();
        if (deadlock == GIVES_UP) {
            weft_detach(first);
            return -EDEADLK;
        }
    }
    return err;
}

WEFT_PUBLIC int weft__run(int (*main)(void *), void *arg, const struct weft_config *config, size_t size) {
    if (!main) return -EINVAL;
    struct main_call call = {main, arg};
    void *result = NULL;
    struct weft_attr attr = {.name = "main"};
    if (weft__self() || pthread_mutex_trylock(&control)) return -EBUSY;
    int err = runtime_start(config, size);
    if (!err) {
        struct weft_fiber first;
        err =
            weft__stack_reserve(weft__cluster.stack_class); /* main must not wait for a stack: nothing would free one */
        if (!err) err = weft_spawn_at(&first, &attr, call_main, &call, "weft_run");
        if (!err) err = join_main(first, &result);
        int stopped = stop_for_good(err == -EDEADLK || deadlock == IS_SILENT ? NULL : report_left_over);
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

/* Reads the version from the table that tools read. So the table is linked into every program that has a runtime. */
WEFT_PUBLIC const char *weft_version(void) { return weft__layout.release; }
