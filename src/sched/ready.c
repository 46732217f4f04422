/*
 * Where a fiber that became ready is put, and what a worker looks at besides its queue.
 *
 *   made ready by a fiber           the queue of that fiber's worker
 *   made ready by another thread,   the injector
 *   or in another cluster
 *   pinned                          aside at its worker: straight if the caller drives that worker,
 *                                   else through the mailbox
 *   high or low                     aside, where it would have been queued
 *
 * A fiber that has waited in a queue and must leave it without a turn is displaced: its worker retires, or the reserve
 * does not run it. It goes through the injector, too, and leaves that before fibers that were handed in. It does not go
 * before the queue of the worker that takes it: among a hundred displaced fibers that compute, one that wakes up for a
 * moment would wait for all of them (a ticker was 200 to 300 ms late once, instead of 60).
 *
 * Nothing is ever lost for want of memory: a queue that cannot grow leaves the fiber to the
 * injector, which is a chain through the records.
 */
#include "sched/dispatch.h"
#include "sched/dry.h"
#include "sched/rings.h"
#include "sched/trim.h"

static unsigned pin_of(uint32_t place) { return place & WEFT_PLACE_PIN; }

void weft__mail(struct weft__worker *to, struct weft__fiber *f) {
    weft__mailbox_put(&to->mailbox, &f->slot.link);
    fence_sc(); /* pairs with the fence of a worker that announces its sleep: it sees the mail, or we it */
    if (unlikely(!load_rlx(&to->cluster->running) && !load_rlx(&weft__cluster.ending)))
        weft__mail_on(to); /* the fiber was moved just now, and the cluster has ended */
    else
        weft__idle_wake(to);
}

void weft__mail_on(struct weft__worker *from) {
    struct weft__list mail = {NULL, NULL};
    weft__mailbox_take_all(&from->mailbox, &mail);
    for (struct weft__link *l; (l = weft__list_take(&mail));) {
        struct weft__fiber *f = weft__fiber_of_link(l);
        weft__inject(weft__cluster_of(load_rlx(&f->context.place)), f);
    }
}

/* Displaced ones first. Locked. */
static struct weft__link *take_oldest(struct weft__injector *in) {
    struct weft__link *l = weft__list_take(&in->displaced);
    return l ? l : weft__list_take(&in->list);
}

void weft__inject_on(struct weft__cluster *from) {
    struct weft__list rest = {NULL, NULL};
    weft__lock(&from->injector.lock);
    for (struct weft__link *l; (l = take_oldest(&from->injector));) weft__list_put(&rest, l);
    weft__timed_none(&from->injector.timed);
    store_rlx(&from->injector.length, 0);
    weft__unlock(&from->injector.lock);
    for (struct weft__link *l; (l = weft__list_take(&rest));) {
        struct weft__fiber *f = weft__fiber_of_link(l);
        weft__inject(weft__cluster_of(load_rlx(&f->context.place)), f);
    }
}

/* Test builds: every fiber that becomes ready goes on on the next worker. */
static inline bool migrate(struct weft__worker *w, struct weft__fiber *f) {
    unsigned wanted = load_rlx(&w->cluster->wanted);
    if (!WEFT_MIGRATES || wanted < 2) return false;
    weft__mail(w->cluster->workers[(w->index + 1) % wanted], f);
    return true;
}

/* The trap may have sprung on the way here, or springs now, for what comes by mail. */
static void push_here(struct weft__worker *w, struct weft__fiber *f) {
    if (w->marking && !w->ready.trapped) weft__age_mark(w);
    int err = weft__ready_push(&w->ready, f);
    if (err == -EAGAIN) {
        weft__age_mark(w);
        err = weft__ready_push(&w->ready, f);
    }
    if (err) weft__inject(w->cluster, f);
}

void weft__remember_last(struct weft__worker *w, struct weft__fiber *f) {
    uint32_t place = load_rlx(&f->context.place);
    uint32_t here = (place & ~WEFT_PLACE_LAST) | w->index << WEFT_PLACE_LAST_SHIFT;
    if ((place & WEFT_PLACE_RETURNS) && here != place)
        cas_ar(&f->context.place, &place, here); /* unless it is moved just now; nothing else hangs on it */
}

