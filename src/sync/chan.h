/* SPDX-License-Identifier: MIT */
/*
 * Channels, internal: the word, and the operations under the lock. For chan.c and select.c.
 *
 *      word:  63 .. 40 | 39 ...... 8 | 4    | 3      | 2       | 1         | 0
 *             turns    | item count  | MADE | CLOSED | SENDERS | RECEIVERS | LOCKED
 *
 *   - Only the holder of the lock changes a channel. Locking is a compare-and-swap of the word. Unlocking is a single
 *     store of the word, and the channel is not touched after it: a fiber that sees by this store that its operation is
 *     over may free the channel.
 *   - RECEIVERS, SENDERS: that chain is not empty. So a look at the word without the lock tells whether a send or a
 *     receive would have to wait. Under the lock this is exact.
 *   - Receivers wait only while the buffer is empty, senders only while it is full. Both chains hold waiters only if
 *     a select sends and receives on this channel: a fiber is never its own partner.
 *   - turns grows at every unlock: if two looks see the same word, nothing happened between them.
 *     weft_case_select_try needs that.
 *
 * A waiting fiber is a party. Its partner wins its wait (wait.h) under the lock, copies the item, writes the result,
 * unlocks, and then makes the party ready. After the win no other thread ends the wait, and the party does not continue
 * until it is made ready. Meanwhile its memory belongs to the partner.
 *
 *   the party                                   the partner
 *   1. begins the wait, under the lock          1. under the lock: removes the party from the chain, wins it
 *   2. enters the chain, unlocks                2. copies the item, writes result
 *   3. blocks                                   3. unlocks
 *   4. reads result                             4. makes the party ready
 *   4' deadline, cancellation: removes itself from the chain; the item was not copied
 */
#ifndef WEFT_SYNC_CHAN_H
#define WEFT_SYNC_CHAN_H

#include "sched/wait/wait_queue.h"

#include <string.h>

#define WEFT_CHAN_LOCKED UINT64_C(0x01)
#define WEFT_CHAN_RECEIVERS UINT64_C(0x02)
#define WEFT_CHAN_SENDERS UINT64_C(0x04)
#define WEFT_CHAN_CLOSED UINT64_C(0x08)
#define WEFT_CHAN_MADE UINT64_C(0x10) /* made by weft_chan_make */
#define WEFT_CHAN_ITEM_SHIFT 8
#define WEFT_CHAN_ITEM (UINT64_C(1) << WEFT_CHAN_ITEM_SHIFT)
#define WEFT_CHAN_TURN (UINT64_C(1) << 40)

/* A fiber that waits at a channel or future. */
struct weft__party {
    struct weft_waiter waiter;
    void *item; /* the item to send, or where to store the received item; NULL: drop it */
    int result; /* written by the partner; WEFT_PARTY_WAITS before */
};
#define WEFT_PARTY_WAITS 1

static inline _Atomic uint64_t *weft__chan_word(const struct weft_chan *c) {
    return (_Atomic uint64_t *)(uintptr_t)&c->word;
}
static inline uint32_t weft__chan_items(uint64_t word) { return (uint32_t)(word >> WEFT_CHAN_ITEM_SHIFT); }

/* Can a send complete without waiting? */
static inline bool weft__chan_can_send(const struct weft_chan *c, uint64_t word) {
    return (word & (WEFT_CHAN_RECEIVERS | WEFT_CHAN_CLOSED)) || weft__chan_items(word) < c->capacity;
}
static inline bool weft__chan_can_receive(uint64_t word) {
    return (word & (WEFT_CHAN_SENDERS | WEFT_CHAN_CLOSED)) || weft__chan_items(word);
}

/* Locks a channel whose lock is held by another core. */
uint64_t weft__chan_lock_slow(struct weft_chan *c);
static inline uint64_t weft__chan_lock(struct weft_chan *c) {
    uint64_t w = load_rlx(weft__chan_word(c));
    if (likely(!(w & WEFT_CHAN_LOCKED)) &&
        likely(cas_ar(weft__chan_word(c), &w, w | WEFT_CHAN_LOCKED))) /* pairs with weft__chan_unlock */
        return w;
    return weft__chan_lock_slow(c);
}
static inline void weft__chan_unlock(struct weft_chan *c, uint64_t word) {
    WEFT_ASSERT(load_rlx(weft__chan_word(c)) & WEFT_CHAN_LOCKED);
    WEFT_ASSERT(weft__chan_items(word) <= c->capacity);
    word &= ~(WEFT_CHAN_LOCKED | WEFT_CHAN_RECEIVERS | WEFT_CHAN_SENDERS);
    if (c->receivers) word |= WEFT_CHAN_RECEIVERS;
    if (c->senders) word |= WEFT_CHAN_SENDERS;
    store_rel(weft__chan_word(c), word + WEFT_CHAN_TURN); /* pairs with the next weft__chan_lock */
}

static inline struct weft_waiter **weft__chan_chain(struct weft_chan *c, bool sends) {
    return sends ? &c->senders : &c->receivers;
}

