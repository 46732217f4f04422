/* SPDX-License-Identifier: MIT */
/* Making tapes. See tape.h. */
#include "sched/record/tape.h"
#include "sched/record/record.h"

#include "base/sys.h"

/* The kernel commits the pages of a tape when they are first written. */
struct weft__tape *weft__tape_make(uint32_t cluster, uint32_t worker) {
    unsigned n = load_rlx(&weft__recorder.tapes);
    void *memory;
    size_t bytes = weft__round_up(WEFT_TAPE_EVENTS * sizeof(struct weft__event) + sizeof(struct weft__walks), 4096);
    if (n >= WEFT_TAPES_MOST) return NULL;
    struct weft__tape *t = weft__alloc_aligned(WEFT_APART, sizeof *t);
    if (!t) return NULL;
    if (weft__pages_map(&memory, bytes)) {
        weft__free(t);
        return NULL;
    }
    *t = (struct weft__tape){.mask = WEFT_TAPE_EVENTS - 1,
                             .event = memory,
                             .cluster = cluster,
                             .worker = worker,
                             .running = 0,
                             .walks = (void *)((struct weft__event *)memory + WEFT_TAPE_EVENTS)};
    store_rlx(&weft__recorder.tape[n], t);
    store_rel(&weft__recorder.tapes, n + 1); /* pairs with readers: the pointer is written */
    return t;
}
