/* SPDX-License-Identifier: MIT */
/* Stands in for src/sched/core/self.h: which worker a thread drives is its own business. */
#ifndef WEFT_SCHED_SELF_H
#define WEFT_SCHED_SELF_H

#include "sched/core/cluster.h"

#include "arch/switch.h"

extern __thread struct weft__worker *weft__tls;

static inline struct weft__worker *weft__self(void) { return weft__tls_get(); }
static inline struct weft__fiber *weft__me(void) {
    struct weft__worker *w = weft__self();
    return w ? load_rlx(&w->current) : NULL;
}
static inline uint64_t weft__life(const struct weft__fiber *me) {
    uint64_t life;
    __builtin_memcpy(&life, &me->slot.life, sizeof life);
    return life;
}
static inline struct weft__fiber *weft__fiber_in(uint64_t life) {
    struct weft__fiber *f = weft__fiber_at(weft__life_index(life));
    return f && load_rlx(&f->slot.life) == life ? f : NULL;
}

#endif
