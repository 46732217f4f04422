/* SPDX-License-Identifier: MIT */
/* See deques.h. */
#include "deques.h"

#include "queue/abp.h"
#include "queue/chase_lev.h"
#include "queue/deque.h"
#include "queue/locked_deque.h"

#include <stdlib.h>

void deques_prepare(void) { weft__fence_init(); }

/* --- the queues by themselves --------------------------------------------------------------------- */

#define QUEUE(q, index) \
    static void *q##_make(uint64_t capacity, uint64_t first) { \
        struct weft__##q *it = aligned_alloc(128, (sizeof *it + 127) / 128 * 128); \
        if (it && weft__##q##_init(it, (index)capacity, (index)first)) { \
            free(it); \
            it = NULL; \
        } \
        return it; \
    } \
    static void q##_destroy(void *it) { \
        weft__##q##_destroy(it); \
        free(it); \
    } \
    static bool q##_push(void *it, void *item) { return !weft__##q##_push(it, item); } \
    static void *q##_pop(void *it) { return weft__##q##_pop(it); } \
    static void *q##_steal(void *it) { return weft__##q##_steal(it); }
QUEUE(chase_lev, uint64_t)
QUEUE(abp, uint32_t)
QUEUE(locked, uint64_t)

/* --- the kinds, as sched/tasks/tasks.c and task/fork_join.c use them ------------------------------------------ */

enum { FREE = 0, DONE = 2 };

static bool kind_push(void *q, void *item) {
    struct weft__deque *d = q;
    struct weft_call *c = d->in.head;
    if (weft__deque_is_full(d, c)) return false;
    *(void **)(void *)c->data = item;
    store_rel(weft__deque_head(d), c + 1); /* pairs with a thief of last resort */
    fence_compiler();
    if ((uintptr_t)c - (uintptr_t)d->in.low >= load_rlx(weft__deque_span(d))) d->variant->push(d, c);
    return true;
}

/* Waits for a stolen item until the thief has looked at it. All items below it were stolen, too. */
static void *kind_pop(void *q) {
    struct weft__deque *d = q;
    while (!weft__deque_is_empty(d)) {
        struct weft_call *c = d->in.head - 1;
        store_rlx(weft__deque_head(d), c);
        fence_compiler();
        if (c >= load_rlx(weft__deque_split_pointer(d)) || d->variant->pop(d, c)) return *(void **)(void *)c->data;
        store_rlx(weft__deque_head(d), c + 1);
        for (unsigned turn = 0; load_acq(weft__call_state(c)) != DONE;) weft__backoff(&turn); /* pairs with steal */
        store_rlx(weft__call_state(c), FREE);
        if (d->variant->forget) d->variant->forget(d, c);
        store_rlx(weft__deque_head(d), c);
    }
    return NULL;
}

static void *kind_steal(void *q) {
    struct weft__deque *d = q;
    struct weft_call *c = d->variant->steal(d);
    if (!c) {
        if (d->variant->press) d->variant->press(d, weft__clock());
        return NULL;
    }
    void *item = *(void **)(void *)c->data;
    store_rel(weft__call_state(c), DONE); /* pairs with the owner that waits for it */
    return item;
}

static void kind_destroy(void *q) { weft__deque_put(q); }

#define KIND(k) \
    static void *k##_kind_make(uint64_t capacity, uint64_t first) { \
        (void)capacity, (void)first; \
        return weft__deque_get(&weft__deque_##k); \
    }
KIND(split)
KIND(chase_lev)
KIND(abp)
KIND(locked)

const struct deque_sort deque_sorts[] = {
    {"chase-lev queue", false, chase_lev_make, chase_lev_destroy, chase_lev_push, chase_lev_pop, chase_lev_steal},
    {"abp queue", true, abp_make, abp_destroy, abp_push, abp_pop, abp_steal},
    {"locked queue", false, locked_make, locked_destroy, locked_push, locked_pop, locked_steal},
    {"split", false, split_kind_make, kind_destroy, kind_push, kind_pop, kind_steal},
    {"chase-lev", false, chase_lev_kind_make, kind_destroy, kind_push, kind_pop, kind_steal},
    {"abp", false, abp_kind_make, kind_destroy, kind_push, kind_pop, kind_steal},
    {"locked", false, locked_kind_make, kind_destroy, kind_push, kind_pop, kind_steal},
    {NULL, false, NULL, NULL, NULL, NULL, NULL},
};
