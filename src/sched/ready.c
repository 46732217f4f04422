/*
 * Where a fiber that became ready is put, and what a worker looks at besides its queue.
 *
 *   made ready by a fiber           the queue of that fiber's worker
 *   made ready by another thread    the injector
 *   pinned                          its worker's pinned list: straight if the caller drives that
 *                                   worker, else through the mailbox
 *
 * Nothing is ever lost for want of memory: a queue that cannot grow leaves the fiber to the
 * injector, which is a chain through the records.
 */
#include "sched/dispatch.h"

static void mail(struct weft__worker *to, struct weft__fiber *f) {
    weft__mailbox_put(&to->mailbox, &f->slot.link);
    fence_sc(); /* pairs with the fence of a worker that announces its sleep: it sees the mail, or we it */
    weft__idle_wake(to);
}

/* Test builds: every fiber that becomes ready goes on on the next worker. */
static inline bool migrate(struct weft__worker *w, struct weft__fiber *f) {
    if (!WEFT_MIGRATES || w->cluster->count < 2) return false;
    mail(w->cluster->workers[(w->index + 1) % w->cluster->count], f);
    return true;
}

WEFT_COLD void weft__push_slow(struct weft__worker *w, struct weft__fiber *f) {
    if (f->context.pin) {
        weft__list_put(&w->pinned, &f->slot.link);
        return;
    }
    if (migrate(w, f)) return;
    if (w->marking && !w->ready.trapped) weft__age_mark(w);
    if (weft__ready_push(&w->ready, f)) weft__inject(w->cluster, f);
}

static void inject_locked(struct weft__injector *in, struct weft__fiber *f) {
    weft__list_put(&in->list, &f->slot.link);
    store_rlx(&in->length, load_rlx(&in->length) + 1);
}

WEFT_COLD void weft__inject(struct weft__cluster *c, struct weft__fiber *f) {
    weft__lock(&c->injector.lock);
    inject_locked(&c->injector, f);
    weft__unlock(&c->injector.lock);
    fence_sc(); /* pairs with the fence of a worker that announces its sleep */
    weft__idle_wake_one(c);
}

/* Counted and queued under one lock, so that a stop sees both or none. */
int weft__hand_in(struct weft__cluster *c, struct weft__fiber *f) {
    struct weft__injector *in = &c->injector;
    unsigned pin = f->context.pin; /* the fiber may have ended when we look again */
    weft__lock(&in->lock);
    bool closed = in->closed || pin > c->count;
    if (!closed) {
        store_rlx(&in->spawned, load_rlx(&in->spawned) + 1);
        if (pin)
            weft__mailbox_put(&c->workers[pin - 1]->mailbox, &f->slot.link);
        else
            inject_locked(in, f);
    }
    weft__unlock(&in->lock);
    if (closed) return -ESRCH;
    fence_sc(); /* pairs with the fence of a worker that announces its sleep */
    if (pin)
        weft__idle_wake(c->workers[pin - 1]);
    else
        weft__idle_wake_one(c);
    return 0;
}

WEFT_COLD void weft__make_ready_elsewhere(struct weft__worker *w, struct weft__fiber *f) {
    if (w) count_add(&w->numbers.unparks, 1);
    if (load_rlx(&f->context.kind) == WEFT_KIND_THREAD)
        weft__wait_thread_release(f);
    else if (load_rlx(&f->context.kind) == WEFT_KIND_ABANDONED)
        return;
    else if (f->context.pin && w && w->index == f->context.pin - 1u)
        weft__push(w, f);
    else if (f->context.pin)
        mail(weft__cluster.workers[f->context.pin - 1], f);
    else
        weft__inject(&weft__cluster, f);
}

void weft__make_all_ready(struct weft__list *won) {
    for (struct weft__link *l; (l = weft__list_take(won));) weft__make_ready(weft__fiber_of_link(l));
}

/* Moves a fair share of the injector to this worker's queue. */
static void take_injected(struct weft__worker *w) {
    enum { AT_MOST = 64 };
    struct weft__injector *in = &w->cluster->injector;
    uint64_t length = load_rlx(&in->length);
    if (likely(!length)) return;
    weft__lock(&in->lock);
    length = load_rlx(&in->length);
    uint64_t share = length / w->cluster->count + 1, taken = 0;
    if (share > AT_MOST) share = AT_MOST;
    struct weft__list mine = {NULL, NULL};
    for (struct weft__link *l; taken < share && (l = weft__list_take(&in->list)); taken++) weft__list_put(&mine, l);
    store_rlx(&in->length, length - taken);
    weft__unlock(&in->lock);
    for (struct weft__link *l; (l = weft__list_take(&mine));) weft__push(w, weft__fiber_of_link(l));
}

static void take_mail(struct weft__worker *w) {
    if (likely(weft__mailbox_empty(&w->mailbox))) return;
    struct weft__list mail = {NULL, NULL};
    weft__mailbox_take_all(&w->mailbox, &mail);
    for (struct weft__link *l; (l = weft__list_take(&mail));) {
        struct weft__fiber *f = weft__fiber_of_link(l);
        if (!WEFT_MIGRATES || f->context.pin)
            weft__push(w, f);
        else if (weft__ready_push(&w->ready, f)) /* here it was sent: it stays here, for once */
            weft__inject(w->cluster, f);
    }
}

void weft__expire(struct weft__worker *w, struct weft__wheel *wheel, uint64_t now) {
    enum { AT_ONCE = 64 };
    struct weft__due due[AT_ONCE];
    unsigned n;
    do {
        n = weft__wheel_expire(wheel, now, due, AT_ONCE);
        count_add(&w->numbers.timers, n);
        for (unsigned i = 0; i < n; i++) {
            if (due[i].fn)
                due[i].fn(due[i].arg);
            else if (weft__wait_win(due[i].arg, due[i].ticket, WEFT_WON_DEADLINE))
                weft__make_ready(due[i].arg);
        }
    } while (n == AT_ONCE);
}

WEFT_COLD void weft__poll(struct weft__worker *w, uint64_t now) {
    w->until_poll = WEFT_POLL_EVERY;
    if (weft__wheel_next(&w->wheel) <= now) weft__expire(w, &w->wheel, now);
    take_mail(w);
    take_injected(w);
    if (w->cluster->helping) weft__age(w, now);
    if (weft__ready_length(&w->ready)) weft__notify(w); /* for what was taken over, and for who yields */
}

WEFT_COLD struct weft__fiber *weft__next_pinned(struct weft__worker *w) {
    struct weft__fiber *f = w->pinned_turn ? NULL : weft__pop(w);
    w->pinned_turn = f != NULL;
    return f ? f : weft__fiber_of_link(weft__list_take(&w->pinned));
}

WEFT_COLD struct weft__fiber *weft__next_slow(struct weft__worker *w) {
    if (weft__mailbox_empty(&w->mailbox) && !load_rlx(&w->cluster->injector.length)) return NULL;
    take_mail(w);
    take_injected(w);
    return w->pinned.first ? weft__next_pinned(w) : weft__pop(w);
}
