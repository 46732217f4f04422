/* See slab.h. */
#include "mem/slab.h"

#include "base/random.h"
#include "base/san.h"

/* The records of a few pages are handed out before those of the next, but in no order among them. */
static uint32_t nth(uint32_t i) {
    enum { BITS = 9 };
    return i >> BITS << BITS | weft__scatter(i & ((1 << BITS) - 1), BITS);
}

/* Makes one chunk of records and puts them on the shared list. Locked. */
static bool make_chunk(struct weft__slab *s) {
    uint32_t first = load_rlx(&s->records);
    if (first / WEFT_SLAB_CHUNK >= WEFT_SLAB_CHUNKS_MAX) return false;
    void *memory;
    if (weft__map(&memory, WEFT_SLAB_CHUNK * s->record_size)) return false;
    san_root(memory, WEFT_SLAB_CHUNK * s->record_size);
    char *chunk = memory;
    for (uint32_t turn = WEFT_SLAB_CHUNK; turn-- > 0;) {
        uint32_t i = nth(turn);
        struct weft__slot *r = (struct weft__slot *)(void *)(chunk + i * s->record_size);
        r->index = first + i;
        r->link.next = s->free;
        s->free = &r->link;
    }
    store_rlx(&s->chunk[first / WEFT_SLAB_CHUNK], chunk);
    store_rel(&s->records, first + WEFT_SLAB_CHUNK); /* pairs with weft__slab_at */
    return true;
}

static struct weft__link *take_one(struct weft__slab *s) {
    if (!s->free && !make_chunk(s)) return NULL;
    struct weft__link *l = s->free;
    s->free = l->next;
    return l;
}

WEFT_COLD struct weft__slot *weft__slab_get_slow(struct weft__slab *s, struct weft__slab_cache *c) {
    weft__lock(&s->lock);
    struct weft__link *l = take_one(s);
    for (unsigned i = 1; c && l && i < WEFT_SLAB_BATCH; i++) {
        struct weft__link *more = take_one(s);
        if (!more) break;
        more->next = c->free;
        c->free = more;
        c->count++;
    }
    weft__unlock(&s->lock);
    if (!l) return NULL;
    struct weft__slot *r = container_of(l, struct weft__slot, link);
    count_add(&r->generation, 1);
    return r;
}

/* Moves n records of the cache to the shared list. */
static void give_back(struct weft__slab *s, struct weft__slab_cache *c, unsigned n) {
    weft__lock(&s->lock);
    while (n-- && c->free) {
        struct weft__link *l = c->free;
        c->free = l->next;
        c->count--;
        l->next = s->free;
        s->free = l;
    }
    weft__unlock(&s->lock);
}

WEFT_COLD void weft__slab_put_slow(struct weft__slab *s, struct weft__slab_cache *c, struct weft__slot *r) {
    struct weft__slab_cache one = {NULL, 0};
    if (c)
        give_back(s, c, WEFT_SLAB_BATCH);
    else
        c = &one;
    count_add(&r->generation, 1);
    r->link.next = c->free;
    c->free = &r->link;
    c->count++;
    if (c == &one) give_back(s, c, 1);
}

WEFT_COLD void weft__slab_flush(struct weft__slab *s, struct weft__slab_cache *c) { give_back(s, c, c->count); }
