/* SPDX-License-Identifier: MIT */
/*
 * The queue into which a fiber goes when it becomes ready:
 *
 *   made ready by a fiber           the queue of that fiber's worker
 *   made ready by another thread,   the injector
 *   or in another cluster
 *   pinned                          the aside list of its worker: directly if the caller drives that worker,
 *                                   else through the mailbox
 *   of high or low priority         the aside list of the worker in whose queue it would go otherwise
 *
 * A fiber is displaced if it has waited in a queue and leaves it without a turn: its worker retires, or the reserve
 * does not run it. It goes to the injector, too, and leaves that before most fibers that were handed in. The worker
 * that takes it puts it at the end of its queue. If displaced fibers went to the front, a fiber that wakes up for a
 * moment would wait for a hundred displaced fibers that compute (a ticker was 200 to 300 ms late, instead of 60).
 *
 * No fiber is lost for lack of memory: if a queue cannot grow, the fiber goes to the injector, a list that is linked
 * through the records.
 */
#include "base/assert.h"
#include "sched/core/thread.h"
#include "sched/dispatch/delay.h"
#include "sched/dispatch/dispatch.h"
#include "sched/record/record.h"

static unsigned pin_of(uint32_t placement) { return placement & WEFT_PLACEMENT_PIN; }

void weft__mail(struct weft__worker *to, struct weft__fiber *f) {
    WEFT_ASSERT(to && f);
    WEFT_ASSERT(!(load_rlx(&f->wait) & WEFT_WAIT_WAITING));
    weft__mailbox_put(&to->mailbox, &f->slot.link);
    fence_sc(); /* pairs with a worker that announces its sleep: it sees the mail, or this thread wakes it */
    if (unlikely(!load_rlx(&to->cluster->running) && !load_rlx(&weft__cluster.ending)))
        weft__mailbox_hand_on(to); /* the fiber has just been moved away, and this cluster has ended */
    else
        weft__idle_wake(to);
}

void weft__mailbox_hand_on(struct weft__worker *from) {
    struct weft__list mail = {NULL, NULL};
    weft__mailbox_take_all(&from->mailbox, &mail);
    for (struct weft__link *l; (l = weft__list_take(&mail));) {
        struct weft__fiber *f = weft__fiber_of_link(l);
        weft__inject(weft__cluster_of(load_rlx(&f->context.placement)), f);
    }
}

/*
 * Takes displaced fibers first, but every fourth fiber from the other list, so that a reserve that displaces fibers all
 * the time does not hold up fibers that were handed in. Locked.
 */
static struct weft__link *take_oldest(struct weft__injector *in) {
    WEFT_ASSERT(weft__lock_is_held(&in->lock));
    bool handed_in = ++in->turn % 4 == 0;
    struct weft__link *l = weft__list_take(handed_in ? &in->list : &in->displaced);
    return l ? l : weft__list_take(handed_in ? &in->displaced : &in->list);
}

void weft__injector_hand_on(struct weft__cluster *from) {
    struct weft__list rest = {NULL, NULL};
    weft__lock(&from->injector.lock);
    for (struct weft__link *l; (l = take_oldest(&from->injector));) weft__list_put(&rest, l);
    weft__timed_none(&from->injector.timed);
    store_rlx(&from->injector.length, 0);
    weft__unlock(&from->injector.lock);
    for (struct weft__link *l; (l = weft__list_take(&rest));) {
        struct weft__fiber *f = weft__fiber_of_link(l);
        weft__inject(weft__cluster_of(load_rlx(&f->context.placement)), f);
    }
}

/* Test builds: every fiber that becomes ready continues on the next worker. */
static inline bool migrate_fiber(struct weft__worker *w, struct weft__fiber *f) {
    unsigned wanted = load_rlx(&w->cluster->wanted);
    if (!WEFT_MIGRATES || wanted < 2) return false;
    weft__mail(w->cluster->workers[(w->index + 1) % wanted], f);
    return true;
}

/* While the worker records, the trap of its queue is always set, so that every push calls weft__push_slow. */
static WEFT_NOINLINE void push_recorded(struct weft__worker *w, struct weft__fiber *f) {
    if (w->sampling.is_armed) weft__age_mark(w);
    weft__ready_untrap(&w->ready);
    if (weft__ready_push(&w->ready, f)) weft__inject(w->cluster, f);
    weft__ready_trap(&w->ready);
}