/* Into the hands of this worker, whatever the fiber's wishes are. */
static void settle(struct weft__worker *w, struct weft__fiber *f, uint32_t place) {
    static const uint8_t aside[] = {WEFT_ASIDES, WEFT_ASIDE_HIGH, WEFT_ASIDE_LOW, WEFT_ASIDES};
    unsigned which = aside[(place & WEFT_PLACE_PRIORITY) >> WEFT_PLACE_PRIORITY_SHIFT];
    if (pin_of(place)) which = WEFT_ASIDE_PINNED;
    weft__remember_last(w, f);
    if (which != WEFT_ASIDES)
        weft__aside_put(w, which, f);
    else
        push_here(w, f);
}

WEFT_COLD void weft__push_slow(struct weft__worker *w, struct weft__fiber *f) {
    uint32_t place = load_rlx(&f->context.place);
    if ((place & WEFT_PLACE_CLUSTER) != w->place)
        weft__inject(weft__cluster_of(place), f);
    else if (pin_of(place) && pin_of(place) != w->index + 1)
        weft__mail(w->cluster->workers[pin_of(place) - 1], f); /* it ran here while its worker was stuck */
    else if (pin_of(place) || !migrate(w, f))
        settle(w, f, place);
}

static void inject_locked(struct weft__injector *in, struct weft__fiber *f, bool displaced) {
    weft__list_put(displaced ? &in->displaced : &in->list, &f->slot.link);
    weft__timed_put(&in->timed, f);
    store_rlx(&in->length, load_rlx(&in->length) + 1);
}

static void inject_into(struct weft__cluster *c, struct weft__fiber *f, bool displaced) {
    weft__lock(&c->injector.lock);
    while (unlikely(c->injector.closed == WEFT_CLOSED && c != weft__cluster_of(load_rlx(&f->context.place)))) {
        weft__unlock(&c->injector.lock); /* it was moved just now */
        c = weft__cluster_of(load_rlx(&f->context.place));
        weft__lock(&c->injector.lock);
    }
    inject_locked(&c->injector, f, displaced);
    weft__unlock(&c->injector.lock);
    fence_sc(); /* pairs with the fence of a worker that announces its sleep */
    weft__idle_wake_one(c);
}

WEFT_COLD void weft__inject(struct weft__cluster *c, struct weft__fiber *f) { inject_into(c, f, false); }

void weft__give_away(struct weft__worker *w) {
    struct weft__injector *in = &w->cluster->injector;
    if (!weft__ready_length(&w->ready) && !load_rlx(&w->aside.loose)) return;
    weft__lock(&in->lock);
    for (struct weft__fiber *f; (f = weft__ready_pop(&w->ready));) inject_locked(in, f, true);
    for (struct weft__fiber *f; (f = weft__aside_steal(w, w));) inject_locked(in, f, true);
    weft__unlock(&in->lock);
    fence_sc(); /* pairs with the fence of a worker that announces its sleep */
    weft__idle_wake_one(w->cluster);
}

/* Counted and queued under one lock, so that a stop sees both or none. The cluster may have ended since it was found by
 * its handle, and another life of it have begun. */
int weft__hand_in(struct weft__cluster *c, struct weft_cluster handle, struct weft__fiber *f, struct weft__worker *to) {
    struct weft__injector *in = &c->injector;
    unsigned pin = pin_of(load_rlx(&f->context.place)); /* the fiber may have ended when we look again */
    weft__lock(&in->lock);
    bool closed = in->closed > (weft__self() ? WEFT_CLOSED_TO_THREADS : WEFT_OPEN) || pin > c->count ||
                  (handle.id && handle.id >> 32 != load_rlx(&c->generation));
    if (!closed) {
        store_rlx(&in->spawned, load_rlx(&in->spawned) + 1);
        if (pin) to = c->workers[pin - 1];
        if (to && to->index >= c->count) to = NULL; /* of an earlier life of the cluster, which had more */
        if (to)
            weft__mailbox_put(&to->mailbox, &f->slot.link);
        else
            inject_locked(in, f, false);
    }
    weft__unlock(&in->lock);
    if (closed) return -ESRCH;
    fence_sc(); /* pairs with the fence of a worker that announces its sleep */
    if (to)
        weft__idle_wake(to);
    else
        weft__idle_wake_one(c);
    return 0;
}

