/* See chase_lev.h. */
#include "queue/chase_lev.h"

#include "base/sys.h"

#include <errno.h>

#ifndef WEFT_CHASE_LEV_LARGE
#define WEFT_CHASE_LEV_LARGE (4 * WEFT_PAGE) /* bytes of a ring that is worth giving back */
#endif

static size_t bytes_of(uint64_t capacity) {
    return sizeof(struct weft__chase_lev_ring) + capacity * sizeof(_Atomic(void *));
}

static struct weft__chase_lev_ring *ring_new(uint64_t capacity) {
    void *memory = NULL;
    if (bytes_of(capacity) < WEFT_CHASE_LEV_LARGE)
        memory = weft__alloc(bytes_of(capacity));
    else if (weft__map(&memory, bytes_of(capacity)))
        return NULL;
    struct weft__chase_lev_ring *ring = memory;
    if (ring) ring->mask = capacity - 1;
    return ring;
}

static void ring_free(struct weft__chase_lev_ring *ring) {
    size_t bytes = bytes_of(ring->mask + 1);
    if (bytes < WEFT_CHASE_LEV_LARGE)
        weft__free(ring);
    else
        weft__unmap(ring, bytes);
}

/* All but the page with the mask. Thieves may be reading. */
static void give_back(struct weft__chase_lev_ring *ring) {
    size_t bytes = bytes_of(ring->mask + 1);
    if (bytes < WEFT_CHASE_LEV_LARGE) return;
    struct weft__range rest = {(char *)ring + WEFT_PAGE, (bytes - 1) / WEFT_PAGE * WEFT_PAGE};
    weft__discard(&rest, 1);
}

int weft__chase_lev_init(struct weft__chase_lev *q, uint64_t capacity, uint64_t first) {
    struct weft__chase_lev_ring *ring = ring_new(capacity);
    if (!ring) return -ENOMEM;
    store_rlx(&q->top, first);
    store_rlx(&q->bottom, first);
    store_rlx(&q->ring, ring);
    q->top_seen = first;
    q->few = 0;
    q->size = 0;
    q->rings[0] = ring;
    for (unsigned i = 1; i < WEFT_CHASE_LEV_SIZES; i++) q->rings[i] = NULL;
    return 0;
}

void weft__chase_lev_destroy(struct weft__chase_lev *q) {
    for (unsigned i = 0; i < WEFT_CHASE_LEV_SIZES && q->rings[i]; i++) ring_free(q->rings[i]);
    store_rlx(&q->ring, NULL);
}

/* The items [t, b) go on in a ring of another size; it is large enough. */
static void move(struct weft__chase_lev *q, unsigned size, uint64_t t, uint64_t b) {
    struct weft__chase_lev_ring *old = load_rlx(&q->ring), *ring = q->rings[size];
    for (uint64_t i = t; i != b; i++) store_rlx(&ring->slot[i & ring->mask], load_rlx(&old->slot[i & old->mask]));
    q->size = size;
    q->few = size ? (ring->mask + 1) / 4 : 0;
    store_rel(&q->ring, ring); /* pairs with steal: whoever sees it sees the copied slots */
}

static WEFT_COLD int make_room(struct weft__chase_lev *q, uint64_t b) {
    uint64_t capacity = load_rlx(&q->ring)->mask + 1;
    uint64_t t = q->top_seen = load_acq(&q->top); /* pairs with the thieves' swap: they have read */
    if (b - t < capacity) return 0;
    unsigned size = q->size + 1;
    if (size == WEFT_CHASE_LEV_SIZES) return -ENOMEM;
    if (!q->rings[size] && !(q->rings[size] = ring_new(capacity * 2))) return -ENOMEM;
    move(q, size, t, b);
    return 0;
}

static WEFT_COLD void shrink(struct weft__chase_lev *q, uint64_t t, uint64_t b) {
    struct weft__chase_lev_ring *old = load_rlx(&q->ring);
    move(q, q->size - 1, t, b);
    give_back(old);
}

void weft__chase_lev_trim(struct weft__chase_lev *q) {
    uint64_t b = load_rlx(&q->bottom), t = q->top_seen = load_acq(&q->top); /* pairs with the thieves' swap */
    while (q->size && t == b) shrink(q, t, b);
}

int weft__chase_lev_push(struct weft__chase_lev *q, void *item) {
    uint64_t b = load_rlx(&q->bottom);
    struct weft__chase_lev_ring *ring = load_rlx(&q->ring);
    if (unlikely(b - q->top_seen > ring->mask)) {
        int err = make_room(q, b);
        if (err) return err;
        ring = load_rlx(&q->ring);
    }
    store_rlx(&ring->slot[b & ring->mask], item);
    store_rel(&q->bottom, b + 1); /* pairs with steal: the item, and the ring, are there */
    return 0;
}

void *weft__chase_lev_pop(struct weft__chase_lev *q) {
    uint64_t b = load_rlx(&q->bottom) - 1;
    struct weft__chase_lev_ring *ring = load_rlx(&q->ring);
    store_rel(&q->bottom, b); /* pairs with steal, as in push: items below may be seen by this bottom */
    fence_sc();               /* pairs with that of steal */
    uint64_t t = load_rlx(&q->top);
    int64_t left = (int64_t)(b - t);
    if (left < 0) {
        store_rlx(&q->bottom, b + 1); /* empty as before: nobody reads a slot because of it */
        return NULL;
    }
    void *item = load_rlx(&ring->slot[b & ring->mask]);
    if (left > 0) {
        if (unlikely((uint64_t)left < q->few)) shrink(q, t, b);
        return item;
    }
    if (!cas_ar(&q->top, &t, t + 1)) item = NULL; /* against thieves that want the same */
    store_rlx(&q->bottom, b + 1);
    return item;
}

void *weft__chase_lev_steal(struct weft__chase_lev *q) {
    uint64_t t = load_acq(&q->top);    /* before bottom, and the slot: those must not be older */
    fence_sc();                        /* pairs with that of pop */
    uint64_t b = load_acq(&q->bottom); /* pairs with push and pop */
    if ((int64_t)(b - t) <= 0) return NULL;
    struct weft__chase_lev_ring *ring = load_acq(&q->ring); /* pairs with move */
    void *item = load_rlx(&ring->slot[t & ring->mask]);
    return item && cas_ar(&q->top, &t, t + 1) ? item : NULL;
}
