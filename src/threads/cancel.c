/* SPDX-License-Identifier: MIT */
/*
 * Cancellation. State and type are where glibc has them, in the thread's descriptor. The request is a flag in our
 * record. The cancelled thread itself acts on it, by pthread_exit, which unwinds and runs clean-up handlers as usual.
 */
#define _GNU_SOURCE
#include "threads/threads.h"

#include <errno.h>

extern void __wrap_pthread_exit(void *result) __attribute__((noreturn));
REAL(pthread_cancel);
REAL(pthread_testcancel);
REAL(pthread_setcancelstate);
REAL(pthread_setcanceltype);

bool weft__cancel_is_due(struct weft__thread *t) {
    int state;
    if (likely(!t || !load_rlx(&t->is_cancelled))) return false;
    real(pthread_setcancelstate)(PTHREAD_CANCEL_DISABLE, &state);
    real(pthread_setcancelstate)(state, NULL);
    return state == PTHREAD_CANCEL_ENABLE;
}

void weft__cancel_point(void) {
    struct weft__thread *t = weft__thread_self();
    if (likely(!weft__cancel_is_due(t))) return;
    store_rlx(&t->is_cancelled, false);
    t->inside = 0;
    t->result = PTHREAD_CANCELED;
    real(pthread_exit)(PTHREAD_CANCELED);
}

bool weft__cancel_is_async(void) {
    int type;
    if (!weft__thread_self()) return false;
    real(pthread_setcanceltype)(PTHREAD_CANCEL_DEFERRED, &type);
    if (type != PTHREAD_CANCEL_DEFERRED) real(pthread_setcanceltype)(type, NULL);
    return type == PTHREAD_CANCEL_ASYNCHRONOUS;
}

static void act_if_async(void) {
    if (weft__cancel_is_due(weft__thread_self()) && weft__cancel_is_async()) weft__cancel_point();
}

WEFT_INTERPOSED void pthread_testcancel(void) {
    if (weft__thread_self())
        weft__cancel_point();
    else
        real(pthread_testcancel)();
}
WEFT_INTERPOSED int pthread_setcancelstate(int state, int *before) {
    int err = real(pthread_setcancelstate)(state, before);
    if (!err) act_if_async();
    return err;
}
WEFT_INTERPOSED int pthread_setcanceltype(int type, int *before) {
    int err = real(pthread_setcanceltype)(type, before);
    if (!err) act_if_async();
    return err;
}

WEFT_INTERPOSED int pthread_cancel(pthread_t thread) {
    struct weft__thread *t = weft__thread_of(thread);
    if (t->state == WEFT_THREAD_NONE) return real(pthread_cancel)(thread);
    if (t->state >= WEFT_THREAD_COLLECTED) return ESRCH;
    if (load_acq(&t->over)) return 0; /* pairs with weft__thread_announce */
    atomic_store(&t->is_cancelled, true);
    if (t == weft__thread_self()) {
        act_if_async();
        return 0;
    }
    weft__interrupt(t);
    weft__kick_all();
    return 0;
}