/* Where it ran last, if that is another worker, and one that runs. */
static struct weft__worker *last_of(struct weft__worker *w, uint32_t place) {
    unsigned last = (place & WEFT_PLACE_LAST) >> WEFT_PLACE_LAST_SHIFT;
    bool elsewhere = (place & WEFT_PLACE_RETURNS) && last != w->index && last < load_rlx(&w->cluster->wanted);
    return elsewhere ? w->cluster->workers[last] : NULL;
}

WEFT_COLD void weft__make_ready_elsewhere(struct weft__worker *w, struct weft__fiber *f) {
    uint32_t place = load_rlx(&f->context.place);
    struct weft__worker *last;
    if (w) count_add(&w->numbers.unparks, 1);
    if (load_rlx(&f->context.kind) == WEFT_KIND_THREAD)
        weft__wait_thread_release(f);
    else if (load_rlx(&f->context.kind) == WEFT_KIND_ABANDONED)
        return;
    else if (pin_of(place) && !(w && w->cluster == weft__cluster_of(place) && w->index == pin_of(place) - 1))
        weft__mail(weft__cluster_of(place)->workers[pin_of(place) - 1], f);
    else if (!w || (place & WEFT_PLACE_CLUSTER) != w->place)
        weft__inject(weft__cluster_of(place), f);
    else if ((last = last_of(w, place)))
        weft__mail(last, f);
    else {
        weft__push(w, f);
        weft__notify(w);
    }
}

void weft__make_all_ready(struct weft__list *won) {
    for (struct weft__link *l; (l = weft__list_take(won));) weft__make_ready(weft__fiber_of_link(l));
}

void weft__make_arrived_ready(struct weft__list *won) {
    struct weft__worker *w = weft__self(), *host = w && won->first ? weft__host_of(w) : NULL;
    for (struct weft__link *l; (l = weft__list_take(won));) {
        struct weft__fiber *f = weft__fiber_of_link(l);
        if (likely(!host) || weft__has_wishes(w, f) || load_rlx(&f->context.kind) != WEFT_KIND_FIBER) {
            weft__make_ready(f);
            continue;
        }
        count_add(&w->numbers.unparks, 1);
        count_add(&w->numbers.moved, 1);
        weft__mail(host, f);
    }
}

bool weft__leave_to_others(struct weft__worker *w, struct weft__fiber *f) {
    if (likely(!weft__is_reserve(w)) || weft__is_quick(f)) return false;
    inject_into(w->cluster, f, true);
    return true;
}

uint64_t weft__reserve_share(struct weft__worker *w, struct weft__worker *from, uint64_t n) {
    if (likely(!weft__is_reserve(w)) || load_rlx(&from->stuck)) return n;
    struct weft__fiber *oldest = weft__ready_peek(&from->ready);
    return oldest && weft__is_quick(oldest);
}

/* For the reserve: the quick ones among the first few of a list; the others stay in their order. Locked. */
static uint64_t take_quick(struct weft__injector *in, struct weft__list *from, struct weft__list *mine) {
    enum { LOOKS = 256 };
    struct weft__list rest = {NULL, NULL};
    uint64_t taken = 0;
    struct weft__link *l;
    for (unsigned i = 0; i < LOOKS && (l = weft__list_take(from)); i++) {
        bool quick = weft__is_quick(weft__fiber_of_link(l));
        taken += quick;
        if (quick) weft__timed_take(&in->timed, weft__fiber_of_link(l));
        weft__list_put(quick ? mine : &rest, l);
    }
    if (!rest.first) return taken;
    rest.last->next = from->first;
    if (!from->first) from->last = rest.last;
    from->first = rest.first;
    return taken;
}

static void push_all(struct weft__worker *w, struct weft__list *fibers) {
    for (struct weft__link *l; (l = weft__list_take(fibers));) weft__push(w, weft__fiber_of_link(l));
}

