/* The making and keeping of deques. See deque.h. */
#include "queue/deque.h"

#include "base/san.h"

#include <string.h>

/*
 * A page or so for the deque, then the calls. Neither begins at the same place of a page in each: with
 * continuation stealing a deque is in use for every call that is nested, and they would share a few sets of
 * the nearest cache.
 */
#define WEFT_DEQUE_COLOURS 16
#define WEFT_DEQUE_BYTES (2 * WEFT_PAGE + (size_t)WEFT_DEQUE_MOST * sizeof(struct weft_call))
_Static_assert(sizeof(struct weft__deque) + WEFT_DEQUE_COLOURS * WEFT_APART <= WEFT_PAGE, "a page before the calls");

const struct weft__deque_kind *const weft__deque_kinds[] = {
    [WEFT_DEQUE_SPLIT] = &weft__deque_split,
    [WEFT_DEQUE_CHASE_LEV] = &weft__deque_chase_lev,
    [WEFT_DEQUE_ABP] = &weft__deque_abp,
    [WEFT_DEQUE_LOCKED] = &weft__deque_locked,
    [WEFT_DEQUES] = NULL,
};

static struct weft__lock lock;

/* Unused ones of a kind, last in, first out. With continuation stealing there may be tens of thousands of one kind, so
 * none is ever searched for. */
static struct pool {
    const struct weft__deque_kind *kind;
    struct weft__deque *plain, *grown; /* grown: with more pages than when it was made */
} pools[WEFT_DEQUES + 1];              /* and the kind of sched/continue.c */

/* Locked. */
static struct pool *pool_of(const struct weft__deque_kind *kind) {
    struct pool *p = pools;
    while (p->kind && p->kind != kind) p++;
    p->kind = kind;
    return p;
}

static struct weft__deque *make(void) {
    void *memory;
    if (weft__map(&memory, WEFT_DEQUE_BYTES)) return NULL;
    static _Atomic unsigned made;
    unsigned colour = add_rlx(&made, 5) % WEFT_DEQUE_COLOURS;
    struct weft__deque *d = (struct weft__deque *)(void *)((char *)memory + colour * WEFT_APART);
    san_root(memory, WEFT_PAGE + WEFT_DEQUE_FIRST * sizeof(struct weft_call));
    d->memory = memory;
    d->calls = (struct weft_call *)(void *)((char *)memory + WEFT_PAGE) + colour * 4 + 2;
    d->in.head = d->floor = d->base = d->calls;
    d->in.low = d->calls + 1;
    d->used = WEFT_DEQUE_FIRST;
    d->kind = &weft__deque_split;
    store_rlx(weft__deque_bound(d), d->calls);
    store_rlx(weft__deque_span(d), (WEFT_DEQUE_FIRST - 1) * sizeof(struct weft_call));
    return d;
}

struct weft__deque *weft__deque_get(const struct weft__deque_kind *kind) {
    weft__lock(&lock);
    struct pool *p = pool_of(kind);
    struct weft__deque **from = p->grown ? &p->grown : &p->plain, *d = *from;
    if (d) *from = d->next;
    weft__unlock(&lock);
    if (d || !(d = make())) return d;
    d->kind = kind;
    if (kind->make && kind->make(d)) {
        weft__unmap(d->memory, WEFT_DEQUE_BYTES); /* nobody has seen it */
        return NULL;
    }
    return d;
}

void weft__deque_put(struct weft__deque *d) {
    weft__lock(&lock);
    struct pool *p = pool_of(d->kind);
    struct weft__deque **to = d->used > WEFT_DEQUE_FIRST ? &p->grown : &p->plain;
    d->next = *to;
    *to = d;
    weft__unlock(&lock);
}

/* Twice as many, so that it is seldom asked; never the place after which there is none. */
WEFT_COLD bool weft__deque_touch_more(struct weft__deque *d, const struct weft_call *c) {
    uint32_t place = weft__deque_place(d, c);
    if (weft__deque_full(d, c)) return false;
    d->used = place * 2 < WEFT_DEQUE_MOST ? place * 2 : WEFT_DEQUE_MOST - 1;
    return true;
}

/* The pages read as zeros afterwards, as a free place does. */
static void discard(struct weft__deque *d) {
    char *first = (char *)weft__round_up((uintptr_t)(d->calls + WEFT_DEQUE_FIRST), WEFT_PAGE);
    char *last = (char *)weft__round_up((uintptr_t)(d->calls + d->used), WEFT_PAGE);
    struct weft__range r = {first, (size_t)(last - first)};
    weft__discard(&r, 1);
    d->used = WEFT_DEQUE_FIRST;
    if (d->kind->trim) d->kind->trim(d);
    if (d->kind == &weft__deque_split)
        store_rlx(weft__deque_span(d), (WEFT_DEQUE_FIRST - 1) * sizeof(struct weft_call));
}

WEFT_COLD void weft__deque_trim(void) {
    for (struct pool *p = pools; p < pools + WEFT_DEQUES + 1; p++) {
        weft__lock(&lock);
        struct weft__deque *d = p->grown;
        p->grown = NULL;
        weft__unlock(&lock);
        for (struct weft__deque *next; d; d = next) { /* outside the lock: it takes a while */
            next = d->next;
            discard(d);
            weft__deque_put(d);
        }
    }
}

void weft__deque_forked(void) {
    if (load_rlx(&lock.held)) memset(pools, 0, sizeof pools);
    weft__unlock(&lock);
}
