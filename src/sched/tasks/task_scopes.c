/* SPDX-License-Identifier: MIT */
/*
 * Scopes of calls: a stolen call is cancelled with the scope in which it was forked or, outside of any scope, with the
 * fiber that forked it (cancel_root.c).
 *
 * A fork does not write down its scope. Instead the deque has marks: when a scope begins or ends, a mark records the
 * scope and the first slot that belongs to it. A join may free slots below the last mark. The next fork in such a slot
 * belongs to the present scope. So such a join takes the slow path, and moves the marks down to the head.
 */
#include "sched/dispatch/forking.h"
#include "sched/life/spawn.h"
#include "sched/tasks/deques.h"
#include "sched/wait/cancel.h"

#include "base/message.h"

static WEFT_COLD _Noreturn void left_behind(struct weft__deque *d) {
    struct weft__text text;
    weft__die("%s ended a scope or shield, or a graph, pipeline or loop that it runs, before it had joined what it "
              "forked there",
              weft__describe(d->owner, &text));
}

static struct weft__deque_mark *innermost_mark(struct weft__deque *d) {
    return &d->mark[d->marks < WEFT_DEQUE_MARKS ? d->marks : WEFT_DEQUE_MARKS - 1];
}

void weft__tasks_mark_region(struct weft__deque *d, bool begun) {
    uint32_t head = weft__deque_index(d, d->in.head);
    weft__lock(&d->lock); /* against thieves that read the marks */
    if (begun) {
        if (++d->marks < WEFT_DEQUE_MARKS) d->mark[d->marks] = (struct weft__deque_mark){head, weft__fork_scope()};
        weft__deque_set_floor(d, innermost_mark(d)->index);
    } else {
        uint32_t since = d->marks < WEFT_DEQUE_MARKS ? d->mark[d->marks].index : 0;
        if (d->marks < WEFT_DEQUE_MARKS && head > since) left_behind(d);
        if (d->marks)
            d->marks--;
        else
            d->mark[0].what = weft__fork_scope();
        weft__deque_set_floor(d, innermost_mark(d)->index);
    }
    weft__unlock(&d->lock);
}

void weft__tasks_based(struct weft__deque *d) {
    weft__lock(&d->lock); /* as above */
    weft__deque_set_floor(d, innermost_mark(d)->index);
    weft__unlock(&d->lock);
}

/* Moves the marks above the head down to it: slots at the head and above are free, and calls below keep their marks. */
WEFT_COLD void weft__tasks_sank(struct weft__deque *d) {
    uint32_t head = weft__deque_index(d, d->in.head);
    weft__lock(&d->lock); /* as above */
    for (struct weft__deque_mark *m = innermost_mark(d); m > d->mark && m->index > head; m--) m->index = head;
    weft__deque_set_floor(d, head);
    weft__unlock(&d->lock);
}

struct weft__scope *weft__tasks_scope_of(struct weft__deque *d, const struct weft_call *c) {
    uint32_t index = weft__deque_index(d, c);
    weft__lock(&d->lock);
    const struct weft__deque_mark *m = innermost_mark(d);
    while (m > d->mark && m->index > index) m--;
    void *what = m->what;
    weft__unlock(&d->lock);
    return weft__call_scope(d, what);
}

WEFT_COLD _Noreturn void weft__tasks_escaped(const char *what) {
    struct weft__text text;
    weft__die("an exception left a function that was called by %s in %s", what, weft__describe_caller(&text));
}
