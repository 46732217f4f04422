/*
 * Channels from inside: the word, and what can be done with the lock held. For chan.c and select.c.
 *
 *      word:  63 .. 40 | 39 ...... 8 | 4    | 3      | 2       | 1         | 0
 *             turns    | items there | MADE | CLOSED | SENDERS | RECEIVERS | LOCKED
 *
 *   - All but the word is changed by the holder of the lock. The word, too: locking is a
 *     compare-and-swap, giving the lock back one store of the whole, after which the channel is not
 *     touched: whoever sees by it that its turn is over may free the channel.
 *   - RECEIVERS, SENDERS: somebody stands in that chain. So one look at the word tells whether a send
 *     or a receive need not wait, without the lock; with it, that is so.
 *   - Receivers wait only while the buffer is empty, senders only while it is full. Both chains hold
 *     somebody only if a select does both on this channel: nobody is its own partner.
 *   - turns grows whenever the lock is given back: two looks that are the same had nothing between
 *     them. weft_select_try needs that.
 *
 * Who waits is a party. Its partner wins its wait (wait.h) under the lock, moves the item from or to
 * where the party says, says how it went, gives the lock back, and then makes it ready. From the win
 * on nobody else ends the wait, and before it is made ready the party does not go on: meanwhile its
 * memory is the partner's.
 *
 *   the party                                   the partner
 *   1. begins the wait, under the lock          1. under the lock: takes it out of the chain, wins it
 *   2. enters the chain, gives the lock back    2. moves the item, writes result
 *   3. blocks                                   3. gives the lock back
 *   4. reads result                             4. makes it ready
 *   4' deadline, cancellation: takes itself out of the chain; nobody has moved the item
 */
#ifndef WEFT_SYNC_CHAN_H
#define WEFT_SYNC_CHAN_H

#include "sync/queue.h"

#include <string.h>

#define WEFT_CHAN_LOCKED UINT64_C(0x01)
#define WEFT_CHAN_RECEIVERS UINT64_C(0x02)
#define WEFT_CHAN_SENDERS UINT64_C(0x04)
#define WEFT_CHAN_CLOSED UINT64_C(0x08)
#define WEFT_CHAN_MADE UINT64_C(0x10) /* by weft_chan_make */
#define WEFT_CHAN_ITEM_SHIFT 8
#define WEFT_CHAN_ITEM (UINT64_C(1) << WEFT_CHAN_ITEM_SHIFT)
#define WEFT_CHAN_TURN (UINT64_C(1) << 40)

/* Waits at a channel or future. */
struct weft__party {
    struct weft_waiter waiter;
    void *item; /* to send, or where to receive to; NULL: nowhere */
    int result; /* written by the partner; WEFT_PARTY_WAITS before */
};
#define WEFT_PARTY_WAITS 1

static inline _Atomic uint64_t *weft__chan_word(const struct weft_chan *c) {
    return (_Atomic uint64_t *)(uintptr_t)&c->word;
}
static inline uint32_t weft__chan_items(uint64_t word) { return (uint32_t)(word >> WEFT_CHAN_ITEM_SHIFT); }

/* Need it not wait? */
static inline bool weft__chan_sendable(const struct weft_chan *c, uint64_t word) {
    return (word & (WEFT_CHAN_RECEIVERS | WEFT_CHAN_CLOSED)) || weft__chan_items(word) < c->capacity;
}
static inline bool weft__chan_receivable(uint64_t word) {
    return (word & (WEFT_CHAN_SENDERS | WEFT_CHAN_CLOSED)) || weft__chan_items(word);
}

/* When another core holds the lock. */
uint64_t weft__chan_lock_slow(struct weft_chan *c);
static inline uint64_t weft__chan_lock(struct weft_chan *c) {
    uint64_t w = load_rlx(weft__chan_word(c));
    if (likely(!(w & WEFT_CHAN_LOCKED)) &&
        likely(cas_ar(weft__chan_word(c), &w, w | WEFT_CHAN_LOCKED))) /* pairs with unlock */
        return w;
    return weft__chan_lock_slow(c);
}
static inline void weft__chan_unlock(struct weft_chan *c, uint64_t word) {
    word &= ~(WEFT_CHAN_LOCKED | WEFT_CHAN_RECEIVERS | WEFT_CHAN_SENDERS);
    if (c->receivers) word |= WEFT_CHAN_RECEIVERS;
    if (c->senders) word |= WEFT_CHAN_SENDERS;
    store_rel(weft__chan_word(c), word + WEFT_CHAN_TURN); /* pairs with the next lock */
}

static inline struct weft_waiter **weft__chan_chain(struct weft_chan *c, bool sends) {
    return sends ? &c->senders : &c->receivers;
}

/* See weft__queue_foresee. */
static inline _Atomic(void *) *weft__chan_ahead(struct weft_chan *c) { return (_Atomic(void *) *)&c->ahead; }
static inline void weft__chan_foresee(struct weft_chan *c) { __builtin_prefetch(load_rlx(weft__chan_ahead(c))); }

static inline void weft__chan_enter(struct weft_chan *c, struct weft__party *p, bool sends) {
    struct weft_waiter **chain = weft__chan_chain(c, sends);
    weft__chain_append(chain, &p->waiter);
    if (likely(*chain == &p->waiter)) store_rlx(weft__chan_ahead(c), p->waiter.fiber);
}

/* The wait has ended for another reason: out of the chain, if it is still in it. */
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

static inline uint32_t weft__chan_after(const struct weft_chan *c, uint32_t at) {
    at += c->size;
    return unlikely(at == c->bytes) ? 0 : at;
}

/* Into the buffer, and out of it; the caller keeps count. Locked. */
static inline void weft__chan_put(struct weft_chan *c, const void *item) {
    weft__chan_copy((char *)c->buffer + c->next, item, c->size);
    c->next = weft__chan_after(c, c->next);
}
static inline void weft__chan_take(struct weft_chan *c, void *item) {
    if (likely(item != NULL)) weft__chan_copy(item, (char *)c->buffer + c->first, c->size);
    c->first = weft__chan_after(c, c->first);
}

/* --- partners --------------------------------------------------------------------------------- */

/*
 * Takes out the first party that can still be won, and wins it. Locked. A select has taken its own wait back before it
 * comes here, so it does not find itself.
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
 * What a send and a receive do when they hold the lock. 0 or -EPIPE: done; -EAGAIN: nobody is there, it
 * would have to wait. *word is to be given back; *won is to be made ready after that, unless NULL.
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
            weft__chan_put(c, p->item); /* it has waited for this place: as many are there as before */
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

static inline int weft__chan_do_locked(struct weft_chan *c, uint64_t *word, void *item, bool sends,
                                       struct weft__fiber **won) {
    return sends ? weft__chan_send_locked(c, word, item, won) : weft__chan_recv_locked(c, word, item, won);
}

/* The same with taking and giving back the lock: for whoever does not want to wait. */
static inline int weft__chan_do(struct weft_chan *c, void *item, bool sends) {
    struct weft__fiber *won = NULL;
    weft__chan_foresee(c);
    uint64_t word = weft__chan_lock(c);
    int result = weft__chan_do_locked(c, &word, item, sends, &won);
    weft__chan_unlock(c, word);
    if (won) {
        weft__queue_foresee_run(won);
        weft__make_ready(won);
    }
    return result;
}

#endif
