/* SPDX-License-Identifier: MIT */
/* See wait_queue.h. */
#include "sched/wait/wait_queue.h"

WEFT_COLD bool weft__wait_queue_leave(struct weft_queue *q, struct weft_waiter *w) {
    uint64_t value = weft__wait_queue_lock(q);
    bool chained = weft__chain_take_out(&q->first, w);
    weft__wait_queue_unlock(q, value);
    return chained;
}
