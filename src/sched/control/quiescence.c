/* SPDX-License-Identifier: MIT */
/*
 * When will nothing happen any more? A stop asks this of all clusters, and a drain of one.
 *
 * A cluster is quiet when all its workers are asleep or retired, none of their timers is armed (except for the
 * deadlines of fibers that wait for quiet), all queues are empty, and every fiber of the cluster waits for something
 * inside the program. These conditions are checked one after the other. They held at one moment if no worker woke up
 * meanwhile.
 *
 * The last worker that goes to sleep notifies a stop or drain that waits for this. So does a thread that removes
 * something that a look may have taken for work.
 */
#include "sched/control/quiescence.h"
#include "sched/balance/work.h"
#include "sched/wait/block.h"

static bool waits_if_ours(struct weft__fiber *f, void *cluster) {
    if (weft__cluster_of(load_rlx(&f->context.placement)) != cluster) return true;
    return (load_acq(&f->wait) & (WEFT_WAIT_WAITING | WEFT_WAIT_OUTSIDE)) == WEFT_WAIT_WAITING;
}

static bool all_rest(struct weft__cluster *c) { return weft__idle_resting(load_acq(&c->idle.state)) == c->count; }

static bool nothing_waits(struct weft__cluster *c) {
    if (load_rlx(&c->injector.length)) return false;
    for (unsigned i = 0; i < c->count; i++)
        if (weft__work_is_expected(c->workers[i])) return false;
    return weft__each_live(waits_if_ours, c);
}

bool weft__is_quiet(struct weft__cluster *c) {
    uint64_t wakes = load_acq(&c->idle.wakes);
    if (!all_rest(c) || !nothing_waits(c)) return false;
    fence_acq(); /* the looks above before the second look; pairs with the fence of a worker that wakes up */
    return load_acq(&c->idle.wakes) == wakes && all_rest(c);
}

/* --- drain -------------------------------------------------------------------------------------- */

/* A fiber or thread that waits for a drain. On its stack. */
struct drainer {
    struct drainer *next;
    struct weft__cluster *cluster;
    uint64_t generation;
    struct weft__fiber *fiber;
    uint64_t ticket;
};

static struct weft__lock lock;
static struct drainer *drainers;

static bool has_drained(const struct drainer *d) {
    return load_acq(&d->cluster->generation) != d->generation || weft__is_quiet(d->cluster);
}

/* Removes the drains of clusters that are quiet: wins their waits, and lists their fibers. */
static void drain_collect(struct weft__list *won) {
    weft__lock(&lock);
    for (struct drainer **at = &drainers, *d; (d = *at);) {
        if (!has_drained(d)) {
            at = &d->next;
            continue;
        }
        *at = d->next;
        struct weft__fiber *f = d->fiber;
        if (weft__wait_win(f, d->ticket, WEFT_WON_DONE)) weft__list_put(won, &f->slot.link);
    }
    weft__unlock(&lock);
}

void weft__drain_collect(void) {
    struct weft__list won = {NULL, NULL};
    drain_collect(&won);
    weft__make_all_ready(&won);
}

static void drain_leave(struct drainer *me) {
    weft__lock(&lock);
    for (struct drainer **at = &drainers; *at; at = &(*at)->next)
        if (*at == me) {
            *at = me->next;
            break;
        }
    weft__unlock(&lock);
}

WEFT_SWITCHES int weft__drain_wait(struct weft__cluster *c, uint64_t generation, uint64_t deadline) {
    struct drainer me = {.cluster = c, .generation = generation, .fiber = weft__me()};
    if (!me.fiber) return -ENOMEM;
    int err = weft__wait_begin(me.fiber, WEFT_WAIT_BY_CANCEL, &me.ticket);
    if (err) return weft__refused(me.fiber, err);
    weft__lock(&lock);
    me.next = drainers;
    drainers = &me;
    weft__unlock(&lock);
    store_rel(&weft__quiet.collect, weft__drain_collect); /* pairs with weft__quiet_notify */
    add_ar(&weft__quiet.waiting, 1);
    weft__quiet_notify(); /* the cluster may be quiet already */
    err = weft__wait_block_idly(me.fiber, me.ticket, deadline);
    add_ar(&weft__quiet.waiting, -1);
    if (err) drain_leave(&me);
    return err;
}

void weft__quiet_after_fork(void) {
    weft__unlock(&lock);
    drainers = NULL;
    store_rlx(&weft__quiet.waiting, 0);
}
