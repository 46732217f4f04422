/*
 * From fiber to fiber: what runs next on this worker, and the way there. The hot path of the whole
 * runtime; included by the few files that switch.
 *
 * What runs next: the worker's oldest ready fiber. Pinned fibers stand in a list of their own and
 * take turns with the others, one by one. Timers, mailbox and injector are looked at once in
 * WEFT_POLL_EVERY dispatches, or more often if these take longer than WEFT_POLL_TIME, and whenever the queue
 * is empty, so what is due there waits for that many dispatches at most, and then for its turn in the queue.
 */
#ifndef WEFT_SCHED_DISPATCH_H
#define WEFT_SCHED_DISPATCH_H

#include "sched/locks.h"
#include "sched/wait.h"

#define WEFT_POLL_EVERY 61
#define WEFT_POLL_TIME \
    (500 * WEFT_MICROSECOND) /* with 50, requests go to the ring in smaller batches: weft serve 5.0 -> 6.1 us */

#define WEFT_DUE_TIME (4 * WEFT_MILLISECOND)

/* The queue was empty: is something in the mailbox or the injector? */
struct weft__fiber *weft__next_slow(struct weft__worker *w);

/*
 * With hundreds of fibers taking turns, record and stack of the next one are no longer in the
 * nearest cache. Asked for one turn ahead they are there in time: the record two turns, the stack,
 * whose address stands in the record, one turn before it is entered. (100 rings of five: 27 -> 21 ns.)
 */
static inline WEFT_MAY_RACE void weft__foresee(const struct weft__fiber *next, const struct weft__fiber *second) {
    uintptr_t sp = (uintptr_t)next->context.sp; /* a number: a fresh fiber has none */
    __builtin_prefetch(&second->context);
    __builtin_prefetch((void *)sp);
    __builtin_prefetch((void *)(sp + 64));
}

static inline struct weft__fiber *weft__pop(struct weft__worker *w) {
    struct weft__coming coming;
    struct weft__fiber *f = weft__ready_pop_ahead(&w->ready, &coming);
    if (likely(f != NULL) && coming.next) weft__foresee(coming.next, coming.second);
    return f;
}

/* Takes what runs next out of the queues; NULL: nothing here, or it is time to look at timers,
 * mailbox and injector: go home. Not here, because that takes kilobytes of stack, and a page that a
 * fiber has once touched it keeps. */
static inline struct weft__fiber *weft__next(struct weft__worker *w) {
    store_rlx(&w->current, NULL);
    fence_compiler(); /* pairs with weft__fence_all in weft__share_by_force: only then is `alone` read */
    if (unlikely(--w->until_poll <= 0)) return NULL;
    if (unlikely(load_rlx(&w->aside.state))) return weft__aside_next(w);
    struct weft__fiber *f = weft__pop(w);
    return likely(f != NULL) ? f : weft__next_slow(w);
}

/* Gives a fresh fiber the stack; the record knows where to begin. */
static inline void weft__adopt(struct weft__fiber *f, struct weft__stack *s) {
    f->stack = s;
    weft__context_prepare(&f->context, weft__stack_start(s));
}

/*
 * Readies a fiber for being entered by this carrier: false when its last carrier still stands on
 * its stack, or when it is fresh and no stack can be had. Only at home may one wait for that to
 * change: a fiber that waited here for another's stack could be waited for by that other.
 */
static inline bool weft__prepare(struct weft__worker *w, struct weft__fiber *f) {
    uint8_t state = load_acq(&f->context.on_stack); /* pairs with the store in weft__switch */
    if (unlikely(state != WEFT_AT_REST)) {
        struct weft__stack *s = state == WEFT_FRESH ? weft__stack_get(w->stacks, f->context.stack_class) : NULL;
        if (unlikely(!s)) return false;
        weft__adopt(f, s);
    }
    store_rlx(&f->context.on_stack, WEFT_STOOD_ON);
    return true;
}

/* The same, and counts; the fiber that will run next, or NULL for home. */
static inline struct weft__fiber *weft__choose(struct weft__worker *w, struct weft__fiber *f) {
    if (unlikely(!f || !weft__prepare(w, f))) {
        w->handed = f;
        return NULL;
    }
    store_rel(&w->current, f); /* pairs with weft__share_by_force: it was taken from the queue before */
    count_add(&w->numbers.switches, 1);
    return f;
}

static inline struct weft__san *weft__san_of(struct weft__fiber *f, struct weft__worker *w) {
    return f ? &f->stack->san : &w->home_san;
}

/* The fiber has a deque: what others may take from it is public while it is away. (tasks.c) */
struct weft__worker *weft__suspend_forking(struct weft__worker *w, struct weft__fiber *self);
struct weft__worker *weft__suspend_handling(struct weft__worker *w, struct weft__fiber *self);

/*
 * The running fiber stands in a queue, or waits: run something else. Returns when it is entered
 * again, with the worker that it is on then.
 */
static inline __attribute__((always_inline)) struct weft__worker *weft__suspend_plain(struct weft__worker *w,
                                                                                      struct weft__fiber *self) {
    struct weft__fiber *f = weft__next(w);
    if (unlikely(f == self)) {              /* ready again before it left */
        store_rel(&w->current, f);          /* pairs with weft__share_by_force: it was taken from the queue before */
        count_add(&w->numbers.switches, 1); /* a turn, so its worker is not stuck */
        return w;
    }
    f = weft__choose(w, f);
    san_leave(&self->stack->san, weft__san_of(f, w), false);
    w = weft__switch(&self->context, f ? &f->context : &w->home, w);
    san_enter(&self->stack->san, &w->home_san);
    return w;
}

static inline __attribute__((always_inline)) struct weft__worker *weft__suspend(struct weft__worker *w,
                                                                                struct weft__fiber *self) {
    weft__locks_check(self, "parks");
    /* A fiber that parks while it handles a C++ exception takes the handling along. */
    if (unlikely(w->exceptions->caught || w->exceptions->uncaught)) return weft__suspend_handling(w, self);
    if (unlikely(load_rlx(&w->deque) != NULL)) return weft__suspend_forking(w, self);
    return weft__suspend_plain(w, self);
}

#endif
