/*
 * The runtime: start, stop, run. Owns the cluster and its workers.
 *
 * When is everything done? Each worker counts the fibers it spawned and the ones that ended on it;
 * the numbers only grow. The ends are summed first, the spawns after: if both are equal, then at
 * the moment between the two sums nothing was outstanding, because the ends can only have been more
 * by then and the spawns only fewer, and there are never more ends than spawns.
 *
 * When is nothing going to happen any more? All workers are asleep, no timer is armed, no queue
 * holds anything, and every fiber that lives is in a wait.
 */
#include "base/say.h"
#include "sched/config.h"
#include "sched/wait.h"

#include <string.h>

struct weft__cluster weft__cluster = {.injector = {.closed = true}};
static pthread_mutex_t control = PTHREAD_MUTEX_INITIALIZER; /* held by a start, a stop or a run */

/* --- workers ---------------------------------------------------------------------------------- */

/*
 * Workers are made once and kept: threads that cancel a timer, or ask for statistics, at the moment
 * of a stop find what they look at. What the last carrier left of the shared part is as it was at
 * first: awake, no sleeper, no mail, no timers.
 */
static int prepare_worker(struct weft__cluster *c, unsigned index) {
    struct weft__worker *w = c->workers[index];
    if (!w) {
        if (!(w = weft__alloc_aligned(WEFT_APART, sizeof *w))) return -ENOMEM;
        weft__wheel_init(&w->wheel, weft__clock());
        c->workers[index] = w;
    }
    memset(w, 0, offsetof(struct weft__worker, numbers)); /* the carrier's own part */
    for (unsigned i = 0; i < WEFT_STATS_NUMBERS; i++) store_rlx(&w->numbers.number[i], 0);
    store_rlx(&w->busy_since, 0);
    store_rlx(&w->delay_max, 0);
    for (unsigned i = 0; i < WEFT_DELAY_BUCKETS; i++) store_rlx(&w->delays[i], 0);
    store_rlx(&w->age.marked_at, 0);
    store_rlx(&w->age.average, 0);
    store_rlx(&w->age.since, weft__clock());
    w->cluster = c;
    w->index = index;
    w->random = UINT64_C(0x9e3779b97f4a7c15) * (index + 1);
    if (!(w->seen = weft__alloc(c->count * sizeof *w->seen))) return -ENOMEM;
    int err = weft__ready_init(&w->ready, WEFT_READY_FIRST, 0);
    w->ready.alone = c->count == 1;
    return err;
}

static void release_worker(struct weft__worker *w) {
    weft__wheel_clear(&w->wheel);
    weft__ready_destroy(&w->ready);
    weft__free(w->seen);
    w->seen = NULL;
}

static void release_workers(struct weft__cluster *c) {
    for (unsigned i = 0; i < c->count && c->workers[i]; i++) release_worker(c->workers[i]);
    c->count = 0;
}

static int prepare_workers(struct weft__cluster *c) {
    for (unsigned i = 0; i < c->count; i++) {
        int err = prepare_worker(c, i);
        if (err) {
            if (c->workers[i]) release_worker(c->workers[i]);
            c->count = i;
            release_workers(c);
            return err;
        }
    }
    return 0;
}

/* Ends the first n carriers, which find nothing to do any more. */
static void join_carriers(struct weft__cluster *c, unsigned n) {
    store_rel(&c->stopping, true);
    fence_sc(); /* pairs with the fence of a worker that announces its sleep: it sees stopping, or we it */
    for (unsigned i = 0; i < n; i++) weft__idle_wake(c->workers[i]);
    for (unsigned i = 0; i < n; i++) pthread_join(c->workers[i]->thread, NULL);
}

/* --- start ------------------------------------------------------------------------------------ */

static int start_carriers(struct weft__cluster *c) {
    for (unsigned i = 0; i < c->count; i++) {
        int err = weft__thread_create(&c->workers[i]->thread, weft__carrier_main, c->workers[i]);
        if (err) {
            join_carriers(c, i);
            return err;
        }
    }
    return 0;
}

static int start(const struct weft_config *given) {
    struct weft__cluster *c = &weft__cluster;
    struct weft_config config = given ? *given : (struct weft_config)WEFT_CONFIG_INIT;
    if (load_rlx(&c->running)) return -EBUSY;
    int err = weft__config_complete(&config);
    if (err) return err;
    weft__fence_init();
    c->stealing = !config.no_stealing;
    c->helping = !config.no_helping;
    c->stack_class = (uint8_t)weft__stack_class(config.stack_size);
    c->print_stats = config.stats;
    store_rlx(&c->stopping, false);
    weft__stack_guards(!config.no_guards);
    c->count = config.workers;
    if ((err = prepare_workers(c))) return err;
    if ((err = weft__overflow_watch())) goto release;
    if ((err = start_carriers(c))) goto unwatch;
    weft__lock(&c->injector.lock);
    c->injector.closed = false;
    store_rlx(&c->injector.spawned, 0);
    weft__unlock(&c->injector.lock);
    store_rel(&c->running, true); /* pairs with whoever asks whether there is a runtime */
    return 0;
unwatch:
    weft__overflow_unwatch();
release:
    release_workers(c);
    return err;
}

