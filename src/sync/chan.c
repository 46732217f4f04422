/* SPDX-License-Identifier: MIT */
/*
 * Channels: making, sending, receiving, closing. chan.h describes the word, the chains and the protocol.
 *
 * A send into a buffer with room, or a receive from a buffer with items, without waiters: a compare-and-swap, the copy,
 * a store. With a waiting partner: the same, plus winning its wait. Only an operation that has to wait needs the
 * identity of the caller, so a timer's function may do the others.
 */
#include "sync/chan.h"

#include "base/sys.h"

/* --- making ----------------------------------------------------------------------------------- */

WEFT_PUBLIC struct weft_chan *weft_chan_make(size_t size, size_t capacity) {
    size_t bytes;
    if (size > UINT32_MAX || capacity > UINT32_MAX || __builtin_mul_overflow(size, capacity, &bytes)) return NULL;
    if (bytes > UINT32_MAX) return NULL;
    struct weft_chan *c = weft__alloc(sizeof *c + bytes);
    if (!c) return NULL;
    *c = (struct weft_chan)WEFT_CHAN_INIT(size);
    c->word = WEFT_CHAN_MADE;
    c->capacity = (uint32_t)capacity;
    c->bytes = (uint32_t)bytes;
    c->buffer = c + 1;
    return c;
}

WEFT_PUBLIC int weft_chan_free(struct weft_chan *chan) {
    if (!chan) return 0;
    uint64_t word =
        load_acq(weft__chan_word(chan)); /* pairs with the last unlock: its thread no longer uses the channel */
    if (!(word & WEFT_CHAN_MADE)) return -EINVAL;
    if (word & (WEFT_CHAN_LOCKED | WEFT_CHAN_RECEIVERS | WEFT_CHAN_SENDERS)) return -EBUSY;
    weft__free(chan);
    return 0;
}

WEFT_PUBLIC size_t weft_chan_len(const struct weft_chan *chan) {
    return chan ? weft__chan_items(load_rlx(weft__chan_word(chan))) : 0;
}

WEFT_PUBLIC size_t weft_chan_cap(const struct weft_chan *chan) { return chan ? chan->capacity : 0; }

WEFT_NOINLINE uint64_t weft__chan_lock_slow(struct weft_chan *c) {
    unsigned turn = 0;
    uint64_t w;
    do {
        weft__backoff_contended(&turn);
        w = load_rlx(weft__chan_word(c));
    } while ((w & WEFT_CHAN_LOCKED) ||
             !cas_ar(weft__chan_word(c), &w, w | WEFT_CHAN_LOCKED)); /* pairs with weft__chan_unlock */
    return w;
}

/* --- waiting ---------------------------------------------------------------------------------- */

/* Leaves the chain after a deadline or cancellation. Returns err. */
static WEFT_COLD int chan_leave(struct weft_chan *c, struct weft__party *p, bool sends, int err) {
    weft__chan_leave(c, p, sends);
    return err;
}

static inline __attribute__((always_inline)) int chan_meet(struct weft_chan *c, void *item, bool sends,
                                                           uint64_t deadline) {
    struct weft__party p;
    struct weft__fiber *me = weft__me(), *won = NULL;
    if (unlikely(!me)) return -ENOMEM;
    p.waiter.fiber = me;
    p.item = item;
    uint64_t word = weft__chan_lock(c);
    int err = weft__chan_transfer_locked(c, &word, item, sends, &won);
    if (unlikely(err != -EAGAIN)) {
        weft__chan_unlock(c, word);
        if (won) weft__make_ready(won);
        return err;
    }
    err = weft__wait_begin(me, WEFT_WAIT_BY_CANCEL, &p.waiter.ticket);
    if (likely(!err)) weft__chan_enter(c, &p, sends);
    weft__chan_unlock(c, word);
    if (unlikely(err)) return weft__refused(me, err);
    err = weft__wait_block_for(me, p.waiter.ticket, deadline, weft__for(sends ? WEFT_ON_SEND : WEFT_ON_RECEIVE, c));
    return likely(!err) ? p.result : chan_leave(c, &p, sends, err);
}

static WEFT_SWITCHES int wait_to_send(struct weft_chan *c, void *item, uint64_t deadline) {
    return chan_meet(c, item, true, deadline);
}
static WEFT_SWITCHES int wait_to_receive(struct weft_chan *c, void *item, uint64_t deadline) {
    return chan_meet(c, item, false, deadline);
}

/* --- sending ---------------------------------------------------------------------------------- */

static inline void *unconst(const void *item) { return (void *)(uintptr_t)item; }

static inline bool is_wrong(const struct weft_chan *c, const void *item) { return !c || (!item && c->size); }

