/* Stands in for src/sched/self.h: which worker a thread drives is its own business, and what becomes ready the
 * explorer's. */
#ifndef WEFT_SCHED_SELF_H
#define WEFT_SCHED_SELF_H

#include "arch/switch.h"

extern __thread struct weft__worker *weft__tls;
void explored_ready(struct weft__fiber *f);

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
static inline void weft__make_ready(struct weft__fiber *f) { explored_ready(f); }

#endif
