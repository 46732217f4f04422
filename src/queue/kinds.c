/*
 * The kinds of deques beside the split one, behind the contract of deque.h: a lock, ABP, Chase-Lev. Each
 * is a queue of pointers to calls; what is here makes them answer in terms of places.
 *
 * A queue may refuse a call: ABP at its bound, the others without memory. Such a call, and all that are
 * younger, is hidden: the owner remembers how many there are, pops them without asking, and thieves do
 * not see them. As they lie in the places before the head, the oldest of them are pushed as soon as a
 * push finds room again. So a bound costs parallelism, never a task.
 */
#include "queue/deque.h"

#include "queue/abp.h"
#include "queue/chase_lev.h"
#include "queue/locked.h"

#ifdef WEFT_READY_FIRST
#define FIRST WEFT_READY_FIRST
#else
#define FIRST 256
#endif
#define ABP_BOUND 1024

struct kind_state {
    union {
        struct weft__locked locked;
        struct weft__abp abp;
        struct weft__chase_lev chase_lev;
    };
    uint32_t hidden; /* the owner's */
};

static struct kind_state *state_of(struct weft__deque *d) { return d->more; }

static int make(struct weft__deque *d) {
    d->more = weft__alloc_aligned(WEFT_APART, sizeof(struct kind_state));
    if (!d->more) return -ENOMEM;
    weft__deque_close_fast_path(d);
    return 0;
}

/* In the order of their ages, as far as the queue takes them; c is the youngest. */
static inline void push_all(struct kind_state *s, struct weft_call *c, int (*push)(struct kind_state *, void *)) {
    s->hidden++;
    while (s->hidden && !push(s, c + 1 - s->hidden)) s->hidden--;
}

/* Nothing to pop means that a thief has it: the queue holds all that is older, too. */
static inline bool pop_youngest(struct kind_state *s, void *(*pop)(struct kind_state *)) {
    if (!s->hidden) return pop(s) != NULL;
    s->hidden--;
    return true;
}

/* --- each kind: its queue, and which of its functions ------------------------------------------- */

#define KIND(q, q_init) \
    static int q##_push(struct kind_state *s, void *item) { return weft__##q##_push(&s->q, item); } \
    static void *q##_pop(struct kind_state *s) { return weft__##q##_pop(&s->q); } \
    static void q##_kind_push(struct weft__deque *d, struct weft_call *c) { \
        weft__deque_touch(d, c); \
        push_all(state_of(d), c, q##_push); \
    } \
    static bool q##_kind_pop(struct weft__deque *d, struct weft_call *c) { \
        (void)c; \
        return pop_youngest(state_of(d), q##_pop); \
    } \
    static struct weft_call *q##_kind_steal(struct weft__deque *d) { return weft__##q##_steal(&state_of(d)->q); } \
    static bool q##_kind_ready(struct weft__deque *d) { return weft__##q##_length(&state_of(d)->q) > 0; } \
    static void q##_kind_trim(struct weft__deque *d) { weft__##q##_trim(&state_of(d)->q); } \
    static int q##_kind_make(struct weft__deque *d) { \
        int err = make(d); \
        if (err) return err; \
        err = weft__##q##_init(&state_of(d)->q, q_init, 0); \
        if (err) weft__free(d->more); \
        return err; \
    } \
    const struct weft__deque_kind weft__deque_##q = { \
        .name = #q, \
        .push = q##_kind_push, \
        .pop = q##_kind_pop, \
        .steal = q##_kind_steal, \
        .ready = q##_kind_ready, \
        .some = q##_kind_ready, \
        .trim = q##_kind_trim, \
        .make = q##_kind_make, \
    };

KIND(locked, FIRST)
KIND(abp, ABP_BOUND)
KIND(chase_lev, FIRST)
