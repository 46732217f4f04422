/* SPDX-License-Identifier: MIT */
/*
 * How many workers run: more or fewer, at any time, by any fiber or thread.
 *
 * Workers are made once and kept. Workers with an index below `wanted` run; the others are retired. A worker that is no
 * longer wanted notices when it next comes home. It gives its queue to the injector, and sleeps until it is wanted
 * again. A retired worker still serves its mail and its timers, so nothing is lost.
 *
 * So a change of the number is a store, and a wake-up for each worker that begins or ceases to be wanted. The other
 * workers do not notice.
 *
 * wanted = the number that the program asked for + spares in place of stuck workers (rescue.c).
 */
#include "sched/elastic/resize.h"
#include "base/assert.h"
#include "sched/core/quiescence.h"
#include "sched/elastic/cpu_quota.h"
#include "sched/elastic/worker_record.h"
#include "sched/loop/loop.h"
#include "sched/place/placement.h"
#include "sched/wake/idle.h"

/* --- workers ---------------------------------------------------------------------------------- */

/* Adds a worker with a carrier. Locked. */
static int resize_add_worker(struct weft__cluster *c) {
    unsigned index = load_rlx(&c->count);
    WEFT_ASSERT(index < WEFT_WORKERS_MAX);
    int err = weft__worker_make(c, index);
    if (err) return err;
    weft__location_expect(c->workers[index]);
    add_rlx(&c->map, 1);
    store_rel(&c->count,
              index + 1); /* before its carrier can say that it sleeps; pairs with readers of the table of workers */
    err = weft__thread_create(&c->workers[index]->carrier.thread, weft__carrier_main, c->workers[index]);
    if (!err) return 0;
    store_rel(&c->count, index);
    weft__worker_release(c->workers[index]);
    weft__quiet_notify(); /* a stop or drain may be waiting until all workers sleep */
    return err;
}

/* --- more and fewer ----------------------------------------------------------------------------- */

/*
 * Sets how many of the existing workers are wanted, and wakes the workers for which that changes. A worker that is
 * about to sleep or to retire checks whether it is wanted after it has announced that:
 *
 *   the worker                               the thread that changes the number
 *   1. announces that it sleeps, or retires  1. wanted = ...
 *   -- fence --                              -- fence --
 *   2. is it wanted?                         2. does it sleep? wake it
 */
static void publish_wanted(struct weft__cluster *c, unsigned wanted) {
    WEFT_ASSERT(wanted <= load_rlx(&c->count));
    unsigned before = load_rlx(&c->wanted), first = wanted < before ? wanted : before;
    store_rlx(&c->wanted, wanted);
    fence_sc(); /* pairs with the fences in weft__idle_sleep and weft__idle_retire */
    for (unsigned i = first; i < wanted || i < before; i++) weft__idle_wake(c->workers[i]);
}

/* Makes missing workers. Each is wanted as soon as it exists, and no worker is wanted before. Locked. */
static int set_wanted(struct weft__cluster *c, unsigned wanted) {
    unsigned there = load_rlx(&c->count);
    int err = 0;
    publish_wanted(c, wanted < there ? wanted : there);
    for (; there < wanted && !(err = resize_add_worker(c)); there++) publish_wanted(c, there + 1);
    return err;
}

/* Locked. */
static int resize_configure(struct weft__cluster *c, unsigned configured) {
    unsigned spares = load_rlx(&c->wanted) - load_rlx(&c->configured);
    if (spares > WEFT_WORKERS_MAX - configured) spares = WEFT_WORKERS_MAX - configured;
    store_rlx(&c->configured, configured);
    int err = set_wanted(c, configured + spares);
    if (err) store_rlx(&c->configured, load_rlx(&c->wanted) - spares);
    return err;
}

int weft__resize(struct weft__cluster *c, uint64_t generation, unsigned configured, bool automatic) {
    pthread_mutex_lock(&c->resizing);
    int err = load_rlx(&c->stopping) || load_rlx(&c->generation) != generation ? -ESRCH : 0;
    if (!err) {
        store_rlx(&c->automatic, automatic);
        err = resize_configure(c, configured);
    }
    pthread_mutex_unlock(&c->resizing);
    return err;
}

void weft__resize_automatic(struct weft__cluster *c, unsigned configured) {
    if (!load_rlx(&c->automatic) || configured == load_rlx(&c->configured)) return;
    if (pthread_mutex_trylock(&c->resizing)) return; /* the monitor does not wait: the next tick tries again */
    if (load_rlx(&c->automatic) && !load_rlx(&c->stopping)) resize_configure(c, configured);
    pthread_mutex_unlock(&c->resizing);
}

int weft__resize_spares(struct weft__cluster *c, unsigned spares) {
    if (pthread_mutex_trylock(&c->resizing)) return -EBUSY;
    unsigned configured = load_rlx(&c->configured);
    if (spares > WEFT_WORKERS_MAX - configured) spares = WEFT_WORKERS_MAX - configured;
    int err = load_rlx(&c->stopping) ? -ESRCH : set_wanted(c, configured + spares);
    pthread_mutex_unlock(&c->resizing);
    return err;
}

/* --- the CPU quota ---------------------------------------------------------------------------------- */

static bool resize_follow(struct weft__cluster *c, void *workers) {
    weft__resize_automatic(c, *(unsigned *)workers);
    return true;
}

unsigned weft__follow_quota(void) {
    unsigned workers = weft__default_workers();
    weft__each_cluster(resize_follow, &workers);
    return workers;
}
