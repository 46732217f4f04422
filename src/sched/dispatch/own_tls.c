/* SPDX-License-Identifier: MIT */
/*
 * Fibers with thread-local storage of their own.
 *
 * Such a fiber loads the thread pointer of its storage when it is entered. A fiber without must pay nothing for that,
 * so nothing of it is in the switch. Instead weft__suspend already tests whether the running fiber handles a C++
 * exception, by a record that the worker points to. While a fiber with storage of its own runs, the worker points to a
 * record that says yes, always: weft__own_tls_mark. So the fiber comes here.
 *
 *   the fiber that leaves                                   the fiber that is entered
 *   1. chooses the next one                                 5. loads its own storage
 *   2. if that has storage of its own: leaves it to it      6. writes its worker there, for weft__self
 *   3. else: loads the carrier's storage                    7. points the worker to the mark
 *   4. switches
 *
 * Step 2 saves a load of the thread pointer, which is slow. Between 4 and 5 the thread stands on the stack
 * of one fiber with the storage of the other, which may already run elsewhere. Only a signal handler could notice: it
 * must not trust thread-locals before it has compared the worker's thread with its own (threads/kick.c does).
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

/* The fiber's own flags change under its own lock: a cancellation may look at them. */
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

/* The fiber has forked calls: the thieves' side of a suspension runs on the carrier's storage. */
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
