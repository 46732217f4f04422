/* SPDX-License-Identifier: MIT */
/*
 * A worker returns most of its cached memory to the pools. See elastic/trim.c.
 */
#include "sched/loop/loop.h"
#include "sched/tasks/tasks.h"
#include "sched/wake/helpers.h"

#define WEFT_KEEP_STACKS 8
#define WEFT_KEEP_SLOTS 4096 /* of a ready queue */

WEFT_COLD void weft__worker_flush(struct weft__worker *w, uint64_t now) {
    w->cache.next_flush = now + WEFT_FLUSH_EVERY;
    weft__tasks_flush(w, false);
    weft__stack_flush(w->cache.stacks, WEFT_KEEP_STACKS);
    weft__slab_flush(&weft__fibers, &w->cache.records);
    weft__ready_shrink(&w->ready, WEFT_KEEP_SLOTS);
    fence_sc(); /* pairs with trimmer_main */
    weft__trimmer_wake(false);
}
