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
 * The caller in this life: for what it owns, so that the next fiber in the same record does not own it. Its generation
 * and its number, side by side: one plain look, because nobody changes them while it lives. Never 0.
 */
static inline uint64_t weft__life(const struct weft__fiber *me) {
    uint64_t life;
    __builtin_memcpy(&life, &me->slot.index, sizeof life);
    return life;
}
_Static_assert(offsetof(struct weft__slot, generation) == offsetof(struct weft__slot, index) + sizeof(uint32_t),
               "number and generation are side by side");

/* The record of that life, in that life; NULL: it is over. */
static inline struct weft__fiber *weft__fiber_in(uint64_t life) {
    struct weft__fiber *f = weft__fiber_at((uint32_t)life); /* little-endian, like both machines */
    return likely(f && load_rlx(&f->slot.generation) == (uint32_t)(life >> 32)) ? f : NULL;
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
