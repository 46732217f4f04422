/* SPDX-License-Identifier: MIT */
/*
 * Values for each worker. A list holds all values until they are cleared. A value that is not taken is in the slot of
 * the worker that put it back, or, if that slot is in use, on the heap, a shared list.
 *
 *   take   swaps the worker's slot with NULL; if it was empty, takes from the heap; makes a value if the heap is
 *          empty, too. So there are at most as many values as concurrent takers, plus one for each worker.
 *   put    leaves the value in the worker's slot if that is empty, else on the heap.
 *
 * Taking is exclusive, so a fiber may park in between and continue on another worker. That a value belongs to a worker
 * only helps the caches.
 */
#include "par/par.h"

#include <string.h>

#define WEFT_COMBINABLE_SLOTS 64 /* workers with the same index modulo this share a slot */

struct value {
    struct value *next;   /* in the list of all values */
    struct value *behind; /* on the heap */
    max_align_t data[];
};

struct table {
    struct {
        _Atomic(struct value *) value;
    } WEFT_ALIGNED slot[WEFT_COMBINABLE_SLOTS];
    struct weft__lock lock WEFT_ALIGNED;
    struct value *all, *heap;
    size_t count;
};

static _Atomic(struct table *) *table_of(struct weft_combinable *c) { return (_Atomic(struct table *) *)&c->opaque; }

static unsigned slot_here(void) {
    struct weft__worker *w = weft__self();
    return w ? w->index % WEFT_COMBINABLE_SLOTS : WEFT_COMBINABLE_SLOTS - 1;
}

/* Makes the table. If several callers do so at the same time, the first wins, and the others use its table. */
static WEFT_COLD struct table *make_table(struct weft_combinable *c) {
    struct table *none = NULL, *t = weft__alloc_aligned(WEFT_APART, sizeof *t);
    if (!t || cas_ar(table_of(c), &none, t)) return t; /* pairs with weft_combinable_take */
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
    struct value *v = xchg_ar(&t->slot[slot_here()].value, NULL); /* pairs with weft_combinable_put */
    if (unlikely(!v)) v = take_from_heap(t);
    if (unlikely(!v)) v = make_value(combinable, t);
    return v ? v->data : NULL;
}

WEFT_PUBLIC int weft_combinable_put(struct weft_combinable *combinable, void *value) {
    struct table *t = combinable ? load_acq(table_of(combinable)) : NULL; /* pairs with make_table */
    if (!t || !value) return -EINVAL;
    struct value *v = container_of(value, struct value, data), *none = NULL;
    if (likely(cas_ar(&t->slot[slot_here()].value, &none, v))) return 0; /* pairs with weft_combinable_take */
    weft__lock(&t->lock);
    v->behind = t->heap;
    t->heap = v;
    weft__unlock(&t->lock);
    return 0;
}

/* Are all values put back? */
static bool all_there(struct table *t) {
    size_t there = 0;
    for (unsigned i = 0; i < WEFT_COMBINABLE_SLOTS; i++)
        there += load_acq(&t->slot[i].value) != NULL; /* pairs with weft_combinable_put */
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