/* The push that led here may have met the trap already. If the fiber came by mail, it meets the trap now. The trap may
 * also be left over from a recording. */
static void push_here(struct weft__worker *w, struct weft__fiber *f) {
    if (unlikely(weft__is_recorded(w))) {
        push_recorded(w, f);
        return;
    }
    if (w->sampling.is_armed && !w->ready.trapped) weft__age_mark(w);
    int err = weft__ready_push(&w->ready, f);
    if (err == -EAGAIN) {
        if (w->sampling.is_armed) weft__age_mark(w);
        err = weft__ready_push(&w->ready, f);
    }
    if (err) weft__inject(w->cluster, f);
}

void weft__remember_last(struct weft__worker *w, struct weft__fiber *f) {
    uint32_t placement = load_rlx(&f->context.placement);
    uint32_t here = (placement & ~WEFT_PLACEMENT_LAST) | w->index << WEFT_PLACEMENT_LAST_SHIFT;
    if ((placement & WEFT_PLACEMENT_RETURNS) && here != placement)
        cas_ar(&f->context.placement, &placement, here); /* fails if the fiber is being moved: then `last` is useless */
}

/* Puts the fiber into the queue or a list of this worker. A pin to another worker is not heeded. */
static void placement_settle(struct weft__worker *w, struct weft__fiber *f, uint32_t placement) {
    static const uint8_t aside[] = {WEFT_ASIDES, WEFT_ASIDE_HIGH, WEFT_ASIDE_LOW, WEFT_ASIDES};
    unsigned which = aside[(placement & WEFT_PLACEMENT_PRIORITY) >> WEFT_PLACEMENT_PRIORITY_SHIFT];
    if (pin_of(placement)) which = WEFT_ASIDE_PINNED;
    weft__remember_last(w, f);
    if (which != WEFT_ASIDES)
        weft__aside_put(w, which, f);
    else
        push_here(w, f);
}

/* In the experiment with one global queue: does the fiber belong there? */
static bool is_global(const struct weft__worker *w, uint32_t placement) {
    return w->cluster->policy.queue == WEFT_QUEUE_GLOBAL && (placement & WEFT_PLACEMENT_RETURNS) && !pin_of(placement);
}

static inline __attribute__((always_inline)) void push_where_it_belongs(struct weft__worker *w, struct weft__fiber *f) {
    uint32_t placement = load_rlx(&f->context.placement);
    if ((placement & WEFT_PLACEMENT_CLUSTER) != w->placement)
        weft__inject(weft__cluster_of(placement), f);
    else if (pin_of(placement) && pin_of(placement) != w->index + 1)
        weft__mail(w->cluster->workers[pin_of(placement) - 1], f); /* it ran here because its own worker was stuck */
    else if (is_global(w, placement))
        weft__inject(w->cluster, f);
    else if (pin_of(placement) || !migrate_fiber(w, f))
        placement_settle(w, f, placement);
}

/* A separate function: inline, it would make weft__push_slow save more registers each time. */
static WEFT_COLD WEFT_NOINLINE void push_slow_recorded(struct weft__worker *w, struct weft__fiber *f) {
    weft__record_ready(w, f);
    push_where_it_belongs(w, f);
}

WEFT_COLD void weft__push_slow(struct weft__worker *w, struct weft__fiber *f) {
    if (unlikely(weft__is_recorded(w)))
        push_slow_recorded(w, f);
    else
        push_where_it_belongs(w, f);
}

static void inject_locked(struct weft__injector *in, struct weft__fiber *f, bool displaced) {
    WEFT_ASSERT(weft__lock_is_held(&in->lock));
    WEFT_ASSERT(!(load_rlx(&f->wait) & WEFT_WAIT_WAITING));
    weft__list_put(displaced ? &in->displaced : &in->list, &f->slot.link);
    weft__timed_put(&in->timed, f);
    store_rlx(&in->length, load_rlx(&in->length) + 1);
}

