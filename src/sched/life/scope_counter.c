/* SPDX-License-Identifier: MIT */
/*
 * Children of a scope with a counter of their own. A record has room for one counter, which is that of the scope
 * (cancel.h). So a clean-up handler around the child's function completes the second counter.
 */
#include "sched/life/own_tls_spawn.h"
#include "sched/wait/cancel.h"

#include "base/sys.h"

struct call {
    int (*fn)(void *);
    void *arg;
    struct weft_counter *counter;
    struct weft_cleanup cleanup;
};

static void scope_counter_complete(void *call) {
    struct weft_counter *counter = ((struct call *)call)->counter;
    weft__free(call);
    weft_counter_complete(counter);
}

static int counted_child_main(void *arg) {
    struct call *c = arg;
    int (*fn)(void *) = c->fn;
    weft_cleanup_push(&c->cleanup, scope_counter_complete, c);
    int result = fn(c->arg);
    weft_cleanup_pop(&c->cleanup, true);
    return result;
}

int weft__spawn_counted_child(struct weft__scope *s, const struct weft_attr *attr, int (*fn)(void *), void *arg,
                              const char *where) {
    struct weft_attr plain = *attr;
    struct call *c = weft__alloc(sizeof *c);
    if (!c) return -ENOMEM;
    *c = (struct call){.fn = fn, .arg = arg, .counter = attr->counter};
    plain.counter = NULL;
    int err = plain.own_tls ? weft__own_tls_spawn_child(s, &plain, counted_child_main, c, where)
                            : weft__spawn_child(s, &plain, counted_child_main, c, where);
    if (err) weft__free(c);
    return err;
}
