/* SPDX-License-Identifier: MIT */
/*
 * Fibers with thread-local storage of their own: how a fiber gets and leaves it, and the switch from such a fiber. See
 * own_tls.c.
 */
#ifndef WEFT_SCHED_DISPATCH_OWN_TLS_H
#define WEFT_SCHED_DISPATCH_OWN_TLS_H

#include "arch/thread_pointer.h"
#include "sched/core/self.h"

/* w->carrier.exceptions while the running fiber has storage of its own. */
extern struct weft__exceptions weft__own_tls_mark;

static inline bool weft__own_tls_runs(const struct weft__worker *w) {
    return w->carrier.exceptions == &weft__own_tls_mark;
}

/* The calling fiber uses this storage, until it calls weft__own_tls_leave. Then it uses the storage of its carrier. */
void weft__own_tls_enter(void *thread_pointer);
void weft__own_tls_leave(void);

struct weft__worker *weft__suspend_owning(struct weft__worker *w, struct weft__fiber *self);

#endif
