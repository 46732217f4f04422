/* SPDX-License-Identifier: MIT */
/*
 * Children of a scope: how a child is spawned and counted. See wait/scope.c.
 */
#include "sched/life/own_tls_spawn.h"
#include "sched/wait/cancel.h"

#include "base/struct_size.h"

/*
 * Counts one more child. A scope begins with a reserve: a large number of children that are counted in advance. The
 * fiber that began the scope takes children from the reserve, and gives back the rest at the end. So a spawn does not
 * touch the counter's cache line, which the children write when they end, mostly on other workers.
 */
static inline void count_child(struct weft__scope *s) {
    struct weft__worker *w = weft__self();
    if (likely(w && load_rlx(&w->current) == s->region.fiber && s->reserve))
        s->reserve--;
    else
        weft__scope_count_foreign(s);
}

/* Spawns a child with attributes: they may come from another version of the header, or name a counter. */
static WEFT_COLD int spawn_with(struct weft__scope *s, const struct weft_attr *attr, int (*fn)(void *), void *arg,
                                const char *where, size_t size) {
    struct weft_attr own;
    int err = weft__struct_read(&own, sizeof own, attr, size);
    if (err) return err;
    if (own.background) return -EINVAL;
    if (own.own_tls && !own.counter) return weft__own_tls_spawn_child(s, &own, fn, arg, where);
    return own.counter ? weft__spawn_counted_child(s, &own, fn, arg, where)
                       : weft__spawn_child(s, &own, fn, arg, where);
}

WEFT_PUBLIC int weft__scope_spawn(struct weft_scope *scope, const struct weft_attr *attr, int (*fn)(void *), void *arg,
                                  const char *where, size_t size) {
    struct weft__scope *s = weft__scope_inside(scope);
    if (unlikely(!scope || !fn || !s->region.fiber)) return -EINVAL;
    if (unlikely(load_rlx(&s->cause))) return -ECANCELED;
    count_child(s);
    int err =
        unlikely(attr != NULL) ? spawn_with(s, attr, fn, arg, where, size) : weft__spawn_child(s, NULL, fn, arg, where);
    if (unlikely(err)) weft_counter_complete(&s->outstanding);
    return err;
}
