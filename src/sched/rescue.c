/*
 * Rescue: no fiber waits for long behind a hog.
 *
 * A worker that has a hog, and for which something waits, is declared stuck: the others then take its mail and its
 * pinned fibers, as they take from its queue and its timers anyway. If they cannot, a spare runs in its stead: one more
 * worker, retired before or new (elastic.c). A stuck worker gets a spare
 *
 *   - at once, if its hog blocks: its processor is free;
 *   - at once, if every other worker has a hog, too;
 *   - if something still waits for it at the next look. The others had their chance, but are busy with work of their
 *     own that may be slow.
 *
 * A worker that blocks also gets a spare if nothing waits for it, but other workers have more than they can run, and a
 * processor is free. When the hog has come back its worker is no longer stuck. Two ticks later the spare goes: it
 * finishes what it runs, gives its queue away and sleeps.
 *
 * More computing than processors. Where a queue holds many fibers that compute for long, a spare runs into the next of
 * them, becomes stuck itself, and so on. So there are two more rules:
 *
 *   - While something waits behind a hog that computes, for more than one look, or because all workers have hogs, one
 *     more spare is the reserve. It runs quick fibers only: those that have run before and were never seen to keep a
 *     worker. It leaves the others to the injector. So a fiber that wakes up, does little and waits again is served all
 *     the time, whatever computes beside it.
 *   - While all workers have hogs, and something waits, the number of the other spares grows at every look, up to one
 *     for each fiber that waits. Soon all computing fibers are under way, and the kernel shares the processors among
 *     them.
 *
 * docs/SCHEDULING.md says what is promised then.
 *
 * Spares serve what waits: the queues of workers that have spares, timers, the injector. They leave other workers'
 * queues alone, and take no forked calls: whatever computes forks more, so a spare that took a call would compute as
 * well, and a program for one worker would run its calls on many threads. Only the spare of a worker that blocks takes
 * all that its worker would; see weft__takes_calls.
 *
 * The monitor also calls home workers that have not polled for a tick, because their dispatches have become slow.
 */
#include "sched/rescue.h"

#include "base/say.h"
#include "sched/dispatch.h"

#define WEFT_SPARE_STAYS (2 * WEFT_TICK)

/* Does anything wait for this worker? Calls that its fiber has forked count only if it blocks: one that computes will
 * run them itself. */
static bool is_waited_for(struct weft__worker *w, uint64_t now) {
    return weft__has_ready(w) || !weft__mailbox_empty(&w->mailbox) || weft__wheel_next(&w->wheel) <= now ||
           weft__ring_waits(&w->ring) || (w->hog.blocks && weft__tasks_wait_at(w));
}

/* What the monitor has seen of a cluster at this tick. The reserve does not count as free or idle: it is not for all.
 */
struct sight {
    unsigned hogs;    /* workers that have one */
    bool free;        /* some worker that is wanted has none */
    bool idle;        /* some worker that is wanted has nothing to do */
    bool lasts;       /* something has waited behind a hog that computes for more than one look */
    uint64_t waiting; /* about so many fibers wait behind hogs, or in the injector */
};

/* All have hogs, and something waits. */
static bool is_crisis(const struct sight *s) { return !s->free && s->waiting; }

static void add_waiting(struct sight *s, struct weft__worker *w, uint64_t now) {
    uint64_t ready = weft__ready_length(&w->ready) + weft__aside_count(w);
    s->waiting += ready ? ready : is_waited_for(w, now);
}

/* As many workers as there are processors for run, or would if they had work. One that blocks does not. */
static bool enough_run(struct weft__cluster *c, unsigned processors) {
    unsigned enough = load_rlx(&c->configured), running = 0;
    if (enough > processors) enough = processors;
    for (unsigned i = 0; i < load_rlx(&c->wanted) && i < load_acq(&c->count); i++)
        running += !c->workers[i]->hog.blocks;
    return running >= enough;
}

/* Would the worker, which blocks, have stolen something from another one? Only while a processor is free: where many
 * block at one lock, more workers would only block there as well. */
static bool is_missed(struct weft__worker *w, unsigned processors) {
    struct weft__cluster *c = w->cluster;
    if (!w->hog.blocks || enough_run(c, processors)) return false;
    for (unsigned i = 0; i < load_acq(&c->count); i++)
        if (weft__ready_length(&c->workers[i]->ready) + load_rlx(&c->workers[i]->aside.loose) >= 2) return true;
    return false;
}