static void inject_into(struct weft__cluster *c, struct weft__fiber *f, bool displaced) {
    weft__lock(&c->injector.lock);
    while (unlikely(c->injector.closed == WEFT_CLOSED && c != weft__cluster_of(load_rlx(&f->context.placement)))) {
        weft__unlock(&c->injector.lock); /* the fiber has just been moved to another cluster */
        c = weft__cluster_of(load_rlx(&f->context.placement));
        weft__lock(&c->injector.lock);
    }
    inject_locked(&c->injector, f, displaced);
    weft__unlock(&c->injector.lock);
    fence_sc(); /* pairs with the fence of a worker that announces its sleep */
    weft__idle_wake_one(c);
}

WEFT_COLD void weft__inject(struct weft__cluster *c, struct weft__fiber *f) { inject_into(c, f, false); }

void weft__queue_give_away(struct weft__worker *w) {
    struct weft__injector *in = &w->cluster->injector;
    if (!weft__ready_length(&w->ready) && !load_rlx(&w->aside.loose)) return;
    weft__lock(&in->lock);
    for (struct weft__fiber *f; (f = weft__ready_pop(&w->ready));) inject_locked(in, f, true);
    for (struct weft__fiber *f; (f = weft__aside_steal(w, w));) inject_locked(in, f, true);
    weft__unlock(&in->lock);
    fence_sc(); /* pairs with the fence of a worker that announces its sleep */
    weft__idle_wake_one(w->cluster);
}

/* The fiber is counted and queued under one lock, so that a stop sees both or neither. The caller found the cluster by
 * its handle. Since then the cluster may have ended, and another may use its record; the generation tells. */