static WEFT_COLD void take_quick_injected(struct weft__worker *w) {
    struct weft__injector *in = &w->cluster->injector;
    struct weft__list mine = {NULL, NULL};
    weft__lock(&in->lock);
    uint64_t taken = take_quick(in, &in->displaced, &mine) + take_quick(in, &in->list, &mine);
    store_rlx(&in->length, load_rlx(&in->length) - taken);
    weft__unlock(&in->lock);
    push_all(w, &mine);
}

/* Moves a fair share of the injector to this worker's queue. */
static void take_injected(struct weft__worker *w) {
    enum { AT_MOST = 64 };
    struct weft__injector *in = &w->cluster->injector;
    uint64_t length = load_rlx(&in->length);
    if (likely(!length)) return;
    if (unlikely(weft__is_reserve(w))) {
        take_quick_injected(w);
        return;
    }
    weft__lock(&in->lock);
    length = load_rlx(&in->length);
    uint64_t share = length / load_rlx(&w->cluster->wanted) + 1, taken = 0, since = 0;
    struct weft__fiber *timed = NULL;
    if (share > AT_MOST) share = AT_MOST;
    struct weft__list mine = {NULL, NULL};
    for (struct weft__link *l; taken < share && (l = take_oldest(in)); taken++) {
        uint64_t then = weft__timed_take(&in->timed, weft__fiber_of_link(l));
        if (unlikely(then)) since = then, timed = weft__fiber_of_link(l);
        weft__list_put(&mine, l);
    }
    store_rlx(&in->length, length - taken);
    weft__unlock(&in->lock);
    if (timed) weft__timed_note(w, timed, since);
    push_all(w, &mine);
}

static void take_mail_of(struct weft__worker *w, struct weft__worker *of) {
    if (likely(weft__mailbox_empty(&of->mailbox))) return;
    struct weft__list mail = {NULL, NULL};
    weft__mailbox_take_all(&of->mailbox, &mail);
    for (struct weft__link *l; (l = weft__list_take(&mail));) {
        struct weft__fiber *f = weft__fiber_of_link(l);
        uint32_t place = load_rlx(&f->context.place);
        if ((place & WEFT_PLACE_CLUSTER) == w->place)
            settle(w, f, place);
        else
            weft__inject(weft__cluster_of(place), f); /* moved on meanwhile */
    }
}

void weft__serve_stuck(struct weft__worker *w, struct weft__worker *stuck) {
    if (likely(!load_acq(&stuck->stuck))) return; /* pairs with the monitor */
    take_mail_of(w, stuck);
    weft__ring_look(&stuck->ring);
}

void weft__expire(struct weft__worker *w, struct weft__wheel *wheel, uint64_t now) {
    enum { AT_ONCE = 64 };
    struct weft__due due[AT_ONCE];
    uint64_t left = WEFT_WHEEL_LOOK;
    unsigned n = AT_ONCE;
    store_rlx(&w->expiring, true);
    weft__fence_light(); /* pairs with a stop: it sees that we call functions, or we that they are held */
    while (n == AT_ONCE && likely(!load_rlx(&weft__timers_held))) {
        n = weft__wheel_expire(wheel, now, due, AT_ONCE, &left);
        count_add(&w->numbers.timers, n);
        for (unsigned i = 0; i < n; i++) {
            if (due[i].fn) {
                due[i].fn(due[i].arg);
                if (unlikely(weft__self() != w)) weft__forked_end(NULL);
            } else if (weft__wait_win(due[i].arg, due[i].ticket, WEFT_WON_DEADLINE))
                weft__make_ready(due[i].arg);
        }
    }
    store_rel(&w->expiring, false); /* pairs with a stop: what they spawned is counted */
}

/* Calls of a fiber that waits, perhaps for one of them, must not wait for a worker that has nothing else. */
static void take_suspended_task(struct weft__worker *w, uint64_t now) {
    struct weft__fiber *f = w->cluster->stealing ? weft__tasks_steal_suspended(w, now) : NULL;
    if (f) weft__push(w, f);
}

/* What a worker that has work looks after now and then. */
static void look_about(struct weft__worker *w, uint64_t now) {
    weft__share(w);
    weft__where(w, now);
    if (unlikely(now >= w->next_flush)) weft__worker_flush(w, now);
    if (w->cluster->helping) weft__age(w, now);
}

