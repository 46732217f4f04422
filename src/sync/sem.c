/* SPDX-License-Identifier: MIT */
/*
 * Counting semaphores. While there are waiters the value is 0: a post goes to the first in the chain.
 */
#include "sched/wait/wait_queue.h"

/* Takes a unit without waiting. False: there is none, or the lock is needed to know. */
static inline bool sem_take(_Atomic uint64_t *word) {
    uint64_t w = load_rlx(word);
    while (w >= WEFT_QUEUE_ONE && !(w & WEFT_QUEUE_BUSY))
        if (likely(cas_ar(word, &w, w - WEFT_QUEUE_ONE))) return true; /* pairs with weft_sem_post */
    return false;
}

WEFT_PUBLIC int weft_sem_init(struct weft_sem *sem, uint64_t value) {
    if (!sem || value > WEFT_QUEUE_MAX) return -EINVAL;
    *sem = (struct weft_sem)WEFT_SEM_INIT(value);
    return 0;
}

static WEFT_SWITCHES int sem_wait_for_unit(struct weft_sem *sem, uint64_t deadline) {
    struct weft_waiter waiter;
    waiter.fiber = weft__me();
    if (unlikely(!waiter.fiber)) return -ENOMEM;
    uint64_t word = weft__wait_queue_lock(&sem->queue);
    if (unlikely(word >= WEFT_QUEUE_ONE)) {
        weft__wait_queue_unlock(&sem->queue, word - WEFT_QUEUE_ONE);
        return 0;
    }
    return weft__wait_queue_wait(&sem->queue, word, &waiter, WEFT_ON_SEM, WEFT_WAIT_BY_CANCEL, deadline);
}

WEFT_PUBLIC int weft_sem_wait_until(struct weft_sem *sem, uint64_t deadline) {
    if (unlikely(!sem)) return -EINVAL;
    return sem_take(weft__wait_queue_word(&sem->queue)) ? 0 : sem_wait_for_unit(sem, deadline);
}

WEFT_PUBLIC int weft_sem_wait(struct weft_sem *sem) {
    if (unlikely(!sem)) return -EINVAL;
    return sem_take(weft__wait_queue_word(&sem->queue)) ? 0 : sem_wait_for_unit(sem, WEFT_FOREVER);
}

WEFT_PUBLIC int weft_sem_try(struct weft_sem *sem) {
    if (!sem) return -EINVAL;
    if (sem_take(weft__wait_queue_word(&sem->queue))) return 0;
    uint64_t word = weft__wait_queue_lock(&sem->queue);
    bool taken = word >= WEFT_QUEUE_ONE;
    weft__wait_queue_unlock(&sem->queue, taken ? word - WEFT_QUEUE_ONE : word);
    return taken ? 0 : -EAGAIN;
}

WEFT_PUBLIC int weft_sem_post(struct weft_sem *sem) {
    if (unlikely(!sem)) return -EINVAL;
    _Atomic uint64_t *word = weft__wait_queue_word(&sem->queue);
    uint64_t w = load_rlx(word);
    while (!(w & WEFT_QUEUE_BUSY)) {
        if (unlikely(w >> 2 >= WEFT_QUEUE_MAX)) return -EOVERFLOW;
        if (likely(cas_ar(word, &w, w + WEFT_QUEUE_ONE))) return 0; /* pairs with sem_take */
    }
    weft__wait_queue_prefetch(&sem->queue);
    w = weft__wait_queue_lock_from(&sem->queue, w);
    struct weft__fiber *f = weft__wait_queue_win(&sem->queue);
    weft__wait_queue_unlock(&sem->queue, f ? w : w + WEFT_QUEUE_ONE);
    if (f) {
        weft__wait_queue_prefetch_stack(f);
        weft__make_ready(f);
    }
    return 0;
}
