/* SPDX-License-Identifier: MIT */
/* What the files of this area share: a worker's cache of deques, and the scopes of calls. */
#ifndef WEFT_SCHED_TASKS_DEQUES_H
#define WEFT_SCHED_TASKS_DEQUES_H

#include "base/assert.h"
#include "sched/tasks/tasks.h"

#define WEFT_DEQUES_CACHED 4

/* Makes sure that the worker has a deque in its cache, so that taking it cannot fail. False: no memory. */
static inline bool weft__tasks_have_deque(struct weft__worker *w) {
    if (likely(w->tasks.deques != NULL)) return true;
    if (!(w->tasks.deques = weft__deque_get(w->cluster->tasks.variant))) return false;
    w->tasks.deques->next = NULL;
    w->tasks.count = 1;
    return true;
}

static inline struct weft__deque *weft__tasks_take_deque(struct weft__worker *w) {
    WEFT_ASSERT(w->tasks.deques != NULL && w->tasks.count > 0);
    WEFT_ASSERT(weft__self() == w);
    struct weft__deque *d = w->tasks.deques;
    w->tasks.deques = d->next;
    w->tasks.count--;
    return d;
}

static inline void weft__tasks_put_deque(struct weft__worker *w, struct weft__deque *d) {
    WEFT_ASSERT(weft__deque_is_empty(d));
    if (d->variant->reset) d->variant->reset(d);
    if (w->tasks.count >= WEFT_DEQUES_CACHED || d->variant != w->cluster->tasks.variant) {
        weft__deque_put(d);
        return;
    }
    d->next = w->tasks.deques;
    w->tasks.deques = d;
    w->tasks.count++;
}

/* Called when a scope or shield of the deque's fiber has begun or ended. (task_scopes.c) */
void weft__tasks_mark_region(struct weft__deque *d, bool begun);
/* The scope whose cancellation cancels a call that we have taken; NULL: there is none. (task_scopes.c) */
struct weft__scope *weft__tasks_scope_of(struct weft__deque *d, const struct weft_call *c);
/* Could the calling worker, whose fiber waits in a join, do anything else at the moment? (tasks.c) */
bool weft__tasks_has_other_work(struct weft__worker *w);

#endif
