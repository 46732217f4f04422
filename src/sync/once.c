/* SPDX-License-Identifier: MIT */
/*
 * Once: the value says whether the function has to run, runs, or has run. The first caller runs it, the others wait. If
 * it fails, the first waiter is woken and tries, unless a new caller has started meanwhile.
 */
#include "sched/wait/wait_queue.h"

#define WEFT_ONCE_RUNS WEFT_QUEUE_ONE
#define WEFT_ONCE_DONE (2 * WEFT_QUEUE_ONE)

/* The fiber or thread that runs the function (weft__life), or 0. */
static inline _Atomic uint64_t *runner_of(struct weft_once *o) { return (_Atomic uint64_t *)(void *)&o->runner; }

struct attempt {
    struct weft_once *once;
    int result;
};

/* Records the outcome. This also runs when an exception leaves fn or the thread ends in fn, which counts as a failure.
 */
static void end_attempt(struct attempt *attempt) {
    struct weft_queue *q = &attempt->once->queue;
    struct weft__list won = {NULL, NULL};
    store_rlx(runner_of(attempt->once), 0);
    weft__wait_queue_lock(q);
    for (struct weft__fiber *f; (f = weft__wait_queue_win(q));) {
        weft__list_put(&won, &f->slot.link);
        if (attempt->result) break;
    }
    weft__wait_queue_unlock(q,
                            attempt->result ? 0 : WEFT_ONCE_DONE); /* pairs with weft_once_run_until of later callers */
    weft__make_all_ready(&won);
}

static int once_run(struct weft_once *once, struct weft__fiber *me, int (*fn)(void *), void *arg) {
    __attribute__((cleanup(end_attempt))) struct attempt attempt = {once, -ECANCELED};
    store_rlx(runner_of(once), weft__life(me));
    attempt.result = fn(arg);
    return attempt.result;
}

static WEFT_SWITCHES int run_or_wait(struct weft_once *once, int (*fn)(void *), void *arg, uint64_t deadline) {
    struct weft_waiter waiter;
    waiter.fiber = weft__me();
    if (!waiter.fiber) return -ENOMEM;
    if (load_rlx(runner_of(once)) == weft__life(waiter.fiber))
        return -EDEADLK; /* only the caller can have written this runner */
    for (;;) {
        uint64_t w = weft__wait_queue_lock(&once->queue);
        if (w >= WEFT_ONCE_RUNS && w < WEFT_ONCE_DONE) {
            int err = weft__wait_queue_wait(&once->queue, w, &waiter, WEFT_ON_ONCE, WEFT_WAIT_BY_CANCEL, deadline);
            if (err) return err;
            continue;
        }
        weft__wait_queue_unlock(&once->queue, w < WEFT_ONCE_RUNS ? WEFT_ONCE_RUNS : w);
        return w < WEFT_ONCE_RUNS ? once_run(once, waiter.fiber, fn, arg) : 0;
    }
}

WEFT_PUBLIC int weft_once_run_until(struct weft_once *once, int (*fn)(void *), void *arg, uint64_t deadline) {
    if (unlikely(!once || !fn)) return -EINVAL;
    if (likely(load_acq(weft__wait_queue_word(&once->queue)) == WEFT_ONCE_DONE)) return 0; /* pairs with end_attempt */
    return run_or_wait(once, fn, arg, deadline);
}

WEFT_PUBLIC int weft_once_run(struct weft_once *once, int (*fn)(void *), void *arg) {
    return weft_once_run_until(once, fn, arg, WEFT_FOREVER);
}
