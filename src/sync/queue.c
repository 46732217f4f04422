/* See queue.h. */
#include "sync/queue.h"

WEFT_COLD void weft__queue_leave(struct weft_queue *q, struct weft_waiter *w) {
    uint64_t value = weft__queue_lock(q);
    if (w->chained) weft__queue_remove(q, w);
    weft__queue_unlock(q, value);
}
