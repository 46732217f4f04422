/* SPDX-License-Identifier: MIT */
/* See stack.h. */
#include "mem/stack.h"

#include "base/message.h"
#include "mem/stacks.h"

#include "weft.h"

#include <errno.h>

static _Atomic size_t in_use;  /* stacks outside the pools */
static _Atomic int last_error; /* why the last arena could not be made */
_Atomic bool weft__stack_is_scarce;

int weft__stack_class(size_t bytes) {
    for (int c = 0; c < WEFT_STACK_CLASSES; c++)
        if (bytes <= weft__stack_size((unsigned)c)) return c;
    return -EINVAL;
}

size_t weft__stack_count_in_use(void) { return load_rlx(&in_use); }

/* --- caches -------------------------------------------------------------------------------------- */

/* Half of the capacity of a worker's cache for a class: only a few large stacks. */
static unsigned kept_stacks(unsigned class) {
    size_t fit = ((size_t)8 << 20) / weft__stack_size(class);
    return fit >= WEFT_STACK_CACHED ? WEFT_STACK_CACHED : fit > 0 ? (unsigned)fit : 1;
}

/* Sets the room of a cache that holds `have` stacks. */
static void set_room(struct weft__stack_cache *c, unsigned class, unsigned have) {
    unsigned may = 2 * kept_stacks(class);
    c->room = load_rlx(&weft__stack_is_scarce) || have >= may ? 0 : may - have;
    c->limit = (uint16_t)(have + c->room);
}

/* Fills the cache from the pools of all nodes, the nearest first. */
static unsigned stack_fill(struct weft__stack_cache *c, unsigned kind, unsigned class, unsigned most) {
    unsigned got = 0;
    for (unsigned i = 0; !got && i < WEFT_MEM_NODES; i++)
        got = weft__stacks_take(weft__mem_node(c->node + i), kind, class, most, &c->free);
    add_rlx(&in_use, got);
    return got;
}

/* While there are free bare stacks, no more stacks are made: fibers that can use bare stacks get those. */
static bool stack_may_make(uint8_t node, unsigned class) {
    return !load_rlx(&weft__stack_has_bare) || weft__stacks_is_empty(node, WEFT_UNGUARDED, class);
}

/* Makes stacks until the cache gets some, or no more can be made. Other threads may take all stacks that are made here,
 * or unmap them before. */
static unsigned make_and_fill(struct weft__stack_cache *c, unsigned class, unsigned most) {
    unsigned got;
    int err;
    do {
        err = weft__stacks_make(c->node, class);
        got = stack_fill(c, WEFT_GUARDED, class, most);
    } while (!got && !err && stack_may_make(c->node, class));
    if (err) store_rlx(&last_error, err);
    return got;
}

/* The cache is empty. Fill a quarter of its capacity, so that this is called rarely without hoarding. */
static struct weft__stack *get_guarded(struct weft__stack_cache *c, unsigned class, bool make) {
    uint8_t node = c->node;
    unsigned most = load_rlx(&weft__stack_is_scarce) ? 1 : kept_stacks(class) / 4 + 1;
    unsigned got = weft__stacks_take(node, WEFT_GUARDED, class, most, &c->free);
    add_rlx(&in_use, got);
    if (!got) {
        bool may = make && stack_may_make(node, class);
        got = may ? make_and_fill(c, class, most) : stack_fill(c, WEFT_GUARDED, class, most);
    }
    if (!got) return NULL;
    struct weft__link *l = c->free;
    c->free = l->next;
    set_room(c, class, got - 1);
    return weft__stack_of_link(l);
}

/* While stacks are scarce, many fibers ask and will have to wait. weft__stack_get_any tries harder for them. */
WEFT_COLD struct weft__stack *weft__stack_get_slow(struct weft__stack_cache *caches, unsigned class) {
    return get_guarded(&caches[class], class, !load_rlx(&weft__stack_is_scarce));
}

/* Moves stacks from the cache to the pools until `keep` are left, each to the pool of its node. */
static unsigned stack_give_back(struct weft__stack_cache *c, unsigned keep) {
    struct weft__link *chain[WEFT_MEM_NODES] = {NULL}, *last[WEFT_MEM_NODES];
    unsigned have = weft__stack_count_cached(c), given = have > keep ? have - keep : 0;
    for (unsigned n = given; n > 0; n--) {
        struct weft__link *l = c->free;
        uint8_t node = weft__stack_of_link(l)->node;
        c->free = l->next;
        if (!chain[node]) last[node] = l;
        l->next = chain[node];
        chain[node] = l;
    }
    for (unsigned node = 0; node < WEFT_MEM_NODES; node++)
        if (chain[node]) weft__stacks_put(chain[node], last[node]);
    c->limit -= (uint16_t)given;
    atomic_fetch_sub_explicit(&in_use, given, memory_order_relaxed);
    return given;
}

