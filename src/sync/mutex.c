/*
 * Mutexes. The value is 1 while somebody holds it. An unlock with waiters hands the mutex to the
 * first of them: the value stays 1, so nobody can come in between.
 */
#include "sync/queue.h"

static _Atomic(void *) *owner_of(struct weft_mutex *m) { return (_Atomic(void *) *)(void *)&m->owner; }

static inline bool take(struct weft_mutex *m, struct weft__fiber *me) {
    uint64_t free = 0;
    if (unlikely(!cas_ar(weft__queue_word(&m->queue), &free, WEFT_QUEUE_ONE))) return false; /* pairs with unlock */
    store_rlx(owner_of(m), me);
    return true;
}

static WEFT_SWITCHES int wait_for_it(struct weft_mutex *m, struct weft__fiber *me, uint64_t ways, uint64_t deadline) {
    if (load_rlx(owner_of(m)) == me) return -EDEADLK; /* only the caller itself could have written that */
    struct weft_waiter waiter;
    waiter.fiber = me;
    uint64_t word = weft__queue_lock(&m->queue);
    int err = 0;
    if (word >= WEFT_QUEUE_ONE)
        err = weft__queue_wait(&m->queue, word, &waiter, ways, deadline);
    else
        weft__queue_unlock(&m->queue, WEFT_QUEUE_ONE);
    if (!err) store_rlx(owner_of(m), me);
    return err;
}

static inline int lock(struct weft_mutex *m, uint64_t ways, uint64_t deadline) {
    struct weft__fiber *me = weft__me();
    if (unlikely(!me)) return -ENOMEM;
    return likely(take(m, me)) ? 0 : wait_for_it(m, me, ways, deadline);
}

WEFT_PUBLIC int weft_mutex_lock_until(struct weft_mutex *mutex, uint64_t deadline) {
    return mutex ? lock(mutex, WEFT_WAIT_BY_CANCEL, deadline) : -EINVAL;
}

WEFT_PUBLIC int weft_mutex_lock(struct weft_mutex *mutex) { return weft_mutex_lock_until(mutex, WEFT_FOREVER); }

WEFT_PUBLIC int weft_mutex_try(struct weft_mutex *mutex) {
    if (!mutex) return -EINVAL;
    struct weft__fiber *me = weft__me();
    if (!me) return -ENOMEM;
    return take(mutex, me) ? 0 : -EBUSY;
}

WEFT_PUBLIC int weft_mutex_unlock(struct weft_mutex *mutex) {
    if (unlikely(!mutex)) return -EINVAL;
    struct weft__fiber *me = weft__me();
    if (unlikely(!me || load_rlx(owner_of(mutex)) != me)) return -EPERM;
    store_rlx(owner_of(mutex), NULL);
    uint64_t held = WEFT_QUEUE_ONE;
    if (likely(cas_ar(weft__queue_word(&mutex->queue), &held, 0))) return 0; /* pairs with take */
    weft__queue_foresee(&mutex->queue);
    weft__queue_lock(&mutex->queue);
    struct weft__fiber *next = weft__queue_win(&mutex->queue);
    weft__queue_unlock(&mutex->queue, next ? WEFT_QUEUE_ONE : 0);
    if (next) weft__make_ready(next);
    return 0;
}

/* The re-lock of a condition variable: it always completes. */
int weft__mutex_relock(struct weft_mutex *mutex);
int weft__mutex_relock(struct weft_mutex *mutex) { return lock(mutex, 0, WEFT_FOREVER); }
