/* SPDX-License-Identifier: MIT */
/* See stacks.h. */
#include "mem/stacks.h"

#include "base/assert.h"
#include "mem/aged.h"

#include <errno.h>

#define WEFT_FEWEST 4                      /* stacks of the first arena */
#define WEFT_MOST 256                      /* stacks of the largest arenas, */
#define WEFT_MOST_BYTES ((size_t)64 << 20) /* within this many bytes */

struct pool {
    struct weft__lock lock;
    struct weft__aged aged;      /* stacks that were used and have pages */
    struct weft__dlink *idle;    /* arenas with idle stacks */
    struct weft__dlink *warm;    /* arenas with idle stacks that may have pages */
    struct weft__arena *spare;   /* arenas without address space; only in the pool of guarded stacks */
    _Atomic unsigned next_count; /* number of stacks of the next new arena */
};

#define WEFT_POOLS (WEFT_MEM_NODES * WEFT_KINDS * WEFT_STACK_CLASSES)
static struct pool pools[WEFT_MEM_NODES][WEFT_KINDS][WEFT_STACK_CLASSES] WEFT_ALIGNED;
static struct weft__lock trimming; /* to make stacks idle and to unmap arenas; taken before a pool's lock */

static struct pool *pool_nth(unsigned n) { return &pools[0][0][0] + n; }
static struct pool *pool_of_arena(const struct weft__arena *a) { return &pools[a->node][a->bare][a->class]; }
static struct pool *stacks_pool_of(const struct weft__stack *s) { return pool_of_arena(weft__arena_of(s)); }

/* --- pools --------------------------------------------------------------------------------------- */

/* An idle stack; NULL: none. Locked. */
static struct weft__link *stacks_take_idle(struct pool *p) {
    if (!p->idle) return NULL;
    struct weft__arena *a = container_of(p->idle, struct weft__arena, has_idle);
    struct weft__link *l = a->idle;
    a->idle = l->next;
    if (!--a->idle_count) weft__dlink_remove(&a->has_idle);
    weft__stack_of_link(l)->state = WEFT_STACK_OUT;
    return l;
}

unsigned weft__stacks_take(uint8_t node, unsigned kind, unsigned class, unsigned most, struct weft__link **chain) {
    struct pool *p = &pools[node][kind][class];
    weft__lock(&p->lock);
    unsigned got = weft__aged_take(&p->aged, most, &chain);
    for (struct weft__link *l; got < most && (l = stacks_take_idle(p)); got++) {
        *chain = l;
        chain = &l->next;
    }
    *chain = NULL;
    weft__unlock(&p->lock);
    return got;
}

void weft__stacks_put(struct weft__link *first, struct weft__link *last) {
    struct pool *p = stacks_pool_of(weft__stack_of_link(first));
    weft__lock(&p->lock);
    weft__aged_put(&p->aged, first, last);
    weft__unlock(&p->lock);
}

bool weft__stacks_is_empty(uint8_t node, unsigned kind, unsigned class) {
    struct pool *p = &pools[node][kind][class];
    weft__lock(&p->lock);
    bool empty = weft__aged_is_empty(&p->aged) && !p->idle;
    weft__unlock(&p->lock);
    return empty;
}

/* --- making -------------------------------------------------------------------------------------- */

/* The number of stacks of the next arena: twice as many as in the last arena, up to some tens of megabytes of address
 * space. So a small program maps little, and a large program makes few arenas. */
static unsigned next_arena_count(unsigned class, unsigned count) {
    size_t stride = weft__stack_size(class) + WEFT_STACK_GUARD;
    return count < WEFT_MOST && count * 2 * stride <= WEFT_MOST_BYTES ? count * 2 : count;
}

static void put_spare(struct pool *p, struct weft__arena *a) {
    weft__lock(&p->lock);
    a->spare = p->spare;
    p->spare = a;
    weft__unlock(&p->lock);
}

