/* SPDX-License-Identifier: MIT */
/*
 * Functions of the area tasks that lower areas call for a fiber with forked calls. The area tasks sets these pointers
 * before main. Only fibers with forked calls have a deque, so a caller that sees a deque may call them.
 */
#ifndef WEFT_SCHED_FORKING_H
#define WEFT_SCHED_FORKING_H

#include "sched/core/self.h"

struct weft__region;

struct weft__forking {
    /* The running fiber gives its worker away. Meanwhile thieves may take its forked calls. Returns like weft__suspend,
     * with the worker on which the fiber continues. */
    struct weft__worker *(*suspend)(struct weft__worker *w, struct weft__fiber *self);
    /* The running fiber ends. */
    void (*end)(struct weft__worker *w, struct weft__fiber *f);
    /* The running fiber has begun, or ended, a scope or a shield. */
    void (*region)(struct weft__deque *d, bool begun);
    /* The running fiber is a child of a fork (continuation.c), and waits for the first time: returns the region that
     * cancels it. */
    struct weft__region *(*child_member)(struct weft__fiber *me);
};
extern struct weft__forking weft__forking;

static inline void weft__forking_region(bool begun) {
    struct weft__worker *w = weft__self();
    struct weft__deque *d = w ? load_rlx(&w->calls.deque) : NULL;
    if (unlikely(d != NULL)) weft__forking.region(d, begun);
}

#endif
