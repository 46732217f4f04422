/* The rare parts of the ready queue: making, growing, shrinking, freeing. See ready.h. */
#include "queue/ready.h"

#include "base/sys.h"

#include <errno.h>

#ifndef WEFT_READY_LARGE
#define WEFT_READY_LARGE (4 * WEFT_PAGE) /* bytes of a ring: from there on its pages can be given back */
#endif

static size_t bytes_of(uint64_t capacity) {
    return sizeof(struct weft__ring) + capacity * sizeof(((struct weft__ring *)NULL)->slot[0]);
}

static struct weft__ring *ring_new(uint64_t capacity) {
    void *memory = NULL;
    if (bytes_of(capacity) < WEFT_READY_LARGE)
        memory = weft__alloc(bytes_of(capacity));
    else if (weft__map(&memory, bytes_of(capacity)))
        return NULL;
    struct weft__ring *ring = memory;
    if (ring) ring->mask = capacity - 1;
    return ring;
}

int weft__ready_init(struct weft__ready *q, uint64_t capacity, uint64_t first) {
    struct weft__ring *ring = ring_new(capacity);
    if (!ring) return -ENOMEM;
    ring->next = NULL;
    store_rlx(&q->head, first);
    store_rlx(&q->tail, first);
    store_rlx(&q->alone, false);
    q->trapped = false;
    q->calm = false;
    q->head_seen = first;
    q->rings = ring;
    store_rlx(&q->ring, ring);
    return 0;
}

void weft__ready_destroy(struct weft__ready *q) {
    for (struct weft__ring *ring = q->rings; ring;) {
        struct weft__ring *next = ring->next;
        size_t bytes = bytes_of(ring->mask + 1);
        if (bytes < WEFT_READY_LARGE)
            weft__free(ring);
        else
            weft__unmap(ring, bytes);
        ring = next;
    }
    q->rings = NULL;
    store_rlx(&q->ring, NULL);
}

/* Was it left, and have all items been taken that it held then? */
static bool is_over(struct weft__ready *q, const struct weft__ring *ring, uint64_t h) {
    return ring != load_rlx(&q->ring) && (int64_t)(h - ring->left) >= 0;
}

/* One that was used before, or a new one; NULL: no memory. */
static struct weft__ring *ring_get(struct weft__ready *q, uint64_t capacity, uint64_t h) {
    struct weft__ring *ring = q->rings;
    while (ring && (ring->mask + 1 != capacity || !is_over(q, ring, h))) ring = ring->next;
    if (ring || !(ring = ring_new(capacity))) return ring;
    ring->next = q->rings;
    q->rings = ring;
    return ring;
}

/* The items [h, t) go on in a ring of another size, which is large enough. */
static int move(struct weft__ready *q, uint64_t capacity, uint64_t h, uint64_t t) {
    struct weft__ring *old = load_rlx(&q->ring), *ring = ring_get(q, capacity, h);
    if (!ring) return -ENOMEM;
    for (uint64_t i = h; i != t; i++) store_rlx(&ring->slot[i & ring->mask], load_rlx(&old->slot[i & old->mask]));
    old->left = t;
    old->has_pages = true;
    store_rel(&q->ring, ring); /* pairs with take: whoever sees it sees the copied slots */
    return 0;
}

WEFT_COLD int weft__ready_grow(struct weft__ready *q) {
    struct weft__ring *old = load_rlx(&q->ring);
    uint64_t t = load_rlx(&q->tail);
    uint64_t h = q->head_seen = load_acq(&q->head); /* pairs with the takers' swap: they have read */
    if (q->trapped) {
        q->trapped = false;
        return -EAGAIN;
    }
    return t - h <= old->mask ? 0 : move(q, (old->mask + 1) * 2, h, t);
}

/* All but the page with the mask. Takers may still read it. */
static void give_back(struct weft__ring *ring) {
    size_t bytes = bytes_of(ring->mask + 1);
    struct weft__range rest = {(char *)ring + WEFT_PAGE, (bytes - 1) / WEFT_PAGE * WEFT_PAGE};
    ring->has_pages = false;
    if (bytes >= WEFT_READY_LARGE) weft__discard(&rest, 1);
}

WEFT_COLD void weft__ready_shrink(struct weft__ready *q, uint64_t least) {
    uint64_t t = load_rlx(&q->tail), h = load_acq(&q->head); /* pairs with the takers' swap */
    uint64_t capacity = load_rlx(&q->ring)->mask + 1, fits = least;
    while (fits < 2 * (t - h)) fits *= 2;
    bool was_calm = q->calm;
    q->calm = fits < capacity;
    if (q->calm && was_calm && !move(q, fits, h, t)) q->calm = false;
    for (struct weft__ring *ring = q->rings; ring; ring = ring->next)
        if (ring->has_pages && is_over(q, ring, h)) give_back(ring);
}

void weft__ready_trap(struct weft__ready *q) {
    q->trapped = true;
    q->head_seen = load_rlx(&q->tail) - load_rlx(&q->ring)->mask - 1; /* as if it were full */
}
