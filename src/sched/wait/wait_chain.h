/* SPDX-License-Identifier: MIT */
/*
 * A chain: a linked list of waiters, in order. Plain memory, protected by the lock of the object that they wait for. A
 * waiter is on the stack of the waiting fiber or thread. In a separate file, so that a model test can replace it.
 */
#ifndef WEFT_SYNC_CHAIN_H
#define WEFT_SYNC_CHAIN_H

#include "base/assert.h"
#include "sched/wait/block.h"

/* What a waiter waits for, for the observer (look/waits.c). WEFT_ON_NOTHING: the waiter is in no chain. */
enum weft__wait_object {
    WEFT_ON_NOTHING,
    WEFT_ON_MUTEX,
    WEFT_ON_COND,
    WEFT_ON_SEM,
    WEFT_ON_COUNTER,
    WEFT_ON_BARRIER,
    WEFT_ON_ONCE,
    WEFT_ON_FUTURE,
    WEFT_ON_READ,
    WEFT_ON_WRITE,
    WEFT_ON_RECEIVE,
    WEFT_ON_SEND,
    WEFT_ON_DESCRIPTOR,
    WEFT_ON_SIGNAL,
    WEFT_ON_FIBER_GROUP,
    WEFT_ON_JOB, /* not a fiber: a job for the thread pool */
    WEFT_ONS,
};

struct weft_waiter {
    struct weft_waiter *next, *before; /* `before` of the first waiter is the last waiter */
    struct weft__fiber *fiber;
    uint64_t ticket;
    uint64_t at_most; /* counters: the value that ends the wait */
    uint8_t chained;  /* WEFT_ON_NOTHING, or what it waits for */
};

static inline bool weft__chain_is_empty(struct weft_waiter *const *chain) { return !*chain; }

static inline void weft__chain_append(struct weft_waiter **chain, struct weft_waiter *w, enum weft__wait_object on) {
    struct weft_waiter *first = *chain;
    WEFT_ASSERT(on != WEFT_ON_NOTHING);
    WEFT_ASSERT(!first || (first->chained != WEFT_ON_NOTHING && first->before));
    w->next = NULL;
    w->chained = (uint8_t)on;
    if (unlikely(first != NULL)) {
        w->before = first->before;
        w->before->next = w;
        first->before = w;
    } else {
        w->before = w;
        *chain = w;
    }
}

/* Inserts at the front. */
static inline void weft__chain_prepend(struct weft_waiter **chain, struct weft_waiter *w, enum weft__wait_object on) {
    struct weft_waiter *first = *chain;
    WEFT_ASSERT(on != WEFT_ON_NOTHING && first != w);
    w->next = first;
    w->chained = (uint8_t)on;
    w->before = first ? first->before : w;
    if (first) first->before = w;
    *chain = w;
}

static inline void weft__chain_remove(struct weft_waiter **chain, struct weft_waiter *w) {
    struct weft_waiter *next = w->next, *before = w->before;
    WEFT_ASSERT(w->chained != WEFT_ON_NOTHING);
    WEFT_ASSERT(*chain == w || before->next == w);
    w->chained = WEFT_ON_NOTHING;
    if (likely(*chain == w))
        *chain = next;
    else
        before->next = next;
    if (unlikely(next != NULL))
        next->before = before;
    else if (unlikely(*chain != NULL))
        (*chain)->before = before;
}

/* Removes the waiter if it is in the chain. False: another thread has removed it. */
static inline bool weft__chain_take_out(struct weft_waiter **chain, struct weft_waiter *w) {
    bool chained = w->chained != WEFT_ON_NOTHING;
    if (chained) weft__chain_remove(chain, w);
    return chained;
}

/* Wins the first waiter that can still be won. Removes it and all waiters before it. NULL: none can be won. Once a
 * waiter is won, its memory belongs to its fiber again. */
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
