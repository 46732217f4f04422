/* SPDX-License-Identifier: MIT */
/* Creates, pools and trims deques. See deque.h. */
#include "queue/deque.h"

#include "base/sanitizer.h"

#include <string.h>

/*
 * The deque and then its calls: a deque that is used little takes one page. Deques start at different offsets in their
 * pages. With continuation stealing every nested call uses a deque, and at equal offsets they would share a few sets of
 * the first-level cache.
 *
 * Deques are mapped several at a time, twice as many each time up to WEFT_DEQUES_MAPPED. A loop with bodies that wait
 * makes thousands of deques, and a separate mapping costs more than the page.
 */
#define WEFT_DEQUE_COLOURS 16
#define WEFT_DEQUE_BYTES (2 * WEFT_PAGE + (size_t)WEFT_DEQUE_CAPACITY * sizeof(struct weft_call))
#define WEFT_DEQUES_MAPPED 16
_Static_assert(sizeof(struct weft__deque) + WEFT_DEQUE_COLOURS * WEFT_APART <= WEFT_PAGE, "a page with room for calls");

const struct weft__deque_variant *const weft__deque_variants[] = {
    [WEFT_DEQUE_SPLIT] = &weft__deque_split,
    [WEFT_DEQUE_CHASE_LEV] = &weft__deque_chase_lev,
    [WEFT_DEQUE_ABP] = &weft__deque_abp,
    [WEFT_DEQUE_LOCKED] = &weft__deque_locked,
    [WEFT_DEQUES] = NULL,
};

static struct weft__lock lock;

/* Unused deques of a variant, last in, first out. With continuation stealing there may be tens of thousands, so nothing
 * searches these lists. */
static struct pool {
    const struct weft__deque_variant *variant;
    struct weft__deque *plain, *grown; /* grown: deques with more pages than at creation */
} pools[WEFT_DEQUES + 1];              /* and the variant of sched/tasks/continuation.c */

/* Locked. */
static struct pool *deque_pool_of(const struct weft__deque_variant *variant) {
    struct pool *p = pools;
    while (p->variant && p->variant != variant) p++;
    p->variant = variant;
    return p;
}

/* Mapped memory that holds no deque yet. */
static struct {
    char *next;
    unsigned left, mapped; /* mapped: number of deques in the last mapping */
} spare;

/* Maps memory for more deques; false: there is no address space. */
static bool map_more(unsigned n) {
    void *memory;
    while (weft__pages_map(&memory, n * WEFT_DEQUE_BYTES)) /* try half as many */
        if (!(n /= 2)) return false;
    weft__lock(&lock);
    bool late = spare.left; /* another thread has mapped memory meanwhile */
    if (!late) {
        spare.next = memory;
        spare.left = spare.mapped = n;
    }
    weft__unlock(&lock);
    if (late) weft__pages_unmap(memory, n * WEFT_DEQUE_BYTES);
    return true;
}

static char *deque_address_space(void) {
    for (;;) {
        char *memory = NULL;
        weft__lock(&lock);
        unsigned n = spare.mapped < WEFT_DEQUES_MAPPED ? spare.mapped * 2 : spare.mapped;
        if (spare.left) {
            memory = spare.next;
            spare.next += WEFT_DEQUE_BYTES;
            spare.left--;
        }
        weft__unlock(&lock);
        if (memory || !map_more(n ? n : 1)) return memory;
    }
}

static struct weft__deque *deque_make(void) {
    char *memory = deque_address_space();
    if (!memory) return NULL;
    static _Atomic unsigned made;
    unsigned colour = add_rlx(&made, 5) % WEFT_DEQUE_COLOURS;
    struct weft__deque *d = (struct weft__deque *)(void *)(memory + colour * WEFT_APART);
    san_root(memory, WEFT_PAGE + WEFT_DEQUE_FIRST * sizeof(struct weft_call));
    d->calls = (struct weft_call *)(void *)(d + 1);
    d->in.head = d->floor = d->base = d->calls;
    d->in.low = d->calls + 1;
    d->used = WEFT_DEQUE_FIRST;
    d->variant = &weft__deque_split;
    store_rlx(weft__deque_split_pointer(d), d->calls);
    store_rlx(weft__deque_span(d), (WEFT_DEQUE_FIRST - 1) * sizeof(struct weft_call));
    return d;
}

struct weft__deque *weft__deque_get(const struct weft__deque_variant *variant) {
    weft__lock(&lock);
    struct pool *p = deque_pool_of(variant);
    struct weft__deque **from = p->grown ? &p->grown : &p->plain, *d = *from;
    if (d) *from = d->next;
    weft__unlock(&lock);
    if (d || !(d = deque_make())) return d;
    d->variant = variant;
    if (variant->make && variant->make(d)) {
        d->variant = &weft__deque_split;
        weft__deque_put(d);
        return NULL;
    }
    return d;
}

void weft__deque_put(struct weft__deque *d) {
    weft__lock(&lock);
    struct pool *p = deque_pool_of(d->variant);
    struct weft__deque **to = d->used > WEFT_DEQUE_FIRST ? &p->grown : &p->plain;
    d->next = *to;
    *to = d;
    weft__unlock(&lock);
}

/* Twice as many, so that this is called rarely; never the last slot, which has no successor. */
WEFT_COLD bool weft__deque_touch_more(struct weft__deque *d, const struct weft_call *c) {
    uint32_t index = weft__deque_index(d, c);
    if (weft__deque_is_full(d, c)) return false;
    d->used = index * 2 < WEFT_DEQUE_CAPACITY ? index * 2 : WEFT_DEQUE_CAPACITY - 1;
    return true;
}

/* The pages read as zeros afterwards, as a free slot must. */
static void deque_discard(struct weft__deque *d) {
    char *first = (char *)weft__round_up((uintptr_t)(d->calls + WEFT_DEQUE_FIRST), WEFT_PAGE);
    char *last = (char *)weft__round_up((uintptr_t)(d->calls + d->used), WEFT_PAGE);
    struct weft__range r = {first, (size_t)(last - first)};
    weft__pages_discard(&r, 1);
    d->used = WEFT_DEQUE_FIRST;
    if (d->variant->trim) d->variant->trim(d);
    if (d->variant == &weft__deque_split)
        store_rlx(weft__deque_span(d), (WEFT_DEQUE_FIRST - 1) * sizeof(struct weft_call));
}

WEFT_COLD void weft__deque_trim(void) {
    for (struct pool *p = pools; p < pools + WEFT_DEQUES + 1; p++) {
        weft__lock(&lock);
        struct weft__deque *d = p->grown;
        p->grown = NULL;
        weft__unlock(&lock);
        for (struct weft__deque *next; d; d = next) { /* outside the lock: this takes a while */
            next = d->next;
            deque_discard(d);
            weft__deque_put(d);
        }
    }
}

void weft__deque_after_fork(void) {
    if (load_rlx(&lock.held)) {
        memset(pools, 0, sizeof pools);
        memset(&spare, 0, sizeof spare);
    }
    weft__unlock(&lock);
}
