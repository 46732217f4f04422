/* SPDX-License-Identifier: MIT */
/*
 * Fibers with thread-local storage of their own.
 *
 * Such a fiber loads the thread pointer of its storage when it is entered. Other fibers must not pay for that, so the
 * switch does nothing about it. This file uses a test that weft__suspend makes anyway: does the running fiber handle a
 * C++ exception? The worker points to the record that answers it. While a fiber with storage of its own runs, the
 * worker points to weft__own_tls_mark, a record that always says yes. So such a fiber takes the slow path to this file.
 *
 *   the fiber that leaves                                   the fiber that is entered
 *   1. chooses the next fiber                               5. loads its own storage
 *   2. if that fiber has storage of its own: skips step 3   6. writes its worker there, for weft__self
 *   3. loads the carrier's storage                          7. points the worker to the mark
 *   4. switches
 *
 * Step 2 saves a load of the thread pointer, which is slow. Between 4 and 5 the thread runs on the stack of the entered
 * fiber, but with the storage of the fiber that left, which may already run elsewhere. Only a signal handler could
 * notice. It must not trust thread-locals before it has compared the worker's thread with its own (threads/kick.c
 * does).
 *
 * The switch saves the floating-point environment of these fibers, too.
 */
#include "sched/dispatch/own_tls.h"
#include "sched/dispatch/dispatch.h"
#include "sched/dispatch/forking.h"

struct weft__exceptions weft__own_tls_mark = {&weft__own_tls_mark, 0};

static inline __attribute__((always_inline)) void load_thread_pointer(struct weft__worker *w, void *thread_pointer) {
    weft__thread_pointer_set(thread_pointer);
    weft__tls_set(w);
    w->carrier.exceptions = &weft__own_tls_mark;
}

static inline __attribute__((always_inline)) void load_carriers(struct weft__worker *w) {
    weft__thread_pointer_set(w->carrier.thread_pointer);
    w->carrier.exceptions = w->carrier.own_exceptions;
}

/* Changes the flag OWN_TLS of the fiber, under the fiber's own lock, because a cancellation may read the flags. */
static void set_owning(struct weft__fiber *me, bool owns) {
    uint8_t open = weft__frames_lock(me);
    weft__frames_unlock(me, owns ? open | WEFT_OPEN_OWN_TLS : open & (uint8_t)~WEFT_OPEN_OWN_TLS);
}

WEFT_NOINLINE void weft__own_tls_enter(void *thread_pointer) {
    struct weft__worker *w = weft__self();
    set_owning(load_rlx(&w->current), true);
    load_thread_pointer(w, thread_pointer);
}

WEFT_NOINLINE void weft__own_tls_leave(void) {
    struct weft__worker *w = weft__self();
    weft__tls_set(NULL);
    load_carriers(w);
    set_owning(load_rlx(&w->current), false);
}

/* For a fiber with forked calls: the area tasks suspends it, and that code needs the carrier's storage. */
static WEFT_COLD struct weft__worker *suspend_own_tls(struct weft__worker *w, struct weft__fiber *self) {
    void *own = weft__thread_pointer();
    load_carriers(w);
    w = weft__forking.suspend(w, self);
    load_thread_pointer(w, own);
    return w;
}

WEFT_SWITCHES struct weft__worker *weft__suspend_owning(struct weft__worker *w, struct weft__fiber *self) {
    if (unlikely(load_rlx(&w->calls.deque) != NULL)) return suspend_own_tls(w, self);
    struct weft__fiber *f = weft__next(w);
    if (unlikely(f == self)) {
        store_rel(&w->current, f); /* pairs with weft__sharing_end_by_force: f has left the queue by now */
        count_add(&w->numbers.switches, 1);
        return w;
    }
    struct weft__float_env floats;
    void *own = weft__thread_pointer();
    weft__float_env_save(&floats);
    f = weft__choose(w, f);
    if (unlikely(!f || !(load_rlx(&f->context.open) & WEFT_OPEN_OWN_TLS))) load_carriers(w);
    w = weft__switch(&self->context, f ? &f->context : &w->home.context, w);
    load_thread_pointer(w, own);
    weft__float_env_load(&floats);
    return w;
}
