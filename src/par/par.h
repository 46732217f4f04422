/* SPDX-License-Identifier: MIT */
/*
 * What loops and algorithms share: entering from a thread, fibers that work for a caller, and questions to the
 * scheduler between pieces: does another worker need work, and must the loop yield?
 */
#ifndef WEFT_PAR_PAR_H
#define WEFT_PAR_PAR_H

#include "sched/wait/cancel.h"
#include "sched/wake/idle.h"

/* Is the caller a fiber? Timer functions and the carrier's own code must not park. */
static inline bool weft__par_is_in_fiber(void) {
    struct weft__worker *w = weft__self();
    return likely(w != NULL) && load_rlx(&w->current);
}

/* Runs fn(arg) in a fiber: in the caller, or in a fiber that is made for it and waited for. Returns its result, or
 * -ESRCH, -ENOMEM, -EAGAIN. name: the public function, for messages. (enter.c) */
int weft__par_enter(int (*fn)(void *), void *arg, const char *name);

/*
 * A fiber that works for a caller has the caller's stack size and priority, and works in the caller's scope, as the
 * caller's tasks do. The caller does not leave that scope before the work is done. (enter.c)
 */
/* A fresh fiber with the stack size and priority of the running fiber. -ENOMEM, -EAGAIN. */
int weft__par_create_fiber(struct weft__fiber **fiber, void *(*fn)(void *), void *arg, const char *name);
/* Runs fn(arg) in the scope; NULL: in no scope. The calling fiber has no open scope. */
void weft__par_run_in_scope(struct weft__scope *scope, void (*fn)(void *), void *arg);

/* How many workers a loop of the calling fiber can use. */
static inline unsigned weft__par_count_workers(void) { return load_rlx(&weft__self()->cluster->configured); }

/* Is a worker of the cluster searching or asleep? */
static inline bool weft__par_has_idle_worker(void) {
    return load_rlx(&weft__self()->cluster->idle.state) & (WEFT_IDLE_SEARCHERS | WEFT_IDLE_SLEEPERS);
}

/* Is a worker of the cluster searching? */
static inline bool weft__par_has_searcher(void) {
    return load_rlx(&weft__self()->cluster->idle.state) & WEFT_IDLE_SEARCHERS;
}

/* Other work is ready here: yields if this fiber has run for long enough. (enter.c) */
void weft__par_yield_slow(struct weft__worker *w);

/* Call between two pieces of a loop: lets other fibers of this worker run from time to time. */
static inline void weft__par_yield(void) {
    struct weft__worker *w = weft__self();
    if (unlikely(weft__ready_length(&w->ready) || load_rlx(&w->aside.state) || !weft__mailbox_is_empty(&w->mailbox) ||
                 load_rlx(&w->cluster->injector.length)))
        weft__par_yield_slow(w);
}

/* The distance of values of this size in an array, so that each is aligned as by malloc. */
static inline size_t weft__par_stride(size_t size) { return weft__round_up(size, _Alignof(max_align_t)); }

/* The first value that is not 0 ends the whole algorithm; later values are dropped. */
static inline void weft__par_set_result(_Atomic int *result, int value) {
    int none = 0;
    if (unlikely(value)) cas_ar(result, &none, value); /* pairs with the caller's load when all pieces have ended */
}

/* Call before a piece starts: is the algorithm over? A cancellation of the caller ends it, too. */
static inline bool weft__par_is_over(_Atomic int *result) {
    if (unlikely(load_rlx(result))) return true;
    int err = weft__cancel_error(load_rlx(&weft__self()->current));
    weft__par_set_result(result, err);
    return unlikely(err != 0);
}

#endif
