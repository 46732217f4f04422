/* SPDX-License-Identifier: MIT */
/* See slab.h. */
#include "mem/slab.h"

#include "base/assert.h"
#include "base/random.h"
#include "base/sanitizer.h"

#define WEFT_SLAB_PAGES(s) (WEFT_SLAB_CHUNK * (s)->record_size / WEFT_PAGE) /* of a chunk */

static struct weft__slot *slot_of(struct weft__link *l) { return container_of(l, struct weft__slot, link); }
static unsigned in_page(const struct weft__slab *s) { return (unsigned)(WEFT_PAGE / s->record_size); }

/* --- chunks -------------------------------------------------------------------------------------- */

/* The order in which records are handed out: a group of 512 after the other, and in random order within a group. */
static uint32_t slab_nth(uint32_t i) {
    enum { BITS = 9 };
    return i >> BITS << BITS | weft__random_permute(i & ((1 << BITS) - 1), BITS);
}

static bool make_pages(struct weft__slab *s, uint32_t first) {
    if (!s->care) return true;
    size_t n = WEFT_SLAB_PAGES(s);
    struct weft__slab_page *page = weft__alloc(n * sizeof *page);
    if (!page) return false;
    for (size_t i = 0; i < n; i++) page[i].first = first + (uint32_t)i * in_page(s);
    s->page[first / WEFT_SLAB_CHUNK] = page;
    return true;
}

