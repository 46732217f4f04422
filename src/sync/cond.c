/*
 * Condition variables: a chain and no value. The waiter is in the chain before the mutex is given
 * back, so a signal after that finds it.
 */
#include "sync/mutex.h"

WEFT_PUBLIC WEFT_SWITCHES int weft_cond_wait_until(struct weft_cond *cond, struct weft_mutex *mutex, uint64_t deadline) {
    if (!cond || !mutex) return -EINVAL;
    struct weft_queue *q = &cond->queue;
    struct weft_waiter waiter = {.fiber = weft__me()};
    if (!waiter.fiber) return -ENOMEM;
    if (load_rlx(weft__mutex_owner(mutex)) != weft__life(waiter.fiber)) return -EPERM;
    if (mutex->depth) return -EINVAL; /* somebody further up holds it, too, and relies on that */
    uint64_t word = weft__queue_lock(q);
    int err = weft__wait_begin(waiter.fiber, WEFT_WAIT_BY_CANCEL, &waiter.ticket);
    if (!err) weft__queue_append(q, &waiter);
    weft__queue_unlock(q, word);
    if (err) return err; /* still held: there was nothing to wait for */
    weft_mutex_unlock(mutex);
    err = weft__wait_block(waiter.fiber, waiter.ticket, deadline);
    if (err) weft__queue_leave(q, &waiter);
    int locked = weft__mutex_relock(mutex);
    return locked ? locked : err;
}

WEFT_PUBLIC int weft_cond_wait(struct weft_cond *cond, struct weft_mutex *mutex) {
    return weft_cond_wait_until(cond, mutex, WEFT_FOREVER);
}

WEFT_PUBLIC int weft_cond_signal(struct weft_cond *cond) {
    if (!cond) return -EINVAL;
    if (!load_acq(weft__queue_word(&cond->queue))) return 0; /* nobody waits; whoever holds the mutex knows */
    uint64_t word = weft__queue_lock(&cond->queue);
    struct weft__fiber *f = weft__queue_win(&cond->queue);
    weft__queue_unlock(&cond->queue, word);
    if (f) weft__make_ready(f);
    return 0;
}

WEFT_PUBLIC int weft_cond_broadcast(struct weft_cond *cond) {
    if (!cond) return -EINVAL;
    struct weft__list won = {NULL, NULL};
    uint64_t word = weft__queue_lock(&cond->queue);
    for (struct weft__fiber *f; (f = weft__queue_win(&cond->queue));) weft__list_put(&won, &f->slot.link);
    weft__queue_unlock(&cond->queue, word);
    weft__make_all_ready(&won);
    return 0;
}
