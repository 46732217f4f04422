/* SPDX-License-Identifier: MIT */
/*
 * Rescue: no fiber waits for long behind a hog.
 *
 * If work waits for a worker with a hog, the worker is declared stuck. Then other workers take its mail and its pinned
 * fibers, as they take from its queue and its timers anyway. A stuck worker also gets a spare, a worker that was
 * retired or is new (resize.c), which runs in its place:
 *
 *   - at once, if its hog blocks: its processor is free;
 *   - at once, if every other worker has a hog, too;
 *   - if work still waits for it at the next look: the other workers had their chance, but are busy with their own
 *     work.
 *
 * A worker that blocks also gets a spare if no work waits for it, but other workers have more than they can run and a
 * processor is free. When the hog returns, its worker is no longer stuck. Two ticks later the spare retires: it
 * finishes the fiber that it runs, gives its queue away and sleeps.
 *
 * More computing than processors. If a queue holds many fibers that compute for long, a spare meets the next of them,
 * becomes stuck itself, and so on. So there are two more rules:
 *
 *   - While work waits behind a hog that computes, for more than one look or because all workers have hogs, one spare
 *     is the reserve. It runs only quick fibers: fibers that have run before and were never seen to keep a worker. It
 *     gives all others to the injector. So a fiber that wakes up, does little and waits again is served all the time,
 *     whatever computes beside it.
 *   - While all workers have hogs and work waits, the number of the other spares grows at every look, up to one for
 *     each waiting fiber. Soon all computing fibers run, and the kernel shares the processors among them.
 *
 * docs/SCHEDULING.md says what is promised then.
 *
 * Spares serve work that waits: the queues of workers that have spares, timers, the injector. They leave the queues of
 * other workers alone, and take no forked calls. A fiber that computes forks more calls, so a spare that took a call
 * would compute as well, and a program for one worker would run its calls on many threads. Only the spare of a worker
 * that blocks takes all that its worker would; see weft__takes_calls.
 *
 * The monitor also summons a worker home if it has not polled for a tick, because its dispatches have become slow.
 */
#include "sched/elastic/rescue.h"
#include "base/probe.h"
#include "sched/dispatch/priority.h"
#include "sched/dispatch/sharing.h"
#include "sched/elastic/resize.h"
#include "sched/loop/loop.h"
#include "sched/tasks/tasks.h"
#include "sched/wake/idle.h"

#include "base/message.h"
#include "sched/balance/work.h"
#include "sched/record/record.h"

#define WEFT_SPARE_STAYS (2 * WEFT_TICK)

static bool worker_is_waited_for(struct weft__worker *w, uint64_t now) {
    return weft__work_waits_for(w, now, w->hog.blocks);
}

/* What the monitor has seen of a cluster at this tick. The reserve never counts as free or idle: it runs few fibers.
 */
struct sight {
    unsigned hogs;    /* number of workers with a hog */
    unsigned compute; /* number of workers with a hog that computes */
    bool free;        /* some wanted worker has no hog */
    bool idle;        /* some wanted worker has nothing to do */
    bool lasts;       /* work has waited behind a hog that computes, for more than one look */
    uint64_t waiting; /* about how many fibers wait behind hogs or in the injector */
};

/* Do all workers have hogs while work waits? */
static bool is_crisis(const struct sight *s) { return !s->free && s->waiting; }

static void add_waiting(struct sight *s, struct weft__worker *w, uint64_t now) {
    uint64_t ready = weft__ready_length(&w->ready) + weft__aside_count(w);
    s->waiting += ready ? ready : worker_is_waited_for(w, now);
}

/* Do enough workers run to use all processors? A worker that blocks does not count, an idle worker does. */
static bool enough_run(struct weft__cluster *c, unsigned processors) {
    unsigned enough = load_rlx(&c->configured), running = 0;
    if (enough > processors) enough = processors;
    for (unsigned i = 0; i < load_rlx(&c->wanted) && i < load_acq(&c->count); i++)
        running += !c->workers[i]->hog.blocks;
    return running >= enough;
}