static struct weft__arena *map_spare(struct pool *p) {
    weft__lock(&p->lock);
    struct weft__arena *a = p->spare;
    if (a) p->spare = a->spare;
    weft__unlock(&p->lock);
    if (!a || !weft__arena_map(a)) return a;
    put_spare(p, a);
    return NULL;
}

/* Without a lock: mapping and guarding a thousand stacks takes a millisecond. If so many are not available, try
 * fewer. */
static struct weft__arena *new_arena(unsigned class, uint8_t node, unsigned count, int *err) {
    struct weft__arena *a;
    while (!(a = weft__arena_make(class, node, count, err)) && count > 1) count /= 2;
    return a;
}

int weft__stacks_make(uint8_t node, unsigned class) {
    struct pool *p = &pools[node][WEFT_GUARDED][class];
    unsigned count = load_rlx(&p->next_count);
    int err = 0;
    struct weft__arena *a = map_spare(p);
    if (!a && (a = new_arena(class, node, count ? count : WEFT_FEWEST, &err)))
        store_rlx(&p->next_count, next_arena_count(class, a->count));
    if (!a) return err;
    p = pool_of_arena(a);
    weft__lock(&p->lock);
    weft__dlink_insert(&p->idle, &a->has_idle);
    weft__unlock(&p->lock);
    return 0;
}

/* --- giving back --------------------------------------------------------------------------------- */

/* Makes up to `most` stacks of this age idle; returns how many. Locked. */
static unsigned stacks_settle(struct pool *p, unsigned age, unsigned most) {
    unsigned n = 0;
    WEFT_ASSERT(weft__lock_is_held(&p->lock));
    for (struct weft__link *l; n < most && (l = weft__aged_take_from(&p->aged, age)); n++) {
        struct weft__stack *s = weft__stack_of_link(l);
        struct weft__arena *a = weft__arena_of(s);
        WEFT_ASSERT(a->idle_count < a->count);
        s->state = WEFT_STACK_WARM;
        l->next = a->idle;
        a->idle = l;
        a->idle_count++;
        weft__dlink_insert(&p->idle, &a->has_idle);
        weft__dlink_insert(&p->warm, &a->has_warm);
    }
    return n;
}

/* Takes all idle stacks of the arena for the caller; returns how many. Locked. */
static unsigned seize_idle(struct weft__arena *a) {
    unsigned n = a->idle_count;
    WEFT_ASSERT(n <= a->count);
    a->idle = NULL;
    a->idle_count = 0;
    weft__dlink_remove(&a->has_idle);
    weft__dlink_remove(&a->has_warm);
    return n;
}

static void unmap_arena(struct weft__arena *a) {
    weft__arena_unmap(a);
    put_spare(&pools[a->node][WEFT_GUARDED][a->class], a);
}

/* Gives back the pages of an arena's idle stacks, or the arena if all its stacks are idle. Not under valgrind, which
 * would take other memory at that address for the stacks that it knows. */
static bool cool_arena(struct pool *p) {
    weft__lock(&p->lock);
    struct weft__arena *a = p->warm ? container_of(p->warm, struct weft__arena, has_warm) : NULL;
    unsigned n = a ? seize_idle(a) : 0;
    weft__unlock(&p->lock);
    if (!n) return a != NULL; /* all stacks have been taken again */
    if (n == a->count && !san_on_valgrind()) {
        unmap_arena(a);
        return true;
    }
    weft__arena_discard(a);
    weft__lock(&p->lock);
    weft__arena_chain(a);
    weft__dlink_insert(&p->idle, &a->has_idle);
    weft__unlock(&p->lock);
    return true;
}

WEFT_COLD bool weft__stacks_end_period(void) {
    bool some = false;
    for (unsigned i = 0; i < WEFT_POOLS; i++) {
        struct pool *p = pool_nth(i);
        weft__lock(&p->lock);
        weft__aged_end_period(&p->aged);
        some |= !weft__aged_is_empty(&p->aged) || p->warm;
        weft__unlock(&p->lock);
    }
    return some;
}

