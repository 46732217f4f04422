/* SPDX-License-Identifier: MIT */
/* How many waiters a queue has, read under the queue's own lock, so that the read is not a data race. And a line of
 * fibers and threads that wait in a queue. */
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

/* Fibers, and threads with the odd numbers. Each waits in the queue before the next begins. */
enum { LINE = 16 };
struct line {
    struct weft_fiber f[LINE];
    pthread_t t[LINE];
};
static inline void line_begin(struct line *l, void *(*fn)(void *), struct weft_queue *q) {
    for (intptr_t i = 0; i < LINE; i++) {
        if (i % 2)
            l->t[i] = thread_start(fn, (void *)i);
        else
            l->f[i] = spawn(fn, (void *)i);
        await_chain(q, (int)i + 1);
    }
}
static inline void line_join(const struct line *l) {
    for (int i = 0; i < LINE; i++) {
        if (i % 2)
            thread_join(l->t[i]);
        else
            join(l->f[i]);
    }
}

#endif
