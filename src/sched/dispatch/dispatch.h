/* SPDX-License-Identifier: MIT */
/*
 * Chooses the fiber that runs next on this worker, and switches to it. This is the hot path of the whole
 * runtime. Only the few files that switch include it.
 *
 * The next fiber is the worker's oldest ready fiber. Pinned fibers are in a separate list and take turns with
 * the others. The worker looks at timers, mailbox and injector once in WEFT_POLL_EVERY dispatches, more often
 * if these take longer than WEFT_POLL_TIME, and whenever its queue is empty. So a timer or a mailed fiber waits
 * for that many dispatches at most, and then for its turn in the queue.
 */
#ifndef WEFT_SCHED_DISPATCH_H
#define WEFT_SCHED_DISPATCH_H

#include "base/assert.h"
#include "sched/core/waits_for.h"
#include "sched/dispatch/lock_check.h"
#include "sched/dispatch/make_ready.h"
#include "sched/dispatch/priority.h"
#include "sched/wake/load.h"

#define WEFT_DUE_TIME (4 * WEFT_MILLISECOND)

/* The queue is empty: takes a fiber from the mailbox or the injector, or returns NULL. */
struct weft__fiber *weft__next_slow(struct weft__worker *w);

/*
 * If hundreds of fibers take turns, the record and the stack of the next fiber are not in the nearest cache. So they
 * are prefetched: the record two turns ahead, and the stack, to which the record points, one turn ahead. (cycle, 100
 * circles of five fibers: 27 -> 21 ns.)
 */
static inline WEFT_MAY_RACE void weft__foresee(const struct weft__fiber *next, const struct weft__fiber *second) {
    uintptr_t sp = (uintptr_t)next->context.sp; /* a number: a fresh fiber has none */
    __builtin_prefetch(&second->context);
    __builtin_prefetch((void *)sp);
    __builtin_prefetch((void *)(sp + 64));
}

static inline struct weft__fiber *weft__pop(struct weft__worker *w) {
    struct weft__ready_ahead coming;
    struct weft__fiber *f = weft__ready_pop_ahead(&w->ready, &coming);
    if (likely(f != NULL) && coming.next) weft__foresee(coming.next, coming.second);
    return f;
}

/* Takes the next fiber out of the queues. NULL: there is none, or it is time to look at timers, mailbox and
 * injector: the worker goes home. It does not look here, on the fiber's stack, because that takes kilobytes, and
 * a fiber keeps each page that it has touched. self: the running fiber, or NULL. what: the wait that it has begun,
 * for the recorder; only the slow path computes it. The aside word is read after `current` is stored: in the other
 * order gcc 12 computes the address of `current` first, an instruction more. */
static inline __attribute__((always_inline)) struct weft__fiber *
weft__next_after(struct weft__worker *w, struct weft__fiber *self, struct weft__waits_for what) {
    WEFT_ASSERT(weft__self() == w); /* only the carrier takes from its queue here */
    store_rlx(&w->current, NULL);
    fence_compiler(); /* pairs with weft__fence_all in weft__sharing_end_by_force: only then is `alone` read */
    if (unlikely(load_rlx(&w->aside.state))) return weft__aside_next(w, self, what);
    if (unlikely(--w->pace.until_poll <= 0)) return NULL;
    struct weft__fiber *f = weft__pop(w);
    return likely(f != NULL) ? f : weft__next_slow(w);
}
static inline struct weft__fiber *weft__next(struct weft__worker *w) {
    return weft__next_after(w, NULL, weft__for(0, NULL));
}

/* Gives a fresh fiber the stack. The record says where the fiber begins. */
static inline void weft__adopt(struct weft__fiber *f, struct weft__stack *s) {
    WEFT_ASSERT(s != NULL && f->stack == NULL);
    WEFT_ASSERT(load_rlx(&f->context.on_stack) == WEFT_FRESH);
    f->stack = s;
    weft__context_prepare(&f->context, weft__stack_start(s));
}

/*
 * Prepares a fiber so that this carrier can enter it. False: its last carrier still uses its stack, or the fiber is
 * fresh and there is no stack. The carrier may wait for that to change only at home: two fibers that waited here for
 * each other's stack would wait for ever.
 */
