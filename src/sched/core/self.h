/* SPDX-License-Identifier: MIT */
/*
 * Which worker the calling thread drives, and which fiber calls: one thread-local pointer. Assembly reads it, so that
 * no compiler keeps a copy (see arch).
 */
#ifndef WEFT_SCHED_CORE_SELF_H
#define WEFT_SCHED_CORE_SELF_H

#include "arch/switch.h"
#include "sched/core/cluster.h"

extern __thread struct weft__worker *weft__tls __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* The worker that the calling thread drives, or NULL. Never keep it across a switch. */
static inline struct weft__worker *weft__self(void) { return weft__tls_get(); }

/* The record of the calling fiber; or of the calling thread, made if it has none. NULL: no memory. */
struct weft__fiber *weft__me_slow(void);
static inline struct weft__fiber *weft__me(void) {
    struct weft__worker *w = weft__self();
    struct weft__fiber *me = likely(w != NULL) ? load_rlx(&w->current) : NULL;
    return likely(me != NULL) ? me : weft__me_slow();
}
/* The same, but makes no record. NULL: the caller has none, or is the function of a timer. */
struct weft__fiber *weft__me_if_any(void);

/*
 * The life of a fiber. Objects that a fiber owns hold it, so that the next fiber in the same record does not own them.
 * Never 0. A plain read is enough, because the word does not change while the fiber lives.
 */
static inline uint64_t weft__life(const struct weft__fiber *me) {
    uint64_t life;
    __builtin_memcpy(&life, &me->slot.life, sizeof life);
    return life;
}
/* The record of the fiber with this life; NULL: the fiber has ended. */
static inline struct weft__fiber *weft__fiber_in(uint64_t life) {
    struct weft__fiber *f = weft__fiber_at(weft__life_index(life));
    return likely(f && load_rlx(&f->slot.life) == life) ? f : NULL;
}

#endif
