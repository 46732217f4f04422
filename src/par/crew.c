/*
 * See crew.h.
 */
#include "par/crew.h"

#include "sync/queue.h"

void weft__crew_begin(struct weft__crew *crew, const char *name) {
    weft_scope_begin(&crew->scope, WEFT_FOREVER); /* of a fiber, and without a deadline: it does not fail */
    crew->name = name;
}

void weft__crew_work(struct weft__crew *crew, void (*fn)(void *), void *arg) {
    weft__par_in_scope((struct weft__scope *)(void *)&crew->scope, fn, arg);
}

int weft__crew_send(struct weft__crew *crew, void *(*fn)(void *), void *arg) {
    struct weft__fiber *f;
    int err = weft__par_fiber(&f, fn, arg, crew->name);
    if (unlikely(err)) return err;
    weft_counter_add(&crew->alive, 1);
    f->frames = (uintptr_t)&crew->alive; /* which it completes when it has ended */
    struct weft__worker *w = weft__self();
    weft__push(w, f);
    weft__notify(w);
    return 0;
}

static WEFT_SWITCHES void wait_for_all(struct weft__crew *crew) {
    struct weft_queue *q = &crew->alive.queue;
    struct weft_waiter waiter;
    waiter.fiber = weft__me();
    waiter.at_most = 0;
    uint64_t w = weft__queue_lock(q);
    if (w >> 2)
        weft__queue_wait(q, w, &waiter, 0, WEFT_FOREVER); /* no way to cancel it */
    else
        weft__queue_unlock(q, w);
}

void weft__crew_end(struct weft__crew *crew) {
    wait_for_all(crew);
    weft_scope_end(&crew->scope);
}