static inline bool weft__prepare(struct weft__worker *w, struct weft__fiber *f) {
    uint8_t state = load_acq(&f->context.on_stack); /* pairs with the store in weft__switch */
    if (unlikely(state != WEFT_AT_REST)) {
        struct weft__stack *s = state == WEFT_FRESH ? weft__stack_get(w->cache.stacks, f->context.stack_class) : NULL;
        if (unlikely(!s)) return false;
        weft__adopt(f, s);
    }
    WEFT_ASSERT(f->stack != NULL);
    WEFT_ASSERT(load_rlx(&f->context.kind) == WEFT_KIND_FIBER); /* an abandoned fiber never runs */
    store_rlx(&f->context.on_stack, WEFT_STOOD_ON);
    return true;
}

/* Prepares f and counts the switch. Returns f, or NULL: the carrier must go home. */
static inline struct weft__fiber *weft__choose(struct weft__worker *w, struct weft__fiber *f) {
    if (unlikely(!f || !weft__prepare(w, f))) {
        w->home.handed = f;
        return NULL;
    }
    store_rel(&w->current, f); /* pairs with weft__sharing_end_by_force: f has left the queue by now */
    count_add(&w->numbers.switches, 1);
    return f;
}

static inline struct weft__san *weft__san_of(struct weft__fiber *f, struct weft__worker *w) {
    return f ? &f->stack->san : &w->home.san;
}

/* weft__suspend for a fiber that has a deque (forking.h), and for a fiber that handles a C++ exception. (yield.c) */
struct weft__worker *weft__suspend_forking(struct weft__worker *w, struct weft__fiber *self);
struct weft__worker *weft__suspend_handling(struct weft__worker *w, struct weft__fiber *self);

/*
 * The running fiber is in a queue, or waits: switches to another fiber. Returns when the fiber is entered again, with
 * the worker that it is then on.
 */
static inline __attribute__((always_inline)) struct weft__worker *
weft__suspend_plain_for(struct weft__worker *w, struct weft__fiber *self, struct weft__waits_for what) {
    WEFT_ASSERT(load_rlx(&w->current) == self && self->stack != NULL);
    WEFT_ASSERT(load_rlx(&self->context.on_stack) == WEFT_STOOD_ON);
    struct weft__fiber *f = weft__next_after(w, self, what);
    if (unlikely(f == self)) {              /* the fiber became ready again before it left */
        store_rel(&w->current, f);          /* pairs with weft__sharing_end_by_force: f has left the queue by now */
        count_add(&w->numbers.switches, 1); /* a turn, so its worker is not stuck */
        return w;
    }
    f = weft__choose(w, f);
    san_leave(&self->stack->san, weft__san_of(f, w), false);
    w = weft__switch(&self->context, f ? &f->context : &w->home.context, w);
    san_enter(&self->stack->san, &w->home.san);
    return w;
}

static inline __attribute__((always_inline)) struct weft__worker *weft__suspend_plain(struct weft__worker *w,
                                                                                      struct weft__fiber *self) {
    return weft__suspend_plain_for(w, self, weft__for(0, NULL));
}

/* what: see weft__next_after. The slow paths do not record it. */
static inline __attribute__((always_inline)) struct weft__worker *
weft__suspend_for(struct weft__worker *w, struct weft__fiber *self, struct weft__waits_for what) {
    weft__locks_check(self, "parks");
    /* A fiber that parks while it handles a C++ exception saves libstdc++'s record of it and restores it later. */
    if (unlikely(w->carrier.exceptions->caught || w->carrier.exceptions->uncaught))
        return weft__suspend_handling(w, self);
    if (unlikely(load_rlx(&w->calls.deque) != NULL)) return weft__suspend_forking(w, self);
    return weft__suspend_plain_for(w, self, what);
}
static inline __attribute__((always_inline)) struct weft__worker *weft__suspend(struct weft__worker *w,
                                                                                struct weft__fiber *self) {
    return weft__suspend_for(w, self, weft__for(0, NULL));
}

#endif
