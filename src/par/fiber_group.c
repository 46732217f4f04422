/* SPDX-License-Identifier: MIT */
/*
 * See fiber_group.h.
 */
#include "par/fiber_group.h"

#include "sched/wait/wait_queue.h"

void weft__fiber_group_begin(struct weft__fiber_group *crew, const char *name) {
    weft_scope_begin(&crew->scope, WEFT_FOREVER); /* does not fail in a fiber without a deadline */
    crew->name = name;
}

void weft__fiber_group_run(struct weft__fiber_group *crew, void (*fn)(void *), void *arg) {
    weft__par_run_in_scope((struct weft__scope *)(void *)&crew->scope, fn, arg);
}

int weft__fiber_group_spawn(struct weft__fiber_group *crew, void *(*fn)(void *), void *arg) {
    struct weft__fiber *f;
    int err = weft__par_create_fiber(&f, fn, arg, crew->name);
    if (unlikely(err)) return err;
    weft_counter_add(&crew->alive, 1);
    f->frames = (uintptr_t)&crew->alive; /* completed when the fiber has ended */
    struct weft__worker *w = weft__self();
    weft__push(w, f);
    weft__notify(w);
    return 0;
}

static WEFT_SWITCHES void wait_for_all(struct weft__fiber_group *crew) {
    struct weft_queue *q = &crew->alive.queue;
    struct weft_waiter waiter;
    waiter.fiber = weft__me();
    waiter.at_most = 0;
    uint64_t w = weft__wait_queue_lock(q);
    if (w >> 2)
        weft__wait_queue_wait(q, w, &waiter, WEFT_ON_FIBER_GROUP, 0, WEFT_FOREVER); /* uncancellable */
    else
        weft__wait_queue_unlock(q, w);
}

void weft__fiber_group_end(struct weft__fiber_group *crew) {
    wait_for_all(crew);
    weft_scope_end(&crew->scope);
}
