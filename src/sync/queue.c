/* See queue.h. */
#include "sync/queue.h"

WEFT_COLD bool weft__queue_leave(struct weft_queue *q, struct weft_waiter *w) {
    uint64_t value = weft__queue_lock(q);
    bool chained = weft__chain_take_out(&q->first, w);
    weft__queue_unlock(q, value);
    return chained;
}
