/* SPDX-License-Identifier: MIT */
/*
 * The deque variants besides the split deque: locked, ABP, Chase-Lev. Each is a queue of pointers to calls. This file
 * adapts them to the contract of deque.h.
 *
 * A queue may refuse a call: ABP if it is full, the others if there is no memory. Such a call, and every younger call,
 * is hidden: the owner counts the hidden calls and pops them first, and thieves do not see them. They are the calls
 * just below the head, so the oldest of them are pushed as soon as a push finds room. So a full queue costs
 * parallelism, but never a task.
 */
#include "queue/deque.h"

#include "queue/abp.h"
#include "queue/chase_lev.h"
#include "queue/locked_deque.h"

#ifdef WEFT_READY_FIRST
#define FIRST WEFT_READY_FIRST
#else
#define FIRST 256
#endif
#define ABP_CAPACITY 1024

struct variant_state {
    union {
        struct weft__locked locked;
        struct weft__abp abp;
        struct weft__chase_lev chase_lev;
    };
    uint32_t hidden; /* the owner's count of hidden calls */
};

static struct variant_state *variant_state_of(struct weft__deque *d) { return d->more; }

static int variant_make(struct weft__deque *d) {
    d->more = weft__alloc_aligned(WEFT_APART, sizeof(struct variant_state));
    if (!d->more) return -ENOMEM;
    weft__deque_close_fast_path(d);
    return 0;
}

/* Pushes the hidden calls from the oldest to the youngest, c, until the queue refuses. */
static inline void variant_push_all(struct variant_state *s, struct weft_call *c,
                                    int (*push)(struct variant_state *, void *)) {
    s->hidden++;
    while (s->hidden && !push(s, c + 1 - s->hidden)) s->hidden--;
}

/* If there is nothing to pop, a thief has taken the call: the queue holds every older call. */
static inline bool pop_youngest(struct variant_state *s, void *(*pop)(struct variant_state *)) {
    if (!s->hidden) return pop(s) != NULL;
    s->hidden--;
    return true;
}

/* --- the variants: each with its queue ---------------------------------------------------------- */

#define VARIANT(q, q_init) \
    static int q##_push(struct variant_state *s, void *item) { return weft__##q##_push(&s->q, item); } \
    static void *q##_pop(struct variant_state *s) { return weft__##q##_pop(&s->q); } \
    static void q##_kind_push(struct weft__deque *d, struct weft_call *c) { \
        weft__deque_touch(d, c); \
        variant_push_all(variant_state_of(d), c, q##_push); \
    } \
    static bool q##_kind_pop(struct weft__deque *d, struct weft_call *c) { \
        (void)c; \
        return pop_youngest(variant_state_of(d), q##_pop); \
    } \
    static struct weft_call *q##_kind_steal(struct weft__deque *d) { \
        return weft__##q##_steal(&variant_state_of(d)->q); \
    } \
    static bool q##_kind_ready(struct weft__deque *d) { return weft__##q##_length(&variant_state_of(d)->q) > 0; } \
    static void q##_kind_trim(struct weft__deque *d) { weft__##q##_trim(&variant_state_of(d)->q); } \
    static int q##_kind_make(struct weft__deque *d) { \
        int err = variant_make(d); \
        if (err) return err; \
        err = weft__##q##_init(&variant_state_of(d)->q, q_init, 0); \
        if (err) weft__free(d->more); \
        return err; \
    } \
    const struct weft__deque_variant weft__deque_##q = { \
        .name = #q, \
        .push = q##_kind_push, \
        .pop = q##_kind_pop, \
        .steal = q##_kind_steal, \
        .ready = q##_kind_ready, \
        .some = q##_kind_ready, \
        .trim = q##_kind_trim, \
        .make = q##_kind_make, \
    };

VARIANT(locked, FIRST)
VARIANT(abp, ABP_CAPACITY)
VARIANT(chase_lev, FIRST)
