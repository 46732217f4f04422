/* The rare parts of the ready queue: making, growing, freeing. See ready.h. */
#include "queue/ready.h"

#include "base/sys.h"

#include <errno.h>

static struct weft__ring *ring_new(uint64_t capacity) {
    struct weft__ring *ring = weft__alloc(sizeof *ring + capacity * sizeof ring->slot[0]);
    if (ring) ring->mask = capacity - 1;
    return ring;
}

int weft__ready_init(struct weft__ready *q, uint64_t capacity, uint64_t first) {
    struct weft__ring *ring = ring_new(capacity);
    if (!ring) return -ENOMEM;
    store_rlx(&q->head, first);
    store_rlx(&q->tail, first);
    store_rlx(&q->alone, false);
    q->trapped = false;
    q->head_seen = first;
    store_rlx(&q->ring, ring);
    return 0;
}

void weft__ready_destroy(struct weft__ready *q) {
    struct weft__ring *ring = load_rlx(&q->ring);
    while (ring) {
        struct weft__ring *older = ring->older;
        weft__free(ring);
        ring = older;
    }
    store_rlx(&q->ring, NULL);
}

WEFT_COLD int weft__ready_grow(struct weft__ready *q) {
    struct weft__ring *old = load_rlx(&q->ring);
    uint64_t t = load_rlx(&q->tail);
    uint64_t h = q->head_seen = load_acq(&q->head); /* pairs with the takers' swap: they have read */
    if (q->trapped) {
        q->trapped = false;
        return -EAGAIN;
    }
    if (t - h <= old->mask) return 0;
    struct weft__ring *ring = ring_new((old->mask + 1) * 2);
    if (!ring) return -ENOMEM;
    ring->older = old;
    for (uint64_t i = h; i != t; i++) store_rlx(&ring->slot[i & ring->mask], load_rlx(&old->slot[i & old->mask]));
    store_rel(&q->ring, ring); /* pairs with take: whoever sees it sees the copied slots */
    return 0;
}

void weft__ready_trap(struct weft__ready *q) {
    q->trapped = true;
    q->head_seen = load_rlx(&q->tail) - load_rlx(&q->ring)->mask - 1; /* as if it were full */
}