/* Would a worker that blocks have found something to steal? Only asked while a processor is free: if many workers block
 * at the same lock, more workers would only block there, too. */
static bool is_missed(struct weft__worker *w, unsigned processors) {
    struct weft__cluster *c = w->cluster;
    if (!w->hog.blocks || enough_run(c, processors)) return false;
    for (unsigned i = 0; i < load_acq(&c->count); i++)
        if (weft__ready_length(&c->workers[i]->ready) + load_rlx(&c->workers[i]->aside.loose) >= 2) return true;
    return false;
}

/* Declares a worker with a hog stuck if anything waits for it, and decides whether it gets a spare. */
static void rescue_worker(struct weft__worker *w, struct sight *s, struct weft__rescue *r) {
    struct weft__hog *h = &w->hog;
    bool waited_for = is_crisis(s) || worker_is_waited_for(w, r->now),
         missed = !load_rlx(&w->rescue.has_spare) && is_missed(w, r->processors);
    bool again = h->unserved;
    h->unserved = waited_for;
    s->lasts |= waited_for && !h->blocks && (again || is_crisis(s));
    if (!waited_for && !missed) return;
    if (!weft__sharing_end_by_force(w)) return; /* it has come back, or is between two fibers: at the next tick */
    store_rel(&w->rescue.is_stuck, true);       /* pairs with weft__serve_stuck */
    fence_sc();                                 /* pairs with the fence of a worker that announces its sleep */
    weft__idle_wake_one(w->cluster);
    h->stuck_at = r->now;
    weft__probe2(rescue, w->index, h->blocks);
    weft__record(WEFT_HAPPENED_RESCUE, 0, w->index, h->blocks);
    if (load_rlx(&w->rescue.has_spare)) return;
    r->urgent = true;
    store_rlx(&w->rescue.has_spare, h->blocks || is_crisis(s) || missed || again);
}

/* The hog of a stuck worker has returned. The spare stays for a while, because the worker may soon be stuck again. */
static void came_back(struct weft__worker *w, uint64_t now) {
    if (load_rlx(&w->rescue.is_stuck)) store_rel(&w->rescue.is_stuck, false); /* pairs with weft__serve_stuck */
    w->hog.unserved = false;
    if (load_rlx(&w->rescue.has_spare) && now - w->hog.stuck_at >= WEFT_SPARE_STAYS)
        store_rlx(&w->rescue.has_spare, false);
}

/* --- spares ---------------------------------------------------------------------------------------- */