/* The same for the cache of bare stacks, of all classes. */
static unsigned give_back_bare(struct weft__stack_cache *c) {
    unsigned given = 0;
    for (struct weft__link *l; (l = c->free); given++) {
        c->free = l->next;
        weft__stacks_put(l, l);
    }
    c->limit = 0;
    atomic_fetch_sub_explicit(&in_use, given, memory_order_relaxed);
    return given;
}

/*
 * The stack that is put is the stack on which the caller runs. It goes into the cache after the other stacks have gone
 * to the pool, where another worker could take them.
 */
WEFT_COLD void weft__stack_put_slow(struct weft__stack_cache *caches, struct weft__stack *s) {
    struct weft__stack_cache *c = &caches[s->cache];
    if (s->cache == WEFT_STACK_BARE) {
        give_back_bare(c);
    } else {
        if (load_rlx(&weft__stack_is_scarce))
            stack_give_back(c, 0);
        else if (weft__stack_count_cached(c) >= 2 * kept_stacks(s->class))
            stack_give_back(c, kept_stacks(s->class));
    }
    s->link.next = c->free;
    c->free = &s->link;
    if (s->cache == WEFT_STACK_BARE)
        c->limit = 1; /* and no room, so that every put takes the slow path */
    else
        set_room(c, s->class, weft__stack_count_cached(c) + 1);
}

WEFT_COLD unsigned weft__stack_flush(struct weft__stack_cache *caches, unsigned keep) {
    unsigned given = give_back_bare(&caches[WEFT_STACK_BARE]);
    for (unsigned class = 0; class < WEFT_STACK_CLASSES; class ++) {
        given += stack_give_back(&caches[class], keep * kept_stacks(class) / WEFT_STACK_CACHED);
        if (caches[class].room) set_room(&caches[class], class, weft__stack_count_cached(&caches[class]));
    }
    return given;
}

WEFT_COLD void weft__stack_set_node(struct weft__stack_cache *caches, unsigned node) {
    for (unsigned i = 0; i < WEFT_STACK_CACHES; i++) caches[i].node = weft__mem_node(node);
}

/* --- when stacks are scarce ------------------------------------------------------------------------- */

/* A stack of a class from a pool, bare or not, without making new stacks. */
static struct weft__stack *take_single(struct weft__stack_cache *caches, unsigned kind, unsigned class) {
    struct weft__stack_cache one = {.node = caches[class].node};
    return stack_fill(&one, kind, class, 1) ? weft__stack_of_link(one.free) : NULL;
}

static struct weft__stack *get_of_class(struct weft__stack_cache *caches, unsigned class) {
    struct weft__stack *s = get_guarded(&caches[class], class, true);
    return s ? s : take_single(caches, WEFT_UNGUARDED, class);
}

WEFT_COLD struct weft__stack *weft__stack_get_any(struct weft__stack_cache *caches, unsigned class) {
    struct weft__stack *s = caches[class].free ? weft__stack_get(caches, class) : get_of_class(caches, class);
    if (s) return s;
    weft__stack_flush(caches, 0);
    weft__stacks_reclaim();
    s = get_of_class(caches, class);
    for (unsigned k = (class + 1) * WEFT_KINDS; !s && k < WEFT_STACK_CLASSES * WEFT_KINDS; k++)
        s = take_single(caches, k % WEFT_KINDS, k / WEFT_KINDS);
    return s;
}

void weft__stack_set_scarce(bool are) { store_rlx(&weft__stack_is_scarce, are); }

/* At most once a second: a shortage may come and go. */
WEFT_COLD void weft__stack_say_scarce(void) {
    static _Atomic uint64_t said;
    uint64_t now = weft__clock(), then = load_rlx(&said);
    if ((then && now < then + WEFT_SECOND) || !cas_ar(&said, &then, now)) return;
    weft__say(
        "no more stacks: %s (%z in use); new fibers wait until one is free. Use smaller stacks (WEFT_STACK_SIZE), or "
        "raise what limits them (ulimit -v, vm.max_map_count)",
        weft__error_text(load_rlx(&last_error)), load_rlx(&in_use));
}

void weft__stack_after_fork(void) {
    weft__stacks_after_fork();
    store_rlx(&in_use, 0);
    store_rlx(&weft__stack_is_scarce, false);
}