/* So many dispatches took so long. A pause that is out of all proportion counts little, as in weft__help_average: the
 * kernel has run something else. */
static void time_turns(struct weft__worker *w, uint64_t took, uint64_t done) {
    uint64_t mean = w->mean_turn, sample = took * 16 / done;
    if (mean && sample > 4 * mean) sample = 4 * mean;
    w->mean_turn = mean ? mean - mean / 8 + sample / 8 : sample;
}

/*
 * Dispatches until the next poll: as many as fit into WEFT_POLL_TIME, WEFT_POLL_EVERY at most. How long one takes is
 * judged by those since the last poll; what was long once is forgotten bit by bit, so that a short turn now and then
 * changes little.
 */
static int pace(struct weft__worker *w, uint64_t now) {
    uint64_t took = now - load_rlx(&w->polled_at), done = (uint64_t)(w->poll_from - w->until_poll), slice = w->slice;
    if (!load_rlx(&w->busy_since))
        took = 0; /* it has slept, or searched */
    else if (done)
        time_turns(w, took, done);
    store_rlx(&w->polled_at, now);
    if (likely(took <= WEFT_POLL_TIME && slice <= WEFT_POLL_TIME / WEFT_POLL_EVERY)) return WEFT_POLL_EVERY;
    if (done > 1) took /= done;
    slice -= slice / 4;
    w->slice = slice = took > slice ? took : slice;
    uint64_t fit = WEFT_POLL_TIME / slice;
    return fit < 1 ? 2 : fit < WEFT_POLL_EVERY ? (int)fit + 1 : WEFT_POLL_EVERY; /* the last one comes home */
}

/* One dispatch in WEFT_POLL_EVERY, or one in WEFT_DUE_TIME where dispatches are slow. Also of a worker that always runs
 * dry before it has made so many. */
static bool is_due(struct weft__worker *w, int dispatches, uint64_t now) {
    w->until_due -= dispatches;
    if (w->until_due > 0 && now < w->next_due) return false;
    w->until_due = WEFT_POLL_EVERY;
    w->next_due = now + WEFT_DUE_TIME;
    return true;
}

/*
 * For a worker that runs more than what nobody else can. Who was just woken, or has just run dry, has other work to
 * find than to look about; but who does nothing else, because the nearest always has something, would leave the others
 * alone for ever. Calls are not taken more often: a fiber that only let others in would find all of its own taken.
 */
static void take_share(struct weft__worker *w, int dispatches, uint64_t now) {
    bool due = is_due(w, dispatches, now);
    take_injected(w);
    if (due) take_suspended_task(w, now);
    if (due || load_rlx(&w->busy_since)) look_about(w, now);
    if (weft__ready_length(&w->ready)) weft__notify(w); /* for what was taken over, and for who yields */
}

WEFT_COLD void weft__poll(struct weft__worker *w, uint64_t now) {
    int dispatches = w->poll_from - w->until_poll;
    weft__summons_met(w);
    w->until_poll = w->poll_from = pace(w, now);
    if (weft__wheel_next(&w->wheel) <= now) weft__expire(w, &w->wheel, now);
    weft__ring_look(&w->ring);
    if (unlikely(load_rlx(&weft__dry_awaited))) weft__dry_look(now);
    take_mail_of(w, w);
    if (likely(weft__is_wanted(w)))
        take_share(w, dispatches, now);
    else
        weft__give_away(w);
    /* What was pushed here first may be the one to be timed, for which a worker comes home: it is there. So who polls
     * finds what there is; a carrier would leave it behind when its cluster ends. */
    if (w->until_poll < 2) w->until_poll = w->poll_from = 2;
}

WEFT_COLD struct weft__fiber *weft__next_slow(struct weft__worker *w) {
    if (weft__mailbox_empty(&w->mailbox) && !load_rlx(&w->cluster->injector.length)) return NULL;
    if (unlikely(!weft__is_wanted(w))) return NULL;
    take_mail_of(w, w);
    take_injected(w);
    return weft__aside_count(w) ? weft__aside_next(w) : weft__pop(w);
}