int weft__hand_in(struct weft__cluster *c, struct weft_cluster handle, struct weft__fiber *f, struct weft__worker *to) {
    struct weft__injector *in = &c->injector;
    unsigned pin = pin_of(load_rlx(&f->context.placement)); /* read now: after the enqueue the fiber may run and end */
    if (unlikely(weft__is_recording())) weft__record_ready(weft__self(), f);
    weft__lock(&in->lock);
    bool closed = in->closed > (weft__self() ? WEFT_CLOSED_TO_THREADS : WEFT_OPEN) || pin > c->count ||
                  (handle.id && weft__cluster_generation(handle) != load_rlx(&c->generation));
    if (!closed) {
        store_rlx(&in->spawned, load_rlx(&in->spawned) + 1);
        if (pin) to = c->workers[pin - 1];
        if (to && to->index >= c->count) to = NULL; /* an earlier cluster in this record had more workers */
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

/* The other worker to which the fiber must return: where it ran last. In the experiment that shares work: the next
 * worker in turn. NULL: the fiber stays here. */
static struct weft__worker *last_of(struct weft__worker *w, uint32_t placement) {
    if (w->cluster->policy.queue == WEFT_QUEUE_SHARED && (placement & WEFT_PLACEMENT_RETURNS)) {
        unsigned next = w->shared++ % load_rlx(&w->cluster->wanted);
        return next == w->index ? NULL : w->cluster->workers[next];
    }
    unsigned last = (placement & WEFT_PLACEMENT_LAST) >> WEFT_PLACEMENT_LAST_SHIFT;
    bool elsewhere = (placement & WEFT_PLACEMENT_RETURNS) && last != w->index && last < load_rlx(&w->cluster->wanted);
    return elsewhere ? w->cluster->workers[last] : NULL;
}

WEFT_COLD void weft__make_ready_elsewhere(struct weft__worker *w, struct weft__fiber *f) {
    uint32_t placement = load_rlx(&f->context.placement);
    struct weft__worker *last;
    if (w) count_add(&w->numbers.unparks, 1);
    if (unlikely(weft__is_recording()) && load_rlx(&f->context.kind) == WEFT_KIND_FIBER) weft__record_ready(w, f);
    if (load_rlx(&f->context.kind) == WEFT_KIND_THREAD)
        weft__wait_thread_release(f);
    else if (load_rlx(&f->context.kind) == WEFT_KIND_ABANDONED)
        return;
    else if (pin_of(placement) &&
             !(w && w->cluster == weft__cluster_of(placement) && w->index == pin_of(placement) - 1))
        weft__mail(weft__cluster_of(placement)->workers[pin_of(placement) - 1], f);
    else if (!w || (placement & WEFT_PLACEMENT_CLUSTER) != w->placement)
        weft__inject(weft__cluster_of(placement), f);
    else if (is_global(w, placement))
        weft__inject(w->cluster, f);
    else if ((last = last_of(w, placement)))
        weft__mail(last, f);
    else {
        weft__push(w, f);
        weft__notify_woken(w);
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

bool weft__reserve_leaves(struct weft__worker *w, struct weft__fiber *f) {
    if (likely(!weft__is_reserve(w)) || weft__is_quick(f)) return false;
    if (pin_of(load_rlx(&f->context.placement)) == w->index + 1)
        return false; /* the other workers would mail it back */
    inject_into(w->cluster, f, true);
    return true;
}

uint64_t weft__reserve_share(struct weft__worker *w, struct weft__worker *from, uint64_t n) {
    if (likely(!weft__is_reserve(w)) || load_rlx(&from->rescue.is_stuck)) return n;
    struct weft__fiber *oldest = weft__ready_peek(&from->ready);
    return oldest && weft__is_quick(oldest);
}

/* For the reserve: moves the quick fibers among the first few of a list to `mine`. The other fibers keep their order.
 * Locked. */
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

static void ready_push_all(struct weft__worker *w, struct weft__list *fibers) {
    bool global = w->cluster->policy.queue == WEFT_QUEUE_GLOBAL;
    for (struct weft__link *l; (l = weft__list_take(fibers));) {
        struct weft__fiber *f = weft__fiber_of_link(l);
        if (unlikely(global))
            placement_settle(w, f,
                             load_rlx(&f->context.placement)); /* weft__push would put it back into the injector */
        else
            weft__push(w, f);
    }
}

static WEFT_COLD void take_quick_injected(struct weft__worker *w) {
    struct weft__injector *in = &w->cluster->injector;
    struct weft__list mine = {NULL, NULL};
    weft__lock(&in->lock);
    uint64_t taken = take_quick(in, &in->displaced, &mine) + take_quick(in, &in->list, &mine);
    store_rlx(&in->length, load_rlx(&in->length) - taken);
    weft__unlock(&in->lock);
    ready_push_all(w, &mine);
}

/* Moves a fair share of the injector to this worker's queue. */
void weft__injector_take(struct weft__worker *w) {
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
    if (unlikely(w->cluster->policy.queue == WEFT_QUEUE_GLOBAL)) share = 1;
    struct weft__list mine = {NULL, NULL};
    for (struct weft__link *l; taken < share && (l = take_oldest(in)); taken++) {
        uint64_t then = weft__timed_take(&in->timed, weft__fiber_of_link(l));
        if (unlikely(then)) since = then, timed = weft__fiber_of_link(l);
        weft__list_put(&mine, l);
    }
    store_rlx(&in->length, length - taken);
    weft__unlock(&in->lock);
    if (timed) weft__timed_note(w, timed, since);
    ready_push_all(w, &mine);
}

void weft__mail_take(struct weft__worker *w, struct weft__worker *of) {
    if (likely(weft__mailbox_is_empty(&of->mailbox))) return;
    struct weft__list mail = {NULL, NULL};
    weft__mailbox_take_all(&of->mailbox, &mail);
    for (struct weft__link *l; (l = weft__list_take(&mail));) {
        struct weft__fiber *f = weft__fiber_of_link(l);
        uint32_t placement = load_rlx(&f->context.placement);
        if ((placement & WEFT_PLACEMENT_CLUSTER) == w->placement)
            placement_settle(w, f, placement);
        else
            weft__inject(weft__cluster_of(placement), f); /* the fiber was moved to another cluster meanwhile */
    }
}

WEFT_COLD struct weft__fiber *weft__next_slow(struct weft__worker *w) {
    if (weft__mailbox_is_empty(&w->mailbox) && !load_rlx(&w->cluster->injector.length)) return NULL;
    if (unlikely(!weft__is_wanted(w))) return NULL;
    weft__mail_take(w, w);
    weft__injector_take(w);
    return weft__aside_count(w) ? weft__aside_pop(w) : weft__pop(w);
}
