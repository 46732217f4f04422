/*
 * Values for each worker. All that were made stand in a chain until they are cleared. One that nobody has taken
 * lies in the place of the worker that put it back, or, if another lies there, in a heap of all.
 *
 *   take   swaps the worker's place for nothing; if it was empty, looks into the heap; makes one if that is
 *          empty, too. So there are never more values than takers at one time, and one for each worker.
 *   put    leaves the value in the worker's place if that is empty, else on the heap.
 *
 * Taking is exclusive, so it does no harm when a fiber parks in between and goes on on another worker; that a
 * value belongs to a worker is only a matter of caches.
 */
#include "par/par.h"

#include <string.h>

#define WEFT_PLACES 64 /* workers that have the same number modulo this share one */

struct value {
    struct value *next;   /* in the chain of all */
    struct value *behind; /* on the heap */
    max_align_t data[];
};

struct table {
    struct {
        _Atomic(struct value *) value;
    } WEFT_ALIGNED place[WEFT_PLACES];
    struct weft__lock lock WEFT_ALIGNED;
    struct value *all, *heap;
    size_t count;
};

static _Atomic(struct table *) *table_of(struct weft_combinable *c) { return (_Atomic(struct table *) *)&c->opaque; }

static unsigned place_here(void) {
    struct weft__worker *w = weft__self();
    return w ? w->index % WEFT_PLACES : WEFT_PLACES - 1;
}

/* The first of those who come at once makes it. */
static WEFT_COLD struct table *make_table(struct weft_combinable *c) {
    struct table *none = NULL, *t = weft__alloc_aligned(WEFT_APART, sizeof *t);
    if (!t || cas_ar(table_of(c), &none, t)) return t; /* pairs with take */
    weft__free(t);
    return none;
}

static WEFT_COLD struct value *make_value(struct weft_combinable *c, struct table *t) {
    size_t bytes = sizeof(struct value) + c->size;
    struct value *v = bytes > c->size && bytes < SIZE_MAX / 2 ? weft__alloc_aligned(WEFT_APART, bytes) : NULL;
    if (!v) return NULL;
    if (c->identity) memcpy(v->data, c->identity, c->size);
    weft__lock(&t->lock);
    v->next = t->all;
    t->all = v;
    t->count++;
    weft__unlock(&t->lock);
    return v;
}

static struct value *take_from_heap(struct table *t) {
    weft__lock(&t->lock);
    struct value *v = t->heap;
    if (v) t->heap = v->behind;
    weft__unlock(&t->lock);
    return v;
}

WEFT_PUBLIC void *weft_combinable_take(struct weft_combinable *combinable) {
    if (!combinable || !combinable->size) return NULL;
    struct table *t = load_acq(table_of(combinable)); /* pairs with make_table */
    if (unlikely(!t) && !(t = make_table(combinable))) return NULL;
    struct value *v = xchg_ar(&t->place[place_here()].value, NULL); /* pairs with put */
    if (unlikely(!v)) v = take_from_heap(t);
    if (unlikely(!v)) v = make_value(combinable, t);
    return v ? v->data : NULL;
}

WEFT_PUBLIC int weft_combinable_put(struct weft_combinable *combinable, void *value) {
    struct table *t = combinable ? load_acq(table_of(combinable)) : NULL; /* pairs with make_table */
    if (!t || !value) return -EINVAL;
    struct value *v = container_of(value, struct value, data), *none = NULL;
    if (likely(cas_ar(&t->place[place_here()].value, &none, v))) return 0; /* pairs with take */
    weft__lock(&t->lock);
    v->behind = t->heap;
    t->heap = v;
    weft__unlock(&t->lock);
    return 0;
}

/* Are all values there? */
static bool all_there(struct table *t) {
    size_t there = 0;
    for (unsigned i = 0; i < WEFT_PLACES; i++) there += load_acq(&t->place[i].value) != NULL; /* pairs with put */
    weft__lock(&t->lock);
    for (struct value *v = t->heap; v; v = v->behind) there++;
    bool all = there == t->count;
    weft__unlock(&t->lock);
    return all;
}

WEFT_PUBLIC int weft_combinable_each(struct weft_combinable *combinable, void *result,
                                     void (*combine)(void *left, const void *right, void *arg), void *arg) {
    if (!combinable || !combine) return -EINVAL;
    struct table *t = load_acq(table_of(combinable)); /* pairs with make_table */
    if (!t) return 0;
    if (!all_there(t)) return -EBUSY;
    for (struct value *v = t->all; v; v = v->next) combine(result, v->data, arg);
    return 0;
}

WEFT_PUBLIC int weft_combinable_clear(struct weft_combinable *combinable) {
    if (!combinable) return -EINVAL;
    struct table *t = load_acq(table_of(combinable)); /* pairs with make_table */
    if (!t) return 0;
    if (!all_there(t)) return -EBUSY;
    for (struct value *v = t->all, *next; v; v = next) {
        next = v->next;
        weft__free(v);
    }
    weft__free(t);
    combinable->opaque = NULL;
    return 0;
}
