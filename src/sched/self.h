/*
 * Who drives this thread: one thread-local pointer, read by assembly that no compiler may keep a
 * copy of (see arch). Included by sched.h only.
 */
#ifndef WEFT_SCHED_SELF_H
#define WEFT_SCHED_SELF_H

#include "arch/switch.h"

extern __thread struct weft__worker *weft__tls
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

static inline struct weft__worker *weft__self(void) { return weft__tls_get(); }

static inline struct weft__fiber *weft__me(void) {
    struct weft__worker *w = weft__self();
    return likely(w && w->current) ? w->current : weft__me_slow();
}

#endif
