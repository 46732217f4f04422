/* SPDX-License-Identifier: MIT */
/*
 * Counters. A waiter waits until the count is at most its own value. A waiter with a larger value leaves before waiters
 * that came earlier with a smaller value.
 */
#include "sched/wait/wait_queue.h"

#include "sched/wait/cancel.h"

WEFT_PUBLIC int weft_counter_add(struct weft_counter *counter, uint64_t n) {
    if (!counter) return -EINVAL;
    if (n > WEFT_QUEUE_MAX) return -EOVERFLOW;
    _Atomic uint64_t *word = weft__wait_queue_word(&counter->queue);
    uint64_t w = load_rlx(word);
    while (!(w & WEFT_QUEUE_BUSY)) {
        if ((w >> 2) + n > WEFT_QUEUE_MAX) return -EOVERFLOW;
        if (cas_ar(word, &w, w + n * WEFT_QUEUE_ONE)) return 0;
    }
    w = weft__wait_queue_lock(&counter->queue);
    bool fits = (w >> 2) + n <= WEFT_QUEUE_MAX;
    weft__wait_queue_unlock(&counter->queue, fits ? w + n * WEFT_QUEUE_ONE : w);
    return fits ? 0 : -EOVERFLOW;
}

/* Wins all waiters that the value satisfies, and puts their fibers into a list to make ready. Locked. */
static void win_content(struct weft_queue *q, uint64_t value, struct weft__list *won) {
    WEFT_ASSERT(weft__wait_queue_is_locked(q));
    for (struct weft_waiter *w = q->first, *next; w; w = next) {
        next = w->next;
        if (w->at_most < value) continue;
        weft__wait_queue_remove(q, w);
        struct weft__fiber *f = w->fiber;
        if (weft__wait_win(f, w->ticket, WEFT_WON_DONE)) weft__list_put(won, &f->slot.link);
    }
}

static inline int counter_lower(struct weft_counter *counter, uint64_t n) {
    struct weft_queue *q = &counter->queue;
    _Atomic uint64_t *word = weft__wait_queue_word(q);
    uint64_t w = load_rlx(word);
    while (!(w & WEFT_QUEUE_BUSY)) {
        if (unlikely(w >> 2 < n)) return -EINVAL;
        if (likely(cas_ar(word, &w, w - n * WEFT_QUEUE_ONE))) return 0; /* pairs with weft_counter_wait */
    }
    struct weft__list won = {NULL, NULL};
    w = weft__wait_queue_lock(q);
    bool enough = w >> 2 >= n;
    if (enough) {
        w -= n * WEFT_QUEUE_ONE;
        win_content(q, w >> 2, &won);
    }
    weft__wait_queue_unlock(q, w);
    weft__make_all_ready(&won);
    return enough ? 0 : -EINVAL;
}

int weft__counter_lower(struct weft_counter *counter, uint64_t n) { return counter_lower(counter, n); }

WEFT_PUBLIC int weft_counter_complete(struct weft_counter *counter) {
    return likely(counter != NULL) ? counter_lower(counter, 1) : -EINVAL;
}

static WEFT_SWITCHES int wait_for_few(struct weft_counter *counter, uint64_t n, uint64_t ways, uint64_t deadline) {
    struct weft_waiter waiter;
    waiter.fiber = weft__me();
    waiter.at_most = n;
    if (!waiter.fiber) return -ENOMEM;
    uint64_t w = weft__wait_queue_lock(&counter->queue);
    if (w >> 2 <= n) {
        weft__wait_queue_unlock(&counter->queue, w);
        return 0;
    }
    return weft__wait_queue_wait(&counter->queue, w, &waiter, WEFT_ON_COUNTER, ways, deadline);
}

WEFT_PUBLIC int weft_counter_wait_until(struct weft_counter *counter, uint64_t n, uint64_t deadline) {
    if (!counter) return -EINVAL;
    uint64_t w = load_acq(weft__wait_queue_word(&counter->queue)); /* pairs with lower */
    return !(w & WEFT_QUEUE_BUSY) && w >> 2 <= n ? 0 : wait_for_few(counter, n, WEFT_WAIT_BY_CANCEL, deadline);
}

/* For the end of a scope: neither deadline nor cancellation ends the wait. */
int weft__counter_wait_always(struct weft_counter *counter, uint64_t n) {
    uint64_t w = load_acq(weft__wait_queue_word(&counter->queue)); /* pairs with lower */
    return !(w & WEFT_QUEUE_BUSY) && w >> 2 <= n ? 0 : wait_for_few(counter, n, 0, WEFT_FOREVER);
}

WEFT_PUBLIC int weft_counter_wait(struct weft_counter *counter, uint64_t n) {
    return weft_counter_wait_until(counter, n, WEFT_FOREVER);
}

WEFT_PUBLIC uint64_t weft_counter_value(const struct weft_counter *counter) {
    return counter ? load_acq(weft__wait_queue_word(&counter->queue)) >> 2 : 0;
}