static uint64_t lesser_time(uint64_t a, uint64_t b) { return a < b ? a : b; }
static uint64_t rescue_larger(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* How many spares there are, without the reserve. */
static unsigned spares_now(struct weft__cluster *c) {
    unsigned spares = load_rlx(&c->wanted) - load_rlx(&c->configured);
    return spares - (spares && load_rlx(&c->reserve));
}

/*
 * How many spares should run, without the reserve: one for each worker that should have a spare, and more in a crisis.
 * Surplus spares retire when a worker has nothing to do.
 *
 * The reserve is started first, by itself. The others are started a few at a time: each new thread may find a fiber
 * that computes, and take the monitor's processor.
 */
static unsigned spares_due(struct weft__cluster *c, const struct sight *s, unsigned replaced, bool reserve) {
    enum { AT_ONCE = 4 };
    uint64_t now = spares_now(c), due = rescue_larger(now, replaced);
    if (is_crisis(s)) due = rescue_larger(due, now + lesser_time(lesser_time(s->waiting, s->hogs), AT_ONCE));
    if (s->idle) due = replaced;
    if (reserve && !load_rlx(&c->reserve)) due = now;
    return (unsigned)lesser_time(lesser_time(due, 2 * replaced), weft__spares_most);
}

/* Once there is a reserve, it stays until another worker has nothing to do. */
static bool needs_reserve(struct weft__cluster *c, const struct sight *s) {
    if (s->idle || !s->hogs) return false;
    return load_rlx(&c->reserve) || s->lasts;
}

/* Chooses the reserve: the same worker as before if it is still wanted and has no hog, else the last spare. */
static void set_reserve(struct weft__cluster *c, bool needed) {
    unsigned reserve = load_rlx(&c->reserve), wanted = load_rlx(&c->wanted);
    bool spares = wanted > load_rlx(&c->configured);
    if (!needed || !spares)
        wanted = 0;
    else if (reserve && reserve <= wanted && !load_rlx(&c->workers[reserve - 1]->hog.fiber))
        wanted = reserve;
    if (wanted != reserve) store_rlx(&c->reserve, wanted);
}

static void set_spares(struct weft__cluster *c, unsigned due, bool reserve) {
    if (due + reserve != load_rlx(&c->wanted) - load_rlx(&c->configured))
        weft__resize_spares(c, due + reserve); /* if this fails, the next tick tries again */
    set_reserve(c, reserve);
}

unsigned weft__spares_most = WEFT_SPARES_MOST;

static void say_too_many(void) {
    static bool said;
    if (said) return;
    said = true;
    weft__say_if_room("%z workers of a cluster are stuck: no more are started in their place",
                      (size_t)weft__spares_most);
}

/* Acts on what the monitor has seen of all workers at this tick. */
static void rescue_all(struct weft__cluster *c, struct sight *s, struct weft__rescue *r) {
    unsigned replaced = 0, lent = 0;
    for (unsigned i = 0; i < load_acq(&c->count); i++) {
        struct weft__worker *w = c->workers[i];
        if (load_rlx(&w->hog.fiber))
            rescue_worker(w, s, r);
        else
            came_back(w, r->now);
        bool spared = load_rlx(&w->rescue.has_spare);
        replaced += spared;
        lent += spared && w->hog.blocks;
    }
    if (load_rlx(&c->lent) != lent) store_rlx(&c->lent, lent);
    bool reserve = needs_reserve(c, s);
    unsigned rate = weft__overload_rate(s->compute, r->processors);
    if (load_rlx(&c->overload_rate) != rate) store_rlx(&c->overload_rate, rate);
    set_spares(c, spares_due(c, s, replaced, reserve), reserve);
    if (replaced > weft__spares_most) say_too_many();
    if (is_crisis(s)) r->urgent = true;
}

/* --- a look ------------------------------------------------------------------------------------------ */

static void rescue_look_at(struct weft__worker *w, struct sight *s, struct weft__rescue *r) {
    uint64_t busy_since = load_rlx(&w->progress.busy_since);
    bool hogged = (busy_since || load_rlx(&w->hog.fiber)) && weft__hog_look(w, r->now);
    if (busy_since) {
        r->busy = true;
        if (weft__since(load_rlx(&w->progress.polled_at), r->now) >= WEFT_TICK) weft__worker_summon(w);
    }
    if (hogged) {
        s->hogs++;
        s->compute += !w->hog.blocks;
        add_waiting(s, w, r->now);
    } else if (weft__is_wanted(w) && !weft__is_reserve(w)) {
        s->free = true;
        s->idle |= weft__driver_is_asleep(&w->driver); /* a worker that was just made may not have run yet */
    }
}

void weft__rescue(struct weft__cluster *c, struct weft__rescue *r) {
    struct sight s = {.waiting = load_rlx(&c->injector.length)};
    for (unsigned i = 0; i < load_acq(&c->count); i++) rescue_look_at(c->workers[i], &s, r);
    unsigned run_capacity = r->processors + s.hogs - s.compute;
    if (load_rlx(&c->run_capacity) != run_capacity) store_rlx(&c->run_capacity, run_capacity);
    if (load_rlx(&c->rescues)) rescue_all(c, &s, r);
}
