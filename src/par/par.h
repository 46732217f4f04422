/*
 * What loops and algorithms share: the way in from a thread, the fibers that work for a caller, waiting that nothing
 * ends early, and the two questions that they put to the scheduler between pieces.
 */
#ifndef WEFT_PAR_PAR_H
#define WEFT_PAR_PAR_H

#include "sched/dispatch.h"
#include "sched/region.h"
#include "sched/tasks.h"

/* Is the caller a fiber, or something else that must not park on a worker? */
static inline bool weft__par_in_fiber(void) {
    struct weft__worker *w = weft__self();
    return likely(w != NULL) && load_rlx(&w->current);
}

/* fn(arg) in a fiber: the caller, or one that is made for it and waited for. Its result, or -ESRCH, -ENOMEM,
 * -EAGAIN. name: what the user has called, for messages. (enter.c) */
int weft__par_enter(int (*fn)(void *), void *arg, const char *name);

/*
 * Whoever works for a caller does it as the caller would, and as its tasks do: on a stack of that size, with that
 * priority, and in that scope, which the caller does not leave before it is done. (enter.c)
 */
/* A fresh fiber with stack and priority of the running one. -ENOMEM, -EAGAIN. */
int weft__par_fiber(struct weft__fiber **fiber, void *(*fn)(void *), void *arg, const char *name);
/* fn(arg) in the scope; NULL: in none. Called by a fiber that has nothing open. */
void weft__par_in_scope(struct weft__scope *scope, void (*fn)(void *), void *arg);

/* How many workers a loop of the calling fiber can have. */
static inline unsigned weft__par_workers(void) { return load_rlx(&weft__self()->cluster->configured); }

/* Does somebody look for work? */
static inline bool weft__somebody_hungry(void) {
    return load_rlx(&weft__self()->cluster->idle.state) & (WEFT_IDLE_SEARCHERS | WEFT_IDLE_SLEEPERS);
}

/* Does a worker that is awake look for work? */
static inline bool weft__somebody_searches(void) {
    return load_rlx(&weft__self()->cluster->idle.state) & WEFT_IDLE_SEARCHERS;
}

/* Somebody else is ready here: if it has been our turn for long enough, it is theirs. (enter.c) */
void weft__let_in_slow(struct weft__worker *w);

/* Between two pieces of a loop: fibers that wait for this worker get their turn now and then. */
static inline void weft__let_in(void) {
    struct weft__worker *w = weft__self();
    if (unlikely(weft__ready_length(&w->ready) || load_rlx(&w->aside.state) || !weft__mailbox_empty(&w->mailbox) ||
                 load_rlx(&w->cluster->injector.length)))
        weft__let_in_slow(w);
}

/* How far apart values of this size stand in an array, so that each is aligned as by malloc. */
static inline size_t weft__par_apart(size_t size) { return weft__round_up(size, _Alignof(max_align_t)); }

/* The first value that is not 0 ends the whole; later ones are forgotten. */
static inline void weft__par_end(_Atomic int *result, int value) {
    int none = 0;
    if (unlikely(value)) cas_ar(result, &none, value); /* pairs with the caller's look when all have ended */
}

/* Asked before something is begun: is the whole over? If the caller is told to stop, that ends it, too. */
static inline bool weft__par_over(_Atomic int *result) {
    if (unlikely(load_rlx(result))) return true;
    int told = weft__told(load_rlx(&weft__self()->current));
    weft__par_end(result, told);
    return unlikely(told != 0);
}

#endif
