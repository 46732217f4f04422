/* See stack.h. */
#include "mem/stack.h"

#include "base/random.h"
#include "base/say.h"

#include <errno.h>

/* A piece of address space that was divided into stacks. Never unmapped: its stacks are pooled. */
struct arena {
    struct arena *next;
    char *base;
    size_t stride;
    unsigned count;
    struct weft__stack stack[];
};

struct pool {
    struct weft__lock lock;
    struct weft__stack *warm; /* used before: pages committed. Last in, first out */
    struct weft__stack *cold; /* no pages */
    unsigned next_count;      /* how many the next arena will have */
};

static struct pools { struct pool class[WEFT_STACK_CLASSES]; } WEFT_ALIGNED pools[WEFT_MEM_NODES];
static _Atomic(struct arena *) arenas; /* all of them, newest first; only grows */
_Atomic bool weft__stack_none_left;
static _Atomic size_t in_use; /* stacks out of the pools, cached ones included */
static bool guards = true;
static bool guard_markers = true; /* the kernel has MADV_GUARD_INSTALL, as far as we know */

int weft__stack_class(size_t bytes) {
    for (int c = 0; c < WEFT_STACK_CLASSES; c++)
        if (bytes <= (size_t)1 << (c + WEFT_STACK_MIN_LOG)) return c;
    return -EINVAL;
}

void weft__stack_guards(bool wanted) { guards = wanted; }

size_t weft__stack_in_use(void) { return load_rlx(&in_use); }

/* Guards all stacks of an arena: one call by markers, else one mapping each. */
static int guard_all(struct arena *a) {
    int err = -ENOSYS;
    if (guard_markers) {
        struct weft__range *r = weft__alloc(a->count * sizeof *r);
        if (!r) return -ENOMEM;
        for (unsigned i = 0; i < a->count; i++) r[i] = (struct weft__range){a->base + i * a->stride, WEFT_STACK_GUARD};
        err = weft__guard(r, a->count);
        weft__free(r);
        if (err == -EINVAL) guard_markers = false;
    }
    if (err == -EINVAL || err == -ENOSYS) {
        err = 0;
        for (unsigned i = 0; i < a->count && !err; i++)
            err = weft__protect(&(struct weft__range){a->base + i * a->stride, WEFT_STACK_GUARD});
    }
    return err;
}

/* Makes more stacks of a class, for a node. Without the pool's lock: to map and guard a thousand takes a
 * millisecond. The stacks are chained in *chain. */
static int make_arena(unsigned class, uint8_t node, unsigned count, struct weft__stack **chain) {
    size_t usable = (size_t)1 << (class + WEFT_STACK_MIN_LOG);
    size_t stride = usable + WEFT_STACK_GUARD;
    struct arena *a = weft__alloc(sizeof *a + count * sizeof a->stack[0]);
    if (!a) return -ENOMEM;
    a->stride = stride;
    a->count = count;
    void *memory;
    int err = weft__map(&memory, count * stride);
    if (err) goto free_arena;
    a->base = memory;
    if (guards && (err = guard_all(a))) goto unmap;
    for (unsigned turn = count; turn-- > 0;) {
        unsigned i = weft__scatter(turn, (unsigned)__builtin_ctz(count)); /* a power of two */
        struct weft__stack *s = &a->stack[i];
        s->low = a->base + i * stride + WEFT_STACK_GUARD;
        s->class = (uint8_t) class;
        s->node = node;
        s->next = *chain;
        *chain = s;
        san_stack_register(&s->san, s->low, weft__stack_top(s));
    }
    a->next = load_rlx(&arenas);
    while (!cas_weak_rel(&arenas, &a->next, a)) { /* pairs with of_guard */
    }
    return 0;
unmap:
    weft__unmap(a->base, count * stride);
free_arena:
    weft__free(a);
    return err;
}

