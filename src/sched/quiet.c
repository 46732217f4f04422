/*
 * When does nothing happen any more? Asked by a stop, of all clusters, and by a drain, of one.
 *
 * A cluster is quiet when all its workers are asleep or retired, no timer of theirs is armed (but for the deadlines of
 * fibers that wait for quiet), no queue holds anything, and every fiber of it is in a wait, for something that is not
 * outside. What is looked at one after the other was so at one moment, if no worker woke up meanwhile.
 *
 * A stop or a drain that waits for that is told by the last worker that goes to sleep, and by threads that take back
 * something that may have been mistaken for work.
 */
#include "sched/quiet.h"

#include "sched/block.h"
#include "sched/fork.h"

struct weft__quiet weft__quiet;

bool weft__each_live(bool (*fn)(struct weft__fiber *, void *), void *arg) {
    uint32_t records = load_acq(&weft__fibers.records);
    for (uint32_t i = 0; i < records; i++) {
        struct weft__fiber *f = weft__fiber_at(i);
        if (weft__slot_in_use(&f->slot) && load_rlx(&f->context.kind) == WEFT_KIND_FIBER &&
            !weft__join_has_ended(load_acq(&f->join)) && !fn(f, arg))
            return false;
    }
    return true;
}

static bool waits_if_ours(struct weft__fiber *f, void *cluster) {
    if (weft__cluster_of(load_rlx(&f->context.place)) != cluster) return true;
    return (load_acq(&f->wait) & (WEFT_WAIT_WAITING | WEFT_WAIT_OUTSIDE)) == WEFT_WAIT_WAITING;
}

static bool all_rest(struct weft__cluster *c) { return weft__idle_resting(load_acq(&c->idle.state)) == c->count; }

static bool nothing_waits(struct weft__cluster *c) {
    if (load_rlx(&c->injector.length)) return false;
    for (unsigned i = 0; i < c->count; i++) {
        struct weft__worker *w = c->workers[i];
        if (load_rlx(&w->wheel.armed) || load_rlx(&w->ring.in_flight)) return false;
        if (!weft__mailbox_empty(&w->mailbox) || weft__has_ready(w)) return false;
    }
    return weft__each_live(waits_if_ours, c);
}

bool weft__is_quiet(struct weft__cluster *c) {
    uint64_t wakes = load_acq(&c->idle.wakes);
    if (!all_rest(c) || !nothing_waits(c)) return false;
    fence_acq(); /* the looks above before the second look; pairs with the fence of a worker that wakes up */
    return load_acq(&c->idle.wakes) == wakes && all_rest(c);
}

/* --- drain -------------------------------------------------------------------------------------- */

/* One that waits; on its own stack. */
struct drainer {
    struct drainer *next;
    struct weft__cluster *cluster;
    uint32_t generation;
    struct weft__fiber *fiber;
    uint64_t ticket;
};

static struct weft__lock lock;
static struct drainer *drainers;

static bool has_drained(const struct drainer *d) {
    return load_acq(&d->cluster->generation) != d->generation || weft__is_quiet(d->cluster);
}

/* Takes those out whose cluster is quiet; they are won, and chained up. */
static void collect(struct weft__list *won) {
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
    collect(&won);
    weft__make_all_ready(&won);
}

static void leave(struct drainer *me) {
    weft__lock(&lock);
    for (struct drainer **at = &drainers; *at; at = &(*at)->next)
        if (*at == me) {
            *at = me->next;
            break;
        }
    weft__unlock(&lock);
}

WEFT_SWITCHES int weft__drain(struct weft__cluster *c, uint32_t generation, uint64_t deadline) {
    struct drainer me = {.cluster = c, .generation = generation, .fiber = weft__me()};
    if (!me.fiber) return -ENOMEM;
    int err = weft__wait_begin(me.fiber, WEFT_WAIT_BY_CANCEL, &me.ticket);
    if (err) return err;
    weft__lock(&lock);
    me.next = drainers;
    drainers = &me;
    weft__unlock(&lock);
    add_ar(&weft__quiet.waiting, 1);
    weft__tell_quiet(); /* it may be so already */
    err = weft__wait_block_idly(me.fiber, me.ticket, deadline);
    add_ar(&weft__quiet.waiting, -1);
    if (err) leave(&me);
    return err;
}

WEFT_COLD void weft__tell_quiet(void) {
    fence_sc(); /* pairs with whoever begins to wait: it sees what we changed, or we see that it waits */
    if (likely(!load_rlx(&weft__quiet.waiting))) return;
    weft__drain_collect();
    add_ar(&weft__quiet.told, 1);
    weft__futex_wake(&weft__quiet.told, 1);
}

void weft__quiet_forked(void) {
    weft__unlock(&lock);
    drainers = NULL;
    store_rlx(&weft__quiet.waiting, 0);
}
