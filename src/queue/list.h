/*
 * Chains through a link inside the item: a plain FIFO for one owner, and a mailbox that anybody
 * may put into. Neither allocates; an item stands in one chain at a time.
 */
#ifndef WEFT_QUEUE_LIST_H
#define WEFT_QUEUE_LIST_H

#include "base/atomic.h"
#include "base/base.h"

struct weft__link {
    struct weft__link *next;
};

/* A FIFO; its owner, or a lock, keeps others away. */
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
}

static inline struct weft__link *weft__list_take(struct weft__list *l) {
    struct weft__link *item = l->first;
    if (item) l->first = item->next;
    return item;
}

/*
 * A mailbox: a stack that anybody pushes to and one consumer empties whole, turning it round, so
 * that it is a FIFO in effect. Taking all leaves nothing to be confused by: no ABA.
 */
struct weft__mailbox {
    _Atomic(struct weft__link *) top;
};

static inline void weft__mailbox_put(struct weft__mailbox *m, struct weft__link *item) {
    struct weft__link *top = load_rlx(&m->top);
    do item->next = top;
    while (!cas_weak_rel(&m->top, &top, item)); /* pairs with take_all */
}

static inline bool weft__mailbox_empty(struct weft__mailbox *m) { return !load_rlx(&m->top); }

/* Appends all that is there to the list, oldest first. */
static inline void weft__mailbox_take_all(struct weft__mailbox *m, struct weft__list *to) {
    if (weft__mailbox_empty(m)) return;
    struct weft__link *stack = xchg_acq(&m->top, NULL); /* pairs with put */
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