/* How many the next arena has: twice as many as the last one that was to be had, from a few stacks to some
 * tens of megabytes of address space, so that a small program maps little and a large one asks seldom. */
#define FEWEST 4
static unsigned twice(unsigned class, unsigned count) {
    size_t stride = ((size_t)1 << (class + WEFT_STACK_MIN_LOG)) + WEFT_STACK_GUARD;
    return count < 256 && count * 2 * stride <= (size_t)64 << 20 ? count * 2 : count;
}

static void had_stacks(void) {
    if (unlikely(load_rlx(&weft__stack_none_left))) store_rlx(&weft__stack_none_left, false);
}

static void say_exhausted(int err) {
    if (xchg_ar(&weft__stack_none_left, true)) return;
    weft__say("no more stacks: %s (%z in use); new fibers wait until one is free. %s", weft__error(err),
              load_rlx(&in_use),
              guard_markers ? "Use smaller stacks (WEFT_STACK_SIZE)"
                            : "Raise vm.max_map_count, or do without guards (WEFT_GUARDS=0)");
}

static struct weft__stack *take_one(struct pool *p) {
    struct weft__stack **from = p->warm ? &p->warm : &p->cold, *s = *from;
    if (s) *from = s->next;
    return s;
}

/* Moves stacks from the pool to the cache: a quarter of what it may hold, to come here less often
 * and not to hoard. Locked. */
static unsigned fill(struct pool *p, struct weft__stack_cache *c) {
    unsigned got = 0;
    for (struct weft__stack *s; got < WEFT_STACK_CACHED / 4 && (s = take_one(p)); got++) {
        s->next = c->free;
        c->free = s;
        c->count++;
    }
    return got;
}

/* Another node's, when there are no more to be had for ours. */
static unsigned fill_from_others(struct weft__stack_cache *c, unsigned class) {
    unsigned got = 0;
    for (unsigned i = 1; !got && i < WEFT_MEM_NODES; i++) {
        struct pool *p = &pools[weft__mem_node(c->node + i)].class[class];
        weft__lock(&p->lock);
        got = fill(p, c);
        weft__unlock(&p->lock);
    }
    return got;
}

/* Makes stacks for the cache's node, and fills it; returns how many it got. Where so many are not to be had, a
 * few may be: whoever waits for a stack asks again and again, and must not ask for too much each time. */
static int make_and_fill(struct weft__stack_cache *c, unsigned class, unsigned count) {
    struct pool *p = &pools[c->node].class[class];
    struct weft__stack *made = NULL;
    int err;
    while ((err = make_arena(class, c->node, count, &made)) && count > FEWEST) count /= 2;
    if (err) return err;
    weft__lock(&p->lock);
    p->next_count = twice(class, count);
    while (made) {
        struct weft__stack *s = made;
        made = s->next;
        s->next = p->cold;
        p->cold = s;
    }
    unsigned got = fill(p, c);
    weft__unlock(&p->lock);
    return (int)got;
}

WEFT_COLD struct weft__stack *weft__stack_get_slow(struct weft__stack_cache *caches, unsigned class) {
    struct weft__stack_cache *c = &caches[class];
    struct pool *p = &pools[c->node].class[class];
    weft__lock(&p->lock);
    unsigned got = fill(p, c), count = p->next_count ? p->next_count : FEWEST;
    weft__unlock(&p->lock);
    if (!got) {
        int made = make_and_fill(c, class, count);
        got = made < 0 ? fill_from_others(c, class) : (unsigned)made;
        if (made < 0 && !got) {
            say_exhausted(made);
            return NULL;
        }
    }
    add_rlx(&in_use, got);
    had_stacks();
    /* Others may have taken what we made: then there is enough to try again with. */
    return weft__stack_get(caches, class);
}

