/* See slab.h. */
#include "mem/slab.h"

#include "base/random.h"
#include "base/san.h"

/* The records of a few pages are handed out before those of the next, but in no order among them. */
static uint32_t nth(uint32_t i) {
    enum { BITS = 9 };
    return i >> BITS << BITS | weft__scatter(i & ((1 << BITS) - 1), BITS);
}

/* Makes one chunk of records for a node, whose pool is locked, and puts them there. */
static bool make_chunk_locked(struct weft__slab *s, uint8_t node) {
    uint32_t first = load_rlx(&s->records);
    if (first / WEFT_SLAB_CHUNK >= WEFT_SLAB_CHUNKS_MAX) return false;
    void *memory;
    if (weft__map(&memory, WEFT_SLAB_CHUNK * s->record_size)) return false;
    san_root(memory, WEFT_SLAB_CHUNK * s->record_size);
    char *chunk = memory;
    for (uint32_t turn = WEFT_SLAB_CHUNK; turn-- > 0;) {
        uint32_t i = nth(turn);
        struct weft__slot *r = (struct weft__slot *)(void *)(chunk + i * s->record_size);
        store_rlx(&r->life, first + i);
        r->link.next = s->pool[node].free;
        s->pool[node].free = &r->link;
    }
    s->node[first / WEFT_SLAB_CHUNK] = node;
    store_rlx(&s->chunk[first / WEFT_SLAB_CHUNK], chunk);
    store_rel(&s->records, first + WEFT_SLAB_CHUNK); /* pairs with weft__slab_at */
    return true;
}

static bool make_chunk(struct weft__slab *s, uint8_t node) {
    weft__lock(&s->lock);
    bool made = make_chunk_locked(s, node);
    weft__unlock(&s->lock);
    return made;
}

/* Takes up to so many records from a pool, which may grow. The chain is empty before. */
static unsigned take(struct weft__slab *s, uint8_t node, bool grow, unsigned most, struct weft__link **chain) {
    struct weft__slab_pool *p = &s->pool[node];
    unsigned got = 0;
    weft__lock(&p->lock);
    for (; got < most && (p->free || (grow && make_chunk(s, node))); got++) {
        *chain = p->free;
        p->free = p->free->next;
        chain = &(*chain)->next;
    }
    *chain = NULL;
    weft__unlock(&p->lock);
    return got;
}

WEFT_COLD struct weft__slot *weft__slab_get_slow(struct weft__slab *s, struct weft__slab_cache *c) {
    struct weft__slab_cache one = {0};
    unsigned most = c ? WEFT_SLAB_BATCH : 1;
    if (!c) c = &one;
    c->count += take(s, c->node, true, most, &c->free);
    for (uint8_t i = 1; !c->free && i < WEFT_MEM_NODES; i++)
        c->count += take(s, weft__mem_node(c->node + i), false, most, &c->free);
    return c->free ? weft__slab_get(s, c) : NULL;
}

/* Moves n records of the cache to the shared lists, each to the one it came from. */
static void give_back(struct weft__slab *s, struct weft__slab_cache *c, unsigned n) {
    struct weft__link *chain[WEFT_MEM_NODES] = {NULL}, *last[WEFT_MEM_NODES];
    while (n-- && c->free) {
        struct weft__link *l = c->free;
        uint8_t node = s->node[weft__slot_index(container_of(l, struct weft__slot, link)) / WEFT_SLAB_CHUNK];
        c->free = l->next;
        c->count--;
        if (!chain[node]) last[node] = l;
        l->next = chain[node];
        chain[node] = l;
    }
    for (unsigned node = 0; node < WEFT_MEM_NODES; node++) {
        if (!chain[node]) continue;
        struct weft__slab_pool *p = &s->pool[node];
        weft__lock(&p->lock);
        last[node]->next = p->free;
        p->free = chain[node];
        weft__unlock(&p->lock);
    }
}

WEFT_COLD void weft__slab_put_slow(struct weft__slab *s, struct weft__slab_cache *c, struct weft__slot *r) {
    struct weft__slab_cache one = {0};
    if (!weft__slot_end(r)) return;
    if (c)
        give_back(s, c, WEFT_SLAB_BATCH);
    else
        c = &one;
    r->link.next = c->free;
    c->free = &r->link;
    c->count++;
    if (c == &one) give_back(s, c, 1);
}

WEFT_COLD void weft__slab_flush(struct weft__slab *s, struct weft__slab_cache *c) { give_back(s, c, c->count); }

void weft__slab_forked(struct weft__slab *s) {
    for (unsigned node = 0; node < WEFT_MEM_NODES; node++) {
        if (load_rlx(&s->pool[node].lock.held)) s->pool[node].free = NULL;
        weft__unlock(&s->pool[node].lock);
    }
    weft__unlock(&s->lock);
}
