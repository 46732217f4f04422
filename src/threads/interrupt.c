/* SPDX-License-Identifier: MIT */
/*
 * Waits in weft (I/O, descriptors) that a signal or a cancellation of the thread ends. Such a wait is inside a scope of
 * weft. The interrupter cancels that scope. So when the wait returns, the kernel no longer uses the buffers.
 *
 *   the waiter                                      the interrupter
 *   1. publishes the scope                          1. sets the bit of the pending signal
 *   2. checks whether a signal is pending           2. locks; cancels the scope, if there is one
 *   3. waits; takes the scope back, locked
 */
#define _GNU_SOURCE
#include "threads/threads.h"

#include <errno.h>

static void publish_wait(struct weft__thread *t, struct weft_scope *scope) {
    weft__lock(&t->waits);
    t->scope = scope;
    weft__unlock(&t->waits);
    fence_sc(); /* pairs with the signaller, which sets pending before it looks here */
}

static bool is_pending(struct weft__thread *t) {
    return load_rlx(&t->pending) & ~load_rlx(&t->mask) || weft__cancel_is_due(t);
}

/* For the program's own fibers: the scope is only for the deadline, because they receive no signals. */
static void begin_posix(struct weft__interruptible *i, uint64_t deadline) {
    i->has_scope = deadline != WEFT_FOREVER;
    if (i->has_scope) weft_scope_begin(&i->scope, deadline);
}

void weft__interrupt_begin(struct weft__interruptible *i, uint64_t deadline) {
    struct weft__thread *t = weft__thread_self();
    if (!t) {
        begin_posix(i, deadline);
        return;
    }
    for (;;) {
        weft__cancel_point();
        i->handled = load_rlx(&t->handled);
        i->restarts = true;
        weft__thread_enter();
        weft_scope_begin(&i->scope, deadline);
        publish_wait(t, &i->scope);
        if (likely(!is_pending(t))) return;
        weft__interrupt_end(i); /* a handler that runs before the call interrupts nothing */
    }
}

static bool end_posix(struct weft__interruptible *i) {
    int err = errno;
    if (i->has_scope) weft_scope_end(&i->scope);
    errno = err;
    return false;
}

bool weft__interrupt_end(struct weft__interruptible *i) {
    struct weft__thread *t = weft__thread_self();
    if (!t) return end_posix(i);
    int err = errno;
    publish_wait(t, NULL);
    weft_scope_end(&i->scope);
    weft__thread.inside--;
    if (unlikely(load_rlx(&t->pending) & ~load_rlx(&t->mask))) weft__signals_run(t, &i->restarts);
    weft__cancel_point();
    errno = err;
    return load_rlx(&t->handled) == i->handled || i->restarts;
}

bool weft__interrupt_explain(uint64_t deadline, int late) {
    if (errno == ETIMEDOUT && deadline != WEFT_FOREVER && weft_now() >= deadline) errno = late;
    if (errno != ECANCELED || !weft__thread_self()) return false;
    errno = EINTR;
    return true;
}

void weft__interrupt(struct weft__thread *t) {
    weft__thread_enter();
    fence_sc(); /* pairs with publish */
    weft_unpark(t->fiber);
    weft__lock(&t->waits);
    if (t->scope) weft_scope_cancel(t->scope);
    weft__unlock(&t->waits);
    weft__thread_leave();
}