/* The fast path of a send: there is room, and no receiver waits. */
static inline bool chan_put(struct weft_chan *c, uint64_t word, const void *item) {
    if (word & (WEFT_CHAN_LOCKED | WEFT_CHAN_RECEIVERS | WEFT_CHAN_CLOSED)) return false;
    if (weft__chan_items(word) >= c->capacity) return false;
    if (unlikely(!cas_ar(weft__chan_word(c), &word, word | WEFT_CHAN_LOCKED)))
        return false; /* pairs with weft__chan_unlock */
    weft__chan_put(c, item);
    store_rel(weft__chan_word(c), word + WEFT_CHAN_ITEM + WEFT_CHAN_TURN); /* pairs with the next weft__chan_lock */
    return true;
}

/* Sends without waiting. -EAGAIN: it would have to wait. */
static WEFT_NOINLINE int send_now(struct weft_chan *c, uint64_t word, const void *item) {
    return weft__chan_can_send(c, word) ? weft__chan_transfer(c, unconst(item), true) : -EAGAIN;
}

static inline int chan_send(struct weft_chan *c, const void *item, uint64_t deadline) {
    if (unlikely(is_wrong(c, item))) return -EINVAL;
    uint64_t word = load_rlx(weft__chan_word(c));
    if (likely(chan_put(c, word, item))) return 0;
    int err = send_now(c, word, item);
    return err != -EAGAIN ? err : wait_to_send(c, unconst(item), deadline);
}

WEFT_PUBLIC int weft_chan_send(struct weft_chan *chan, const void *item) { return chan_send(chan, item, WEFT_FOREVER); }

WEFT_PUBLIC int weft_chan_send_until(struct weft_chan *chan, const void *item, uint64_t deadline) {
    return chan_send(chan, item, deadline);
}

WEFT_PUBLIC int weft_chan_send_try(struct weft_chan *chan, const void *item) {
    if (unlikely(is_wrong(chan, item))) return -EINVAL;
    uint64_t word = load_rlx(weft__chan_word(chan));
    return likely(chan_put(chan, word, item)) ? 0 : send_now(chan, word, item);
}

/* --- receiving -------------------------------------------------------------------------------- */

/* The fast path of a receive: there is an item, and no sender waits for its slot. */
static inline bool chan_take(struct weft_chan *c, uint64_t word, void *item) {
    if (word & (WEFT_CHAN_LOCKED | WEFT_CHAN_SENDERS) || !weft__chan_items(word)) return false;
    if (unlikely(!cas_ar(weft__chan_word(c), &word, word | WEFT_CHAN_LOCKED)))
        return false; /* pairs with weft__chan_unlock */
    weft__chan_take(c, item);
    store_rel(weft__chan_word(c), word - WEFT_CHAN_ITEM + WEFT_CHAN_TURN); /* pairs with the next weft__chan_lock */
    return true;
}

static WEFT_NOINLINE int receive_now(struct weft_chan *c, uint64_t word, void *item) {
    return weft__chan_can_receive(word) ? weft__chan_transfer(c, item, false) : -EAGAIN;
}

static inline int chan_receive(struct weft_chan *c, void *item, uint64_t deadline) {
    if (unlikely(!c)) return -EINVAL;
    uint64_t word = load_rlx(weft__chan_word(c));
    if (likely(chan_take(c, word, item))) return 0;
    int err = receive_now(c, word, item);
    return err != -EAGAIN ? err : wait_to_receive(c, item, deadline);
}

WEFT_PUBLIC int weft_chan_recv(struct weft_chan *chan, void *item) { return chan_receive(chan, item, WEFT_FOREVER); }

WEFT_PUBLIC int weft_chan_recv_until(struct weft_chan *chan, void *item, uint64_t deadline) {
    return chan_receive(chan, item, deadline);
}

WEFT_PUBLIC int weft_chan_recv_try(struct weft_chan *chan, void *item) {
    if (unlikely(!chan)) return -EINVAL;
    uint64_t word = load_rlx(weft__chan_word(chan));
    return likely(chan_take(chan, word, item)) ? 0 : receive_now(chan, word, item);
}

/* --- closing ---------------------------------------------------------------------------------- */

static void turn_away(struct weft_waiter **chain, struct weft__list *won) {
    for (struct weft__party *p; (p = weft__chan_win(chain));) {
        p->result = -EPIPE;
        weft__list_put(won, &p->waiter.fiber->slot.link);
    }
}

WEFT_PUBLIC int weft_chan_close(struct weft_chan *chan) {
    if (!chan) return -EINVAL;
    struct weft__list won = {NULL, NULL};
    uint64_t word = weft__chan_lock(chan);
    turn_away(&chan->receivers, &won);
    turn_away(&chan->senders, &won);
    weft__chan_unlock(chan, word | WEFT_CHAN_CLOSED);
    weft__make_all_ready(&won);
    return word & WEFT_CHAN_CLOSED ? -EALREADY : 0;
}
