/* SPDX-License-Identifier: MIT */
/*
 * Lists through a link inside the item: a plain FIFO for one owner, and a mailbox into which any thread may put items.
 * Neither allocates. An item is in one list at a time.
 */
#ifndef WEFT_QUEUE_LIST_H
#define WEFT_QUEUE_LIST_H

#include "base/assert.h"
#include "base/atomic.h"
#include "base/base.h"

struct weft__link {
    struct weft__link *next;
};

/* A FIFO. Its owner, or a lock, excludes other threads. */
struct weft__list {
    struct weft__link *first, *last;
};

static inline void weft__list_put(struct weft__list *l, struct weft__link *item) {
    item->next = NULL;
    if (l->first)
        l->last->next = item;
    else
        l->first = item;
    l->last = item;
    WEFT_ASSERT(l->first && !l->last->next);
}

static inline struct weft__link *weft__list_take(struct weft__list *l) {
    struct weft__link *item = l->first;
    if (item) l->first = item->next;
    return item;
}

/*
 * A mailbox: a stack to which any thread pushes. A single consumer takes all items and reverses them, so that it is a
 * FIFO in effect. Because the consumer takes everything, there is no ABA problem.
 */
struct weft__mailbox {
    _Atomic(struct weft__link *) top;
};

static inline void weft__mailbox_put(struct weft__mailbox *m, struct weft__link *item) {
    struct weft__link *top = load_rlx(&m->top);
    do item->next = top;
    while (!cas_weak_rel(&m->top, &top, item)); /* pairs with weft__mailbox_take_all */
}

static inline bool weft__mailbox_is_empty(struct weft__mailbox *m) { return !load_rlx(&m->top); }

/* Appends all items to the list, oldest first. */
static inline void weft__mailbox_take_all(struct weft__mailbox *m, struct weft__list *to) {
    if (weft__mailbox_is_empty(m)) return;
    struct weft__link *stack = xchg_acq(&m->top, NULL); /* pairs with weft__mailbox_put */
    struct weft__link *oldest = NULL;
    while (stack) {
        struct weft__link *next = stack->next;
        stack->next = oldest;
        oldest = stack;
        stack = next;
    }
    while (oldest) {
        struct weft__link *next = oldest->next;
        weft__list_put(to, oldest);
        oldest = next;
    }
}

#endif
