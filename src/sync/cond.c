/* SPDX-License-Identifier: MIT */
/*
 * Condition variables: a chain and no value. The waiter enters the chain before it unlocks the mutex, so a later signal
 * finds it.
 */
#include "sync/mutex.h"

/* The fiber was cancelled, so it does not wait. It still unlocks the mutex for a moment, so that a loop that ignores
 * the result lets other fibers in, and the condition can become true. */
static WEFT_COLD int cond_refuse(struct weft__fiber *me, struct weft_mutex *mutex, int err) {
    weft_mutex_unlock(mutex);
    weft__refused(me, err);
    weft_yield();
    int locked = weft_mutex_lock(mutex);
    return locked ? locked : err;
}

WEFT_PUBLIC WEFT_SWITCHES int weft_cond_wait_until(struct weft_cond *cond, struct weft_mutex *mutex,
                                                   uint64_t deadline) {
    if (!cond || !mutex) return -EINVAL;
    struct weft_queue *q = &cond->queue;
    struct weft_waiter waiter = {.fiber = weft__me()};
    if (!waiter.fiber) return -ENOMEM;
    if (load_rlx(weft__mutex_owner(mutex)) != weft__life(waiter.fiber)) return -EPERM;
    if (mutex->depth) return -EINVAL; /* a caller further up holds it, too, and relies on that */
    uint64_t word = weft__wait_queue_lock(q);
    int err = weft__wait_begin(waiter.fiber, WEFT_WAIT_BY_CANCEL, &waiter.ticket);
    if (!err) weft__wait_queue_append(q, &waiter, WEFT_ON_COND);
    weft__wait_queue_unlock(q, word);
    if (err) return cond_refuse(waiter.fiber, mutex, err);
    weft_mutex_unlock(mutex);
    err = weft__wait_block_for(waiter.fiber, waiter.ticket, deadline, weft__for(WEFT_ON_COND, cond));
    if (err) weft__wait_queue_leave(q, &waiter);
    int locked = weft_mutex_lock(mutex);
    return locked ? locked : err;
}

WEFT_PUBLIC int weft_cond_wait(struct weft_cond *cond, struct weft_mutex *mutex) {
    return weft_cond_wait_until(cond, mutex, WEFT_FOREVER);
}

WEFT_PUBLIC int weft_cond_signal(struct weft_cond *cond) {
    if (!cond) return -EINVAL;
    if (!load_acq(weft__wait_queue_word(&cond->queue)))
        return 0; /* no waiters; acquire pairs with their unlock. A caller that holds the mutex sees every waiter */
    uint64_t word = weft__wait_queue_lock(&cond->queue);
    struct weft__fiber *f = weft__wait_queue_win(&cond->queue);
    weft__wait_queue_unlock(&cond->queue, word);
    if (f) weft__make_ready(f);
    return 0;
}

WEFT_PUBLIC int weft_cond_broadcast(struct weft_cond *cond) {
    if (!cond) return -EINVAL;
    struct weft__list won = {NULL, NULL};
    uint64_t word = weft__wait_queue_lock(&cond->queue);
    for (struct weft__fiber *f; (f = weft__wait_queue_win(&cond->queue));) weft__list_put(&won, &f->slot.link);
    weft__wait_queue_unlock(&cond->queue, word);
    weft__make_all_ready(&won);
    return 0;
}