/* For one worker with a hog. */
static void rescue(struct weft__worker *w, struct sight *s, struct weft__rescue *r) {
    struct weft__hog *h = &w->hog;
    bool waited_for = is_crisis(s) || is_waited_for(w, r->now),
         missed = !load_rlx(&w->spared) && is_missed(w, r->processors);
    bool again = h->unserved;
    h->unserved = waited_for;
    s->lasts |= waited_for && !h->blocks && (again || is_crisis(s));
    if (!waited_for && !missed) return;
    if (!weft__share_by_force(w)) return; /* it has come back, or is met inside the fiber next time */
    store_rel(&w->stuck, true);           /* pairs with weft__serve_stuck */
    fence_sc();                           /* pairs with the fence of a worker that announces its sleep */
    weft__idle_wake_one(w->cluster);
    h->stuck_at = r->now;
    if (load_rlx(&w->spared)) return;
    r->urgent = true;
    store_rlx(&w->spared, h->blocks || is_crisis(s) || missed || again);
}

/* A worker that was stuck may soon be stuck again: its spare stays for a while. */
static void came_back(struct weft__worker *w, uint64_t now) {
    if (load_rlx(&w->stuck)) store_rel(&w->stuck, false); /* pairs with weft__serve_stuck */
    w->hog.unserved = false;
    if (load_rlx(&w->spared) && now - w->hog.stuck_at >= WEFT_SPARE_STAYS) store_rlx(&w->spared, false);
}

/* --- spares ---------------------------------------------------------------------------------------- */

static uint64_t lesser(uint64_t a, uint64_t b) { return a < b ? a : b; }
static uint64_t larger(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* How many spares there are, without the reserve. */
static unsigned spares_now(struct weft__cluster *c) {
    unsigned spares = load_rlx(&c->wanted) - load_rlx(&c->configured);
    return spares - (spares && load_rlx(&c->reserve));
}

/*
 * How many there are to be, without the reserve. One for each worker that is to have one; more, in a crisis. Those that
 * are too many go when a worker has nothing to do.
 *
 * The reserve comes first, and alone, and the others come a few at a time: each new thread that finds a fiber that
 * computes may take the monitor's processor.
 */
static unsigned spares_due(struct weft__cluster *c, const struct sight *s, unsigned replaced, bool reserve) {
    enum { AT_ONCE = 4 };
    uint64_t now = spares_now(c), due = larger(now, replaced);
    if (is_crisis(s)) due = larger(due, now + lesser(lesser(s->waiting, s->hogs), AT_ONCE));
    if (s->idle) due = replaced;
    if (reserve && !load_rlx(&c->reserve)) due = now;
    return (unsigned)lesser(lesser(due, 2 * replaced), WEFT_SPARES_MAX);
}

/* Until another worker has nothing to do. */
static bool needs_reserve(struct weft__cluster *c, const struct sight *s) {
    if (s->idle || !s->hogs) return false;
    return load_rlx(&c->reserve) || s->lasts;
}

/* It stays the same one as long as it is wanted and has no hog; else the last spare is. */
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
        weft__spares(c, due + reserve); /* if it fails, again at the next tick */
    set_reserve(c, reserve);
}

static void say_too_many(void) {
    static bool said;
    if (said) return;
    said = true;
    weft__say_if_room("%z workers of a cluster are stuck: no more are started in their stead", (size_t)WEFT_SPARES_MAX);
}

/* Now that it is known which workers have hogs. */
static void rescue_all(struct weft__cluster *c, struct sight *s, struct weft__rescue *r) {
    unsigned replaced = 0, lent = 0;
    for (unsigned i = 0; i < load_acq(&c->count); i++) {
        struct weft__worker *w = c->workers[i];
        if (load_rlx(&w->hog.fiber))
            rescue(w, s, r);
        else
            came_back(w, r->now);
        bool spared = load_rlx(&w->spared);
        replaced += spared;
        lent += spared && w->hog.blocks;
    }
    if (load_rlx(&c->lent) != lent) store_rlx(&c->lent, lent);
    bool reserve = needs_reserve(c, s);
    set_spares(c, spares_due(c, s, replaced, reserve), reserve);
    if (replaced > WEFT_SPARES_MAX) say_too_many();
    if (is_crisis(s)) r->urgent = true;
}

/* --- a look ------------------------------------------------------------------------------------------ */

static void look_at(struct weft__worker *w, struct sight *s, struct weft__rescue *r) {
    uint64_t busy_since = load_rlx(&w->busy_since);
    bool hogged = (busy_since || load_rlx(&w->hog.fiber)) && weft__hog_look(w, r->now);
    if (busy_since) {
        r->busy = true;
        if (weft__since(load_rlx(&w->polled_at), r->now) >= WEFT_TICK) weft__summon(w);
    }
    if (hogged) {
        s->hogs++;
        add_waiting(s, w, r->now);
    } else if (weft__is_wanted(w) && !weft__is_reserve(w)) {
        s->free = true;
        s->idle |= weft__driver_is_asleep(&w->driver); /* not: it was just made, and has not run yet */
    }
}

void weft__rescue(struct weft__cluster *c, struct weft__rescue *r) {
    struct sight s = {.waiting = load_rlx(&c->injector.length)};
    for (unsigned i = 0; i < load_acq(&c->count); i++) look_at(c->workers[i], &s, r);
    if (load_rlx(&c->rescues)) rescue_all(c, &s, r);
}
