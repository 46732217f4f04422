/*
 * See crew.h.
 */
#include "par/crew.h"

#include "sync/queue.h"

int weft__crew_send(struct weft__crew *crew, void *(*fn)(void *), void *arg) {
    struct weft_attr attr = {.detached = 1, .counter = &crew->alive};
    weft_counter_add(&crew->alive, 1);
    int err = weft_spawn(NULL, &attr, fn, arg);
    if (unlikely(err)) weft_counter_complete(&crew->alive);
    return err;
}

WEFT_SWITCHES void weft__crew_wait(struct weft__crew *crew) {
    struct weft_queue *q = &crew->alive.queue;
    struct weft_waiter waiter;
    waiter.fiber = weft__me();
    waiter.at_most = 0;
    uint64_t w = weft__queue_lock(q);
    if (w >> 2)
        weft__queue_wait(q, w, &waiter, 0, WEFT_FOREVER); /* no way to cancel it */
    else
        weft__queue_unlock(q, w);
}
