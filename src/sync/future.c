/* SPDX-License-Identifier: MIT */
/*
 * Futures. Completing a future without waiters takes a compare-and-swap, two stores of value and error, and a store. It
 * does not need the caller's identity, allocates nothing and takes no other lock, so a worker's poll loop may do it.
 */
#include "sync/future.h"

static int future_complete(struct weft_future *f, void *value, int error) {
    struct weft__list won = {NULL, NULL};
    struct weft_queue *q = &f->queue;
    if (weft__future_is_done(f)) return -EALREADY;
    uint64_t word = weft__wait_queue_lock(q);
    if (unlikely(word >= WEFT_FUTURE_DONE)) {
        weft__wait_queue_unlock(q, word);
        return -EALREADY;
    }
    f->value = value;
    f->error = error;
    for (struct weft__party *p; (p = weft__chan_win(&q->first));) {
        p->result = error;
        weft__list_put(&won, &p->waiter.fiber->slot.link);
    }
    weft__wait_queue_unlock(q, WEFT_FUTURE_DONE); /* the future is not touched after this */
    weft__make_all_ready(&won);
    return 0;
}

WEFT_PUBLIC int weft_future_set(struct weft_future *future, void *value) {
    return future ? future_complete(future, value, 0) : -EINVAL;
}

WEFT_PUBLIC int weft_future_fail(struct weft_future *future, int error) {
    return future && error < 0 ? future_complete(future, NULL, error) : -EINVAL;
}

static WEFT_SWITCHES int wait_until_done(struct weft_future *f, void **value, uint64_t deadline) {
    struct weft__party p;
    p.waiter.fiber = weft__me();
    if (unlikely(!p.waiter.fiber)) return -ENOMEM;
    int err = 0;
    uint64_t word = weft__wait_queue_lock(&f->queue);
    if (unlikely(word >= WEFT_FUTURE_DONE))
        weft__wait_queue_unlock(&f->queue, word);
    else
        err = weft__wait_queue_wait(&f->queue, word, &p.waiter, WEFT_ON_FUTURE, WEFT_WAIT_BY_CANCEL, deadline);
    return err ? err : weft__future_result(f, value);
}

WEFT_PUBLIC int weft_future_wait_until(struct weft_future *future, void **value, uint64_t deadline) {
    if (unlikely(!future)) return -EINVAL;
    return weft__future_is_done(future) ? weft__future_result(future, value) : wait_until_done(future, value, deadline);
}

WEFT_PUBLIC int weft_future_wait(struct weft_future *future, void **value) {
    return weft_future_wait_until(future, value, WEFT_FOREVER);
}

WEFT_PUBLIC int weft_future_try(struct weft_future *future, void **value) {
    if (!future) return -EINVAL;
    return weft__future_is_done(future) ? weft__future_result(future, value) : -EAGAIN;
}

/* --- several ---------------------------------------------------------------------------------- */

/* All must complete, so the order does not matter: wait for each in turn. */
WEFT_PUBLIC int weft_future_all_until(struct weft_future *const *futures, unsigned n, uint64_t deadline) {
    int first = 0;
    if (!futures && n) return -EINVAL;
    for (unsigned i = 0; i < n; i++)
        if (!futures[i]) return -EINVAL;
    for (unsigned i = 0; i < n; i++) {
        int err = weft_future_wait_until(futures[i], NULL, deadline);
        if (err && !weft__future_is_done(futures[i])) return err; /* an error of the wait: deadline, cancellation */
        if (!first) first = err;
    }
    return first;
}

WEFT_PUBLIC int weft_future_all(struct weft_future *const *futures, unsigned n) {
    return weft_future_all_until(futures, n, WEFT_FOREVER);
}

WEFT_PUBLIC int weft_future_any_until(struct weft_future *const *futures, unsigned n, uint64_t deadline) {
    enum { FEW = 16 };
    struct weft_case few[FEW], *cases = few;
    if ((!futures && n) || n > INT32_MAX) return -EINVAL;
    if (n > FEW && !(cases = weft__alloc(n * sizeof *cases))) return -ENOMEM;
    for (unsigned i = 0; i < n; i++) cases[i] = (struct weft_case)WEFT_CASE_FUTURE(futures[i], NULL);
    int which = weft_case_select_until(cases, n, deadline);
    if (cases != few) weft__free(cases);
    return which;
}

WEFT_PUBLIC int weft_future_any(struct weft_future *const *futures, unsigned n) {
    return weft_future_any_until(futures, n, WEFT_FOREVER);
}
