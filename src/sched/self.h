/*
 * Who drives this thread, and what follows from it at once: one thread-local pointer, read by assembly that no compiler
 * may keep a copy of (see arch). Included by sched.h only.
 */
#ifndef WEFT_SCHED_SELF_H
#define WEFT_SCHED_SELF_H

#include "arch/switch.h"

extern __thread struct weft__worker *weft__tls __attribute__((tls_model("initial-exec"), visibility("hidden")));

static inline struct weft__worker *weft__self(void) { return weft__tls_get(); }

static inline struct weft__fiber *weft__me(void) {
    struct weft__worker *w = weft__self();
    struct weft__fiber *me = likely(w != NULL) ? load_rlx(&w->current) : NULL;
    return likely(me != NULL) ? me : weft__me_slow();
}

/*
 * The caller in this life: for what it owns, so that the next fiber in the same record does not own it. Never 0. One
 * plain look, because nothing changes it while the caller lives.
 */
static inline uint64_t weft__life(const struct weft__fiber *me) {
    uint64_t life;
    __builtin_memcpy(&life, &me->slot.life, sizeof life);
    return life;
}

/* The record of that life, in that life; NULL: it is over. */
static inline struct weft__fiber *weft__fiber_in(uint64_t life) {
    struct weft__fiber *f = weft__fiber_at(weft__life_index(life));
    return likely(f && load_rlx(&f->slot.life) == life) ? f : NULL;
}

static inline void weft__make_ready(struct weft__fiber *f) {
    struct weft__worker *w = weft__self();
    if (unlikely(!w || weft__has_wishes(w, f) || load_rlx(&f->context.kind) != WEFT_KIND_FIBER)) {
        weft__make_ready_elsewhere(w, f);
        return;
    }
    count_add(&w->numbers.unparks, 1);
    if (unlikely(WEFT_MIGRATES || weft__ready_push(&w->ready, f))) weft__push_slow(w, f);
    weft__notify(w);
}

#endif
