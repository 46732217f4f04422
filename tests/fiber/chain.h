/* SPDX-License-Identifier: MIT */
/* How many waiters a queue has. Reads it under the queue's own lock, so the read is not a data race. */
#ifndef WEFT_TESTS_CHAIN_H
#define WEFT_TESTS_CHAIN_H

#include "fiber.h"

#include "sched/wait/wait_queue.h"

static inline int chain_length(struct weft_queue *q) {
    int n = 0;
    uint64_t word = weft__wait_queue_lock(q);
    for (struct weft_waiter *w = q->first; w; w = w->next) n++;
    weft__wait_queue_unlock(q, word);
    return n;
}

struct chain_wanted {
    struct weft_queue *queue;
    int length;
};
static inline bool chain_is(void *arg) {
    struct chain_wanted *w = arg;
    return chain_length(w->queue) == w->length;
}
/* From a thread: naps until the queue has this many waiters. */
static inline void await_chain(struct weft_queue *q, int length) {
    struct chain_wanted w = {q, length};
    test_until(chain_is, &w);
}

#endif
