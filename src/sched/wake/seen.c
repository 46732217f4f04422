/* SPDX-License-Identifier: MIT */
/*
 * What a worker has seen of the queues of other workers: whether a queue moves, and how fast. A thief uses this to
 * decide whether the owner serves its queue itself. Only the worker itself uses its records; nothing here is shared.
 */
#include "sched/wake/seen.h"
#include "sched/wake/load.h"

#define WEFT_BATCH (2 * WEFT_MILLISECOND) /* the longest time that the kernel needs for a full ring of requests */

/* Makes room for the records of all workers that exist now. */
bool weft__seen_make_room(struct weft__worker *w, unsigned index) {
    if (likely(index < w->seen.size)) return true;
    unsigned size = load_acq(&w->cluster->count); /* pairs with the making of a worker */
    struct weft__queue_seen *seen = weft__alloc(size * sizeof *seen);
    if (!seen) return false;
    for (unsigned i = 0; i < w->seen.size; i++) seen[i] = w->seen.queue[i];
    weft__free(w->seen.queue);
    w->seen.queue = seen;
    w->seen.size = size;
    return index < size;
}

static void see_head(struct weft__queue_seen *seen, uint64_t head, uint64_t now) {
    seen->head = head;
    seen->at = now;
}

uint64_t weft__queue_idle_time(struct weft__worker *w, struct weft__worker *other, uint64_t now) {
    if (!weft__seen_make_room(w, other->index)) return 0;
    struct weft__queue_seen *seen = &w->seen.queue[other->index];
    uint64_t head = load_rlx(&other->ready.head);
    if (seen->head == head && seen->at) return now - seen->at;
    see_head(seen, head, now);
    return 0;
}

/* We moved the head ourselves. We must not take that for progress of the owner. */
void weft__seen_note_taken(struct weft__worker *w, struct weft__worker *from, uint64_t n) {
    if (from->index < w->seen.size) w->seen.queue[from->index].head += n;
}

void weft__queue_seen_empty(struct weft__worker *w, struct weft__worker *other) {
    if (other->index < w->seen.size) w->seen.queue[other->index].at = 0;
}

/*
 * Will the owner reach the last of `length` fibers before this worker could run it? The answer depends on how far the
 * head has moved since an earlier look. The first look says yes. After a long gap between two looks the queue seems
 * slow, and is stolen from.
 */
bool weft__queue_is_served_at_once(struct weft__worker *w, struct weft__worker *other, uint64_t length, uint64_t now) {
    if (!weft__seen_make_room(w, other->index)) return false;
    struct weft__queue_seen *seen = &w->seen.queue[other->index], last = *seen;
    uint64_t head = load_rlx(&other->ready.head);
    if (last.at && head == last.head) return now - last.at < WEFT_CARRY; /* two looks in a row prove nothing */
    see_head(seen, head, now);
    return !last.at || length * (now - last.at) < (head - last.head) * WEFT_CARRY;
}

/* Two looks at a head that has not moved must lie WEFT_BATCH apart: the owner may be in the kernel with a full ring. */
bool weft__serves_itself(struct weft__worker *w, struct weft__worker *other, uint64_t now) {
    return weft__keeps_up(other, now) && weft__queue_idle_time(w, other, now) < WEFT_BATCH;
}