/* --- stop ------------------------------------------------------------------------------------- */

/* See the head of the file. */
static bool all_ended(struct weft__cluster *c) {
    uint64_t ended = 0, spawned = 0;
    for (unsigned i = 0; i < c->count; i++) ended += load_acq(&c->workers[i]->numbers.completed); /* pairs with end */
    spawned = load_acq(&c->injector.spawned);
    for (unsigned i = 0; i < c->count; i++) spawned += load_acq(&c->workers[i]->numbers.spawned);
    return ended == spawned;
}

/* Calls fn with every fiber that has not ended; stops and returns false when fn does. */
static bool each_live(bool (*fn)(struct weft__fiber *, void *), void *arg) {
    uint32_t records = load_acq(&weft__fibers.records);
    for (uint32_t i = 0; i < records; i++) {
        struct weft__fiber *f = weft__fiber_at(i);
        if (load_rlx(&f->slot.generation) % 2 && load_rlx(&f->context.kind) == WEFT_KIND_FIBER &&
            !weft__join_has_ended(load_rlx(&f->join)) && !fn(f, arg))
            return false;
    }
    return true;
}

static bool is_waiting(struct weft__fiber *f, void *unused) {
    (void)unused;
    return load_acq(&f->wait) & WEFT_WAIT_WAITING;
}

static bool all_asleep(struct weft__cluster *c) { return (load_acq(&c->idle.state) & WEFT_IDLE_SLEEPERS) == c->count; }

static bool nothing_waits(struct weft__cluster *c) {
    if (load_rlx(&c->injector.length)) return false;
    for (unsigned i = 0; i < c->count; i++) {
        struct weft__worker *w = c->workers[i];
        if (load_rlx(&w->wheel.armed) || !weft__mailbox_empty(&w->mailbox) || weft__ready_length(&w->ready))
            return false;
    }
    return each_live(is_waiting, NULL);
}

/* What is looked at one after the other was so at one moment, if nobody woke up meanwhile. */
static bool nothing_will_happen(struct weft__cluster *c) {
    uint64_t wakes = load_acq(&c->idle.wakes);
    if (!all_asleep(c) || !nothing_waits(c)) return false;
    atomic_thread_fence(memory_order_acquire); /* the looks above before the second look */
    return load_acq(&c->idle.wakes) == wakes && all_asleep(c);
}

/* Waits until all fibers have ended: 0; or until the rest is blocked for ever: -EBUSY. */
static int wait_for_end(struct weft__cluster *c) {
    int err = 0;
    store_rlx(&c->idle.stop_waits, true);
    fence_sc(); /* pairs with the fence of the last worker that goes to sleep: it sees that we wait, or we it */
    for (;;) {
        uint32_t seen = load_acq(&c->idle.all_asleep);
        if (all_ended(c)) break;
        if (nothing_will_happen(c) && !all_ended(c)) {
            err = -EBUSY;
            break;
        }
        weft__futex_wait(&c->idle.all_asleep, seen, WEFT_FOREVER);
    }
    store_rlx(&c->idle.stop_waits, false);
    return err;
}

/* While it is closed, threads cannot hand in new fibers: a stop must come to an end. */
static void close_injector(struct weft__cluster *c, bool closed) {
    weft__lock(&c->injector.lock);
    c->injector.closed = closed;
    weft__unlock(&c->injector.lock);
}

static void shut_down(struct weft__cluster *c) {
    join_carriers(c, c->count);
    if (c->print_stats) weft__stats_print(c);
    store_rel(&c->running, false);
    weft__overflow_unwatch();
    release_workers(c);
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
    each_live(name_blocked, &n);
    if (n > 16) weft__say("blocked, too: %z more", n - 16);
}

static int stop(void) {
    struct weft__cluster *c = &weft__cluster;
    if (!load_rlx(&c->running)) return -ESRCH;
    close_injector(c, true);
    if (wait_for_end(c)) {
        report_blocked();
        close_injector(c, false);
        return -EBUSY;
    }
    shut_down(c);
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
    each_live(cancel_it, NULL);
    err = stop();
    if (err != -EBUSY) return err;
    close_injector(&weft__cluster, true);
    each_live(abandon_it, NULL);
    shut_down(&weft__cluster);
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

WEFT_PUBLIC unsigned weft_workers(void) { return load_acq(&weft__cluster.running) ? weft__cluster.count : 0; }

WEFT_PUBLIC const char *weft_version(void) {
    return WEFT_STR(WEFT_VERSION_MAJOR) "." WEFT_STR(WEFT_VERSION_MINOR) "." WEFT_STR(WEFT_VERSION_PATCH);
}
