/* SPDX-License-Identifier: MIT */
/* See victims.h. */
#include "sched/place/victims.h"

#include "base/random.h"
#include "base/sys.h"

#include <errno.h>

static int make_victim_room(struct weft__victims *v, unsigned others) {
    if (others <= v->room) return 0;
    uint16_t *order = weft__alloc(others * sizeof *order);
    if (!order) return -ENOMEM;
    weft__free(v->order);
    v->order = order;
    v->room = others;
    return 0;
}

int weft__victims_arrange(struct weft__victims *v, const struct weft__topology *t, const uint16_t *cpu_of_worker,
                          unsigned workers, unsigned self) {
    if (make_victim_room(v, workers - 1)) return -ENOMEM;
    v->self = self;
    v->count = 0;
    v->fixed = false;
    for (unsigned d = 0; d < WEFT_DISTANCES; d++) {
        for (unsigned i = 0; i < workers; i++)
            if (i != self && weft__topology_distance(t, cpu_of_worker[self], cpu_of_worker[i]) == d)
                v->order[v->count++] = (uint16_t)i;
        v->end[d] = v->count;
    }
    return 0;
}

int weft__victims_level(struct weft__victims *v, unsigned workers, unsigned self, bool fixed) {
    if (make_victim_room(v, workers - 1)) return -ENOMEM;
    v->self = self;
    v->count = workers - 1;
    v->fixed = fixed;
    for (unsigned i = 0; i < v->count; i++) v->order[i] = (uint16_t)((self + 1 + i) % workers);
    for (unsigned d = 0; d < WEFT_DISTANCES; d++) v->end[d] = d == WEFT_DISTANCES - 1 ? v->count : 0;
    return 0;
}

void weft__victims_free(struct weft__victims *v) {
    weft__free(v->order);
    *v = (struct weft__victims){0};
}

/*
 * Workers on the same core count as workers with the same cache: there is often only one of them, and it would get
 * nearly all looks. Each worker begins its rounds at an index of its own, so that workers that look at the same time
 * look at different victims.
 */
unsigned weft__victims_one(const struct weft__victims *v, uint64_t looks, uint64_t *random) {
    if (!v->count) return v->self;
    if (looks % WEFT_SWEEP == WEFT_SWEEP - 1) return v->order[(looks / WEFT_SWEEP + v->self) % v->count];
    unsigned from = 0, d = WEFT_NEAR_CACHE;
    for (uint64_t dice = weft__random(random);; d++) {
        if (v->end[d] == v->count) break; /* no worker is further away */
        if (v->end[d] == from) continue;
        if (dice % 4) break;
        dice /= 4;
        from = v->end[d];
    }
    return v->order[from + weft__random_below(random, v->end[d] - from)];
}

void weft__victims_begin(const struct weft__victims *v, uint64_t *random, struct weft__victims_round *r) {
    *r = (struct weft__victims_round){.random = v->fixed ? 0 : (uint32_t)(weft__random(random) >> 32)};
}

bool weft__victims_next(const struct weft__victims *v, struct weft__victims_round *r, unsigned *worker) {
    if (r->next == v->count) return false;
    while (r->next == v->end[r->distance]) r->distance++;
    unsigned from = r->distance ? v->end[r->distance - 1] : 0, n = v->end[r->distance] - from;
    unsigned i = r->next++ - from + (unsigned)((uint64_t)r->random * n >> 32);
    *worker = v->order[from + (i < n ? i : i - n)];
    return true;
}
