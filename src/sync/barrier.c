/* SPDX-License-Identifier: MIT */
/*
 * Barriers: the value of the wait queue counts arrivals. The last arrival wins all waiters and continues with them; the
 * value becomes 0.
 *
 * A waiter that gives up takes its arrival back, under the lock. If it is no longer in the chain, the last arrival has
 * counted it: it has passed the barrier like the others, although its deadline passed or it was cancelled at that
 * moment.
 */
#include "sched/wait/wait_queue.h"

WEFT_PUBLIC int weft_barrier_init(struct weft_barrier *barrier, uint64_t count) {
    if (!barrier || !count || count > WEFT_QUEUE_MAX) return -EINVAL;
    *barrier = (struct weft_barrier)WEFT_BARRIER_INIT(count);
    return 0;
}

static int let_all_go(struct weft_queue *q) {
    struct weft__list won = {NULL, NULL};
    for (struct weft__fiber *f; (f = weft__wait_queue_win(q));) weft__list_put(&won, &f->slot.link);
    weft__wait_queue_unlock(q, 0);
    weft__make_all_ready(&won);
    return WEFT_BARRIER_SERIAL;
}

static WEFT_COLD bool barrier_take_back(struct weft_queue *q, struct weft_waiter *waiter) {
    uint64_t w = weft__wait_queue_lock(q);
    bool waits = weft__chain_take_out(&q->first, waiter);
    weft__wait_queue_unlock(q, waits ? w - WEFT_QUEUE_ONE : w);
    return waits;
}

static WEFT_SWITCHES int barrier_arrive(struct weft_barrier *barrier, uint64_t deadline) {
    struct weft_queue *q = &barrier->queue;
    struct weft_waiter waiter;
    waiter.fiber = weft__me();
    if (!waiter.fiber) return -ENOMEM;
    uint64_t w = weft__wait_queue_lock(q);
    if ((w >> 2) + 1 >= barrier->count) return let_all_go(q);
    int err = weft__wait_begin(waiter.fiber, WEFT_WAIT_BY_CANCEL, &waiter.ticket);
    if (!err) weft__wait_queue_append(q, &waiter, WEFT_ON_BARRIER);
    weft__wait_queue_unlock(q, err ? w : w + WEFT_QUEUE_ONE);
    if (err) return weft__refused(waiter.fiber, err);
    err = weft__wait_block_for(waiter.fiber, waiter.ticket, deadline, weft__for(WEFT_ON_BARRIER, barrier));
    return unlikely(err) && barrier_take_back(q, &waiter) ? err : 0;
}

WEFT_PUBLIC int weft_barrier_wait_until(struct weft_barrier *barrier, uint64_t deadline) {
    return barrier && barrier->count ? barrier_arrive(barrier, deadline) : -EINVAL;
}

WEFT_PUBLIC int weft_barrier_wait(struct weft_barrier *barrier) {
    return weft_barrier_wait_until(barrier, WEFT_FOREVER);
}