size_t weft__stacks_count_pooled(void) {
    size_t n = 0;
    for (unsigned i = 0; i < WEFT_POOLS; i++) {
        struct pool *p = pool_nth(i);
        weft__lock(&p->lock);
        for (unsigned age = 0; age < WEFT_AGES; age++)
            for (struct weft__link *l = p->aged.list[age]; l; l = l->next) n++;
        weft__unlock(&p->lock);
    }
    return n;
}

/* Arenas are processed after all old stacks have been returned to them. */
WEFT_COLD bool weft__stacks_trim(void) {
    enum { AT_ONCE = 256 };
    static unsigned at;
    bool did = false;
    weft__lock(&trimming);
    for (unsigned i = 0; i < WEFT_POOLS && !did; i++) {
        struct pool *p = pool_nth((at + i) % WEFT_POOLS);
        weft__lock(&p->lock);
        did = stacks_settle(p, WEFT_AGED_OLD, AT_ONCE) > 0;
        weft__unlock(&p->lock);
        did = did || cool_arena(p);
        if (did) at = (at + i) % WEFT_POOLS;
    }
    weft__unlock(&trimming);
    return did;
}

/* Finds an arena with only idle stacks, and takes them for the caller. */
static struct weft__arena *seize_whole(struct pool *p) {
    struct weft__arena *a = NULL;
    weft__lock(&p->lock);
    for (struct weft__dlink *s = p->idle; s && !a; s = s->next) {
        a = container_of(s, struct weft__arena, has_idle);
        if (a->idle_count != a->count) a = NULL;
    }
    if (a) seize_idle(a);
    weft__unlock(&p->lock);
    return a;
}

/* Makes stacks of every age idle. */
static void settle_all(struct pool *p) {
    enum { AT_ONCE = 256 };
    for (unsigned n = 1; n;) {
        weft__lock(&p->lock);
        n = 0;
        for (unsigned age = 0; age < WEFT_AGES; age++) n += stacks_settle(p, age, AT_ONCE);
        weft__unlock(&p->lock);
    }
}

WEFT_COLD void weft__stacks_reclaim(void) {
    weft__lock(&trimming);
    for (unsigned i = 0; i < WEFT_POOLS && !san_on_valgrind(); i++) {
        struct pool *p = pool_nth(i);
        settle_all(p);
        for (struct weft__arena *a; (a = seize_whole(p));) unmap_arena(a);
    }
    weft__unlock(&trimming);
}

const struct weft__stack *weft__stacks_sweep(void) {
    weft__lock(&trimming);
    const struct weft__stack *s = weft__arenas_sweep();
    weft__unlock(&trimming);
    return s;
}

/* Reads only the index before the arena is known to be mapped. */
static WEFT_MAY_RACE const struct weft__arena *arena_of_unknown(const struct weft__stack *s) {
    return container_of(s - s->index, struct weft__arena, stack);
}

bool weft__stacks_is_overrun(const struct weft__stack *s) {
    weft__lock(&trimming);
    bool is = load_acq(&arena_of_unknown(s)->base) && weft__stack_is_overrun(s); /* pairs with weft__arena_map */
    weft__unlock(&trimming);
    return is;
}

static void stacks_forget(unsigned node, unsigned kind, unsigned class) {
    struct pool *p = &pools[node][kind][class];
    if (load_rlx(&p->lock.held)) {
        weft__arenas_forget(class, (uint8_t)node, kind == WEFT_UNGUARDED);
        p->aged = (struct weft__aged){{NULL}};
        p->idle = p->warm = NULL;
        p->spare = NULL;
    }
    weft__unlock(&p->lock);
}

void weft__stacks_after_fork(void) {
    for (unsigned node = 0; node < WEFT_MEM_NODES; node++)
        for (unsigned kind = 0; kind < WEFT_KINDS; kind++)
            for (unsigned class = 0; class < WEFT_STACK_CLASSES; class ++) stacks_forget(node, kind, class);
    weft__unlock(&trimming);
}