/* Makes a chunk of records for a node and puts them into its pool, which is locked. */
static bool make_chunk_locked(struct weft__slab *s, uint8_t node) {
    uint32_t first = load_rlx(&s->records);
    if (first / WEFT_SLAB_CHUNK >= WEFT_SLAB_CHUNKS_MAX) return false;
    void *memory;
    if (weft__pages_map(&memory, WEFT_SLAB_CHUNK * s->record_size)) return false;
    if (!make_pages(s, first)) {
        weft__pages_unmap(memory, WEFT_SLAB_CHUNK * s->record_size);
        return false;
    }
    san_root(memory, WEFT_SLAB_CHUNK * s->record_size);
    char *chunk = memory;
    for (uint32_t turn = WEFT_SLAB_CHUNK; turn-- > 0;) {
        uint32_t i = slab_nth(turn);
        struct weft__slot *r = (struct weft__slot *)(void *)(chunk + i * s->record_size);
        store_rlx(&r->life, first + i);
        weft__aged_put(&s->pool[node].aged, &r->link, &r->link);
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

/* --- pages --------------------------------------------------------------------------------------- */

static struct weft__slab_page *page_of(struct weft__slab *s, const struct weft__slot *r) {
    uint32_t index = weft__slot_index(r);
    return &s->page[index / WEFT_SLAB_CHUNK][index % WEFT_SLAB_CHUNK / in_page(s)];
}

static struct weft__slot *record_in(struct weft__slab *s, const struct weft__slab_page *page, unsigned i) {
    return weft__slab_at(s, page->first + i);
}
static _Atomic uint64_t *counter_of(struct weft__slab *s, struct weft__slot *r) {
    return (_Atomic uint64_t *)(void *)((char *)r + s->care->counter);
}

/* Locked. */
static void add_idle(struct weft__slab_pool *p, struct weft__slab_page *page, struct weft__slot *r) {
    WEFT_ASSERT(weft__lock_is_held(&p->lock));
    r->link.next = page->idle;
    page->idle = &r->link;
    page->idle_count++;
    weft__dlink_insert(&p->partial, &page->spot);
}

/* Restores the records of a page from the saved generation and counter, as idle records. Locked. */
static void bring_back(struct weft__slab *s, struct weft__slab_pool *p, struct weft__slab_page *page) {
    for (unsigned i = 0; i < in_page(s); i++) {
        unsigned at = weft__random_permute(i, (unsigned)__builtin_ctz(in_page(s)));
        struct weft__slot *r = record_in(s, page, at);
        store_rlx(counter_of(s, r), page->counter);
        store_rlx(&r->life, page->life | (page->first + at));
        add_idle(p, page, r);
    }
}

/* An idle record of a page that has some. Locked. */
static struct weft__link *slab_take_idle(struct weft__slab_pool *p) {
    struct weft__slab_page *page = container_of(p->partial, struct weft__slab_page, spot);
    WEFT_ASSERT(weft__lock_is_held(&p->lock) && page->idle_count > 0);
    struct weft__link *l = page->idle;
    page->idle = l->next;
    if (!--page->idle_count) weft__dlink_remove(&page->spot);
    return l;
}

/* An idle record; brings a page without memory back if necessary. NULL: none. Locked. */
static struct weft__link *take_old(struct weft__slab *s, struct weft__slab_pool *p) {
    if (!p->partial && p->cold) {
        struct weft__slab_page *page = container_of(p->cold, struct weft__slab_page, spot);
        weft__dlink_remove(&page->spot);
        bring_back(s, p, page);
    }
    return p->partial ? slab_take_idle(p) : NULL;
}

/* --- caches -------------------------------------------------------------------------------------- */

/* Takes up to `most` records from a pool as a chain, the most recently used first. */
static unsigned take_locked(struct weft__slab *s, struct weft__slab_pool *p, unsigned most, struct weft__link **chain) {
    WEFT_ASSERT(weft__lock_is_held(&p->lock));
    unsigned got = weft__aged_take(&p->aged, most, &chain);
    for (struct weft__link *l; got < most && (l = take_old(s, p)); got++) {
        *chain = l;
        chain = &l->next;
    }
    *chain = NULL;
    return got;
}

/* The same. If the pool is empty it may grow. */
static unsigned slab_take(struct weft__slab *s, uint8_t node, bool grow, unsigned most, struct weft__link **chain) {
    struct weft__slab_pool *p = &s->pool[node];
    weft__lock(&p->lock);
    unsigned got = take_locked(s, p, most, chain);
    if (!got && grow && make_chunk(s, node)) got = take_locked(s, p, most, chain);
    weft__unlock(&p->lock);
    return got;
}

WEFT_COLD struct weft__slot *weft__slab_get_slow(struct weft__slab *s, struct weft__slab_cache *c) {
    struct weft__slab_cache one = {0};
    unsigned most = c ? WEFT_SLAB_BATCH : 1;
    if (!c) c = &one;
    c->count += slab_take(s, c->node, true, most, &c->free);
    for (uint8_t i = 1; !c->free && i < WEFT_MEM_NODES; i++)
        c->count += slab_take(s, weft__mem_node(c->node + i), false, most, &c->free);
    return c->free ? weft__slab_get(s, c) : NULL;
}

/* Moves n records of the cache to the shared lists, each to the list of its node. */
static void slab_give_back(struct weft__slab *s, struct weft__slab_cache *c, unsigned n) {
    struct weft__link *chain[WEFT_MEM_NODES] = {NULL}, *last[WEFT_MEM_NODES];
    while (n-- && c->free) {
        struct weft__link *l = c->free;
        WEFT_ASSERT(weft__slot_index(slot_of(l)) < load_rlx(&s->records));
        uint8_t node = s->node[weft__slot_index(slot_of(l)) / WEFT_SLAB_CHUNK];
        c->free = l->next;
        c->count--;
        if (!chain[node]) last[node] = l;
        l->next = chain[node];
        chain[node] = l;
    }
    for (unsigned node = 0; node < WEFT_MEM_NODES; node++) {
        if (!chain[node]) continue;
        weft__lock(&s->pool[node].lock);
        weft__aged_put(&s->pool[node].aged, chain[node], last[node]);
        weft__unlock(&s->pool[node].lock);
    }
}

WEFT_COLD void weft__slab_put_slow(struct weft__slab *s, struct weft__slab_cache *c, struct weft__slot *r) {
    struct weft__slab_cache one = {0};
    if (!weft__slot_end(r)) return;
    if (c)
        slab_give_back(s, c, WEFT_SLAB_BATCH);
    else
        c = &one;
    r->link.next = c->free;
    c->free = &r->link;
    c->count++;
    if (c == &one) slab_give_back(s, c, 1);
}

WEFT_COLD void weft__slab_flush(struct weft__slab *s, struct weft__slab_cache *c) { slab_give_back(s, c, c->count); }

/* --- giving back ----------------------------------------------------------------------------------- */

#define WEFT_SLAB_FULL 16 /* pages in one call */

/* Makes old records idle. Pages with only idle records leave the pool and go to the caller. Locked. */
static unsigned slab_settle(struct weft__slab *s, struct weft__slab_pool *p, struct weft__slab_page **full, bool *did) {
    enum { AT_ONCE = 128 };
    unsigned pages = 0;
    struct weft__link *l;
    for (unsigned n = 0; n < AT_ONCE && pages < WEFT_SLAB_FULL; n++) {
        if (!(l = weft__aged_take_from(&p->aged, WEFT_AGED_OLD))) break;
        struct weft__slab_page *page = page_of(s, slot_of(l));
        *did = true;
        add_idle(p, page, slot_of(l));
        if (page->idle_count < in_page(s)) continue;
        weft__dlink_remove(&page->spot);
        page->idle = NULL;
        page->idle_count = 0;
        full[pages++] = page;
    }
    return pages;
}

/* Prevents writes to the page, and saves the values that must never restart. False: a write is under way. */
static bool slab_seal(struct weft__slab *s, struct weft__slab_page *page) {
    page->life = page->counter = 0;
    for (unsigned i = 0; i < in_page(s); i++) {
        struct weft__slot *r = record_in(s, page, i);
        if (!s->care->seal(r)) {
            while (i-- > 0) s->care->unseal(record_in(s, page, i));
            return false;
        }
        uint64_t generation = load_rlx(&r->life) & WEFT_LIFE_LAST, counter = load_rlx(counter_of(s, r));
        if (generation > page->life) page->life = generation;
        if (counter > page->counter) page->counter = counter;
    }
    return true;
}

/* Returns the page's records to the pool, unchanged. */
static void let_be(struct weft__slab *s, struct weft__slab_pool *p, struct weft__slab_page *page) {
    weft__lock(&p->lock);
    for (unsigned i = 0; i < in_page(s); i++) add_idle(p, page, record_in(s, page, i));
    weft__unlock(&p->lock);
}

/* After an error some pages are unchanged and some are zero. Restore all of them. */
static void slab_give_up(struct weft__slab *s, struct weft__slab_pool *p, struct weft__slab_page *page) {
    for (unsigned i = 0; i < in_page(s); i++) s->care->unseal(record_in(s, page, i));
    weft__lock(&p->lock);
    bring_back(s, p, page);
    weft__unlock(&p->lock);
}

static void release_pages(struct weft__slab *s, struct weft__slab_pool *p, struct weft__slab_page **full, unsigned n) {
    struct weft__range r[WEFT_SLAB_FULL];
    unsigned sealed = 0;
    for (unsigned i = 0; i < n; i++) {
        if (!slab_seal(s, full[i])) {
            let_be(s, p, full[i]);
            continue;
        }
        full[sealed] = full[i];
        r[sealed++] = (struct weft__range){record_in(s, full[i], 0), WEFT_PAGE};
    }
    int err = sealed ? weft__pages_discard(r, sealed) : 0; /* also removes the seals */
    for (unsigned i = 0; i < sealed; i++) {
        if (err) {
            slab_give_up(s, p, full[i]);
            continue;
        }
        weft__lock(&p->lock);
        weft__dlink_insert(&p->cold, &full[i]->spot);
        weft__unlock(&p->lock);
    }
}

WEFT_COLD bool weft__slab_trim(struct weft__slab *s) {
    struct weft__slab_page *full[WEFT_SLAB_FULL];
    bool did = false;
    if (!s->care) return false;
    weft__lock(&s->trimming);
    for (unsigned node = 0; node < WEFT_MEM_NODES && !did; node++) {
        struct weft__slab_pool *p = &s->pool[node];
        weft__lock(&p->lock);
        unsigned n = slab_settle(s, p, full, &did);
        weft__unlock(&p->lock);
        if (n) release_pages(s, p, full, n);
    }
    weft__unlock(&s->trimming);
    return did;
}

WEFT_COLD bool weft__slab_end_period(struct weft__slab *s) {
    bool some = false;
    for (unsigned node = 0; node < WEFT_MEM_NODES && s->care; node++) {
        struct weft__slab_pool *p = &s->pool[node];
        weft__lock(&p->lock);
        weft__aged_end_period(&p->aged);
        some |= !weft__aged_is_empty(&p->aged);
        weft__unlock(&p->lock);
    }
    return some;
}

/* --- fork ------------------------------------------------------------------------------------------ */

static void slab_forget(struct weft__slab *s, unsigned node) {
    struct weft__slab_pool *p = &s->pool[node];
    p->aged = (struct weft__aged){{NULL}};
    p->partial = p->cold = NULL;
    for (uint32_t c = 0; s->care && c < load_rlx(&s->records) / WEFT_SLAB_CHUNK; c++)
        for (size_t i = 0; s->node[c] == node && i < WEFT_SLAB_PAGES(s); i++) {
            struct weft__slab_page *page = &s->page[c][i];
            page->spot.at = NULL;
            page->idle = NULL;
            page->idle_count = 0;
        }
}

void weft__slab_after_fork(struct weft__slab *s) {
    for (unsigned node = 0; node < WEFT_MEM_NODES; node++) {
        if (load_rlx(&s->pool[node].lock.held)) slab_forget(s, node);
        weft__unlock(&s->pool[node].lock);
    }
    weft__unlock(&s->lock);
    weft__unlock(&s->trimming);
}