/* See weft__wait_queue_prefetch. */
static inline _Atomic(void *) *weft__chan_first_fiber(struct weft_chan *c) { return (_Atomic(void *) *)&c->ahead; }
static inline void weft__chan_prefetch(struct weft_chan *c) { __builtin_prefetch(load_rlx(weft__chan_first_fiber(c))); }

static inline void weft__chan_enter(struct weft_chan *c, struct weft__party *p, bool sends) {
    struct weft_waiter **chain = weft__chan_chain(c, sends);
    WEFT_ASSERT(load_rlx(weft__chan_word(c)) & WEFT_CHAN_LOCKED);
    weft__chain_append(chain, &p->waiter, sends ? WEFT_ON_SEND : WEFT_ON_RECEIVE);
    if (likely(*chain == &p->waiter)) store_rlx(weft__chan_first_fiber(c), p->waiter.fiber);
}

/* The wait was not ended by a partner: removes the party from the chain, if it is still there. */
static inline void weft__chan_leave(struct weft_chan *c, struct weft__party *p, bool sends) {
    uint64_t word = weft__chan_lock(c);
    weft__chain_take_out(weft__chan_chain(c, sends), &p->waiter);
    weft__chan_unlock(c, word);
}

/* --- items ------------------------------------------------------------------------------------ */

static inline void weft__chan_copy(void *to, const void *from, uint32_t size) {
    if (likely(size == 8))
        memcpy(to, from, 8);
    else if (size)
        memcpy(to, from, size);
}

static inline uint32_t weft__chan_next_offset(const struct weft_chan *c, uint32_t at) {
    at += c->size;
    return unlikely(at == c->bytes) ? 0 : at;
}

/* Copies an item into or out of the buffer. The caller updates the count. Locked. */
static inline void weft__chan_put(struct weft_chan *c, const void *item) {
    WEFT_ASSERT(!c->size || c->next < c->bytes);
    weft__chan_copy((char *)c->buffer + c->next, item, c->size);
    c->next = weft__chan_next_offset(c, c->next);
}
static inline void weft__chan_take(struct weft_chan *c, void *item) {
    WEFT_ASSERT(!c->size || c->first < c->bytes);
    if (likely(item != NULL)) weft__chan_copy(item, (char *)c->buffer + c->first, c->size);
    c->first = weft__chan_next_offset(c, c->first);
}

/* --- partners --------------------------------------------------------------------------------- */

/*
 * Removes and wins the first party that can still be won. Locked. A select has ended its own wait before it calls this,
 * so it does not find itself.
 */
static inline struct weft__party *weft__chan_win(struct weft_waiter **chain) {
    for (struct weft_waiter *w; (w = *chain);) {
        weft__chain_remove(chain, w);
        if (likely(weft__wait_win(w->fiber, w->ticket, WEFT_WON_DONE)))
            return container_of(w, struct weft__party, waiter);
    }
    return NULL;
}

/*
 * A send and a receive, with the lock held. 0 or -EPIPE: done. -EAGAIN: the operation would have to wait. The caller
 * unlocks with *word, and then makes *won ready, unless it is NULL.
 */
static inline int weft__chan_send_locked(struct weft_chan *c, uint64_t *word, const void *item,
                                         struct weft__fiber **won) {
    if (unlikely(*word & WEFT_CHAN_CLOSED)) return -EPIPE;
    struct weft__party *p = weft__chan_win(&c->receivers);
    if (p) {
        if (likely(p->item != NULL)) weft__chan_copy(p->item, item, c->size);
        p->result = 0;
        *won = p->waiter.fiber;
        return 0;
    }
    if (weft__chan_items(*word) >= c->capacity) return -EAGAIN;
    weft__chan_put(c, item);
    *word += WEFT_CHAN_ITEM;
    return 0;
}

static inline int weft__chan_recv_locked(struct weft_chan *c, uint64_t *word, void *item, struct weft__fiber **won) {
    bool buffered = weft__chan_items(*word) > 0;
    if (buffered) weft__chan_take(c, item);
    struct weft__party *p = weft__chan_win(&c->senders);
    if (p) {
        if (buffered)
            weft__chan_put(c, p->item); /* the sender waited for this slot of the buffer; the item count stays */
        else if (likely(item != NULL))
            weft__chan_copy(item, p->item, c->size);
        p->result = 0;
        *won = p->waiter.fiber;
        return 0;
    }
    if (!buffered) return *word & WEFT_CHAN_CLOSED ? -EPIPE : -EAGAIN;
    *word -= WEFT_CHAN_ITEM;
    return 0;
}

static inline int weft__chan_transfer_locked(struct weft_chan *c, uint64_t *word, void *item, bool sends,
                                             struct weft__fiber **won) {
    return sends ? weft__chan_send_locked(c, word, item, won) : weft__chan_recv_locked(c, word, item, won);
}

/* The same with lock and unlock, for callers that do not wait. */
static inline int weft__chan_transfer(struct weft_chan *c, void *item, bool sends) {
    struct weft__fiber *won = NULL;
    weft__chan_prefetch(c);
    uint64_t word = weft__chan_lock(c);
    int result = weft__chan_transfer_locked(c, &word, item, sends, &won);
    weft__chan_unlock(c, word);
    if (won) {
        weft__wait_queue_prefetch_stack(won);
        weft__make_ready(won);
    }
    return result;
}

#endif