/* Moves stacks from the cache to the pools until `keep` are left, each to the one it came from. */
static void give_back(struct weft__stack_cache *c, unsigned class, unsigned keep) {
    if (c->count <= keep) return;
    struct weft__stack *chain[WEFT_MEM_NODES] = {NULL}, *last[WEFT_MEM_NODES];
    unsigned given = c->count - keep;
    while (c->count > keep) {
        struct weft__stack *s = c->free;
        c->free = s->next;
        c->count--;
        if (!chain[s->node]) last[s->node] = s;
        s->next = chain[s->node];
        chain[s->node] = s;
    }
    for (unsigned node = 0; node < WEFT_MEM_NODES; node++) {
        if (!chain[node]) continue;
        struct pool *p = &pools[node].class[class];
        weft__lock(&p->lock);
        last[node]->next = p->warm;
        p->warm = chain[node];
        weft__unlock(&p->lock);
    }
    atomic_fetch_sub_explicit(&in_use, given, memory_order_relaxed);
    had_stacks();
}

/*
 * The stack that is being put is the one the caller stands on: it goes into the cache after the
 * others have gone to the pool, where another worker could take them.
 */
WEFT_COLD void weft__stack_put_slow(struct weft__stack_cache *caches, struct weft__stack *s) {
    struct weft__stack_cache *c = &caches[s->class];
    give_back(c, s->class, WEFT_STACK_CACHED);
    s->next = c->free;
    c->free = s;
    c->count++;
}

WEFT_COLD void weft__stack_flush(struct weft__stack_cache *caches, unsigned keep) {
    for (unsigned class = 0; class < WEFT_STACK_CLASSES; class ++) give_back(&caches[class], class, keep);
}

WEFT_COLD void weft__stack_on_node(struct weft__stack_cache *caches, unsigned node) {
    for (unsigned class = 0; class < WEFT_STACK_CLASSES; class ++) caches[class].node = weft__mem_node(node);
}

/* Some of a pool's; returns whether there are more. */
static bool trim(struct pool *p) {
    enum { AT_ONCE = 64 };
    struct weft__stack *chain = NULL, *last = NULL;
    struct weft__range r[AT_ONCE];
    size_t n = 0;
    weft__lock(&p->lock);
    while (n < AT_ONCE && p->warm) {
        struct weft__stack *s = p->warm;
        p->warm = s->next;
        s->next = chain;
        chain = s;
        if (!last) last = s;
        r[n++] = (struct weft__range){s->low, (size_t)(weft__stack_top(s) - s->low)};
    }
    bool more = p->warm != NULL;
    weft__unlock(&p->lock);
    if (!n) return false;
    weft__discard(r, n); /* outside the lock: it takes a while, and they are ours alone */
    weft__lock(&p->lock);
    last->next = p->cold;
    p->cold = chain;
    weft__unlock(&p->lock);
    return more;
}

WEFT_COLD bool weft__stack_trim(void) {
    bool more = false;
    for (unsigned node = 0; node < WEFT_MEM_NODES; node++)
        for (unsigned class = 0; class < WEFT_STACK_CLASSES; class ++) more |= trim(&pools[node].class[class]);
    return more;
}

const struct weft__stack *weft__stack_of_guard(const void *address) {
    const char *at = address;
    for (struct arena *a = load_acq(&arenas); a; a = a->next) { /* pairs with make_arena */
        if (at < a->base || at >= a->base + a->count * a->stride) continue;
        size_t i = (size_t)(at - a->base) / a->stride;
        return at < a->stack[i].low ? &a->stack[i] : NULL;
    }
    return NULL;
}

static void forget_if_held(struct pool *p) {
    if (load_rlx(&p->lock.held)) p->warm = p->cold = NULL;
    weft__unlock(&p->lock);
}

void weft__stack_forked(void) {
    for (unsigned node = 0; node < WEFT_MEM_NODES; node++)
        for (unsigned class = 0; class < WEFT_STACK_CLASSES; class ++) forget_if_held(&pools[node].class[class]);
    store_rlx(&in_use, 0);
    store_rlx(&weft__stack_none_left, false);
}
