/*
 * A chain: who waits, in order. Plain memory, read and written under the lock of what is waited for;
 * the waiter is on the stack of whoever waits. In a file of its own, so that a test that runs the rest
 * with other atomics can put another chain in its place.
 */
#ifndef WEFT_SYNC_CHAIN_H
#define WEFT_SYNC_CHAIN_H

#include "sched/block.h"

struct weft_waiter {
    struct weft_waiter *next, *before; /* the first one's `before` is the last one */
    struct weft__fiber *fiber;
    uint64_t ticket;
    uint64_t at_most; /* counters: the value it waits for */
    bool chained;
};

static inline bool weft__chain_is_empty(struct weft_waiter *const *chain) { return !*chain; }

static inline void weft__chain_append(struct weft_waiter **chain, struct weft_waiter *w) {
    struct weft_waiter *first = *chain;
    w->next = NULL;
    w->chained = true;
    if (unlikely(first != NULL)) {
        w->before = first->before;
        w->before->next = w;
        first->before = w;
    } else {
        w->before = w;
        *chain = w;
    }
}

/* Before all others. */
static inline void weft__chain_prepend(struct weft_waiter **chain, struct weft_waiter *w) {
    struct weft_waiter *first = *chain;
    w->next = first;
    w->chained = true;
    w->before = first ? first->before : w;
    if (first) first->before = w;
    *chain = w;
}

static inline void weft__chain_remove(struct weft_waiter **chain, struct weft_waiter *w) {
    struct weft_waiter *next = w->next, *before = w->before;
    w->chained = false;
    if (likely(*chain == w))
        *chain = next;
    else
        before->next = next;
    if (unlikely(next != NULL))
        next->before = before;
    else if (unlikely(*chain != NULL))
        (*chain)->before = before;
}

/* Takes it out if it is still in; false: somebody else has. */
static inline bool weft__chain_take_out(struct weft_waiter **chain, struct weft_waiter *w) {
    bool chained = w->chained;
    if (chained) weft__chain_remove(chain, w);
    return chained;
}

/* Wins the first waiter that can still be won, and takes it out, with those before it; NULL: there is none. Once it
 * is won, the waiter's memory is the fiber's own again. */
static inline struct weft__fiber *weft__chain_win(struct weft_waiter **chain) {
    struct weft_waiter *w;
    while ((w = *chain)) {
        weft__chain_remove(chain, w);
        struct weft__fiber *f = w->fiber;
        if (likely(weft__wait_win(f, w->ticket, WEFT_WON_DONE))) return f;
    }
    return NULL;
}

#endif
