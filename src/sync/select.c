/* SPDX-License-Identifier: MIT */
/*
 * Select: completes one of several cases, the first that can complete.
 *
 *   1. Look at each case without locks: a word tells whether it can complete. Choose one of these at random and
 *      complete it under its lock. If its partner has gone meanwhile: repeat.
 *   2. If none can complete: begin a wait, and enter a party with the same ticket in each chain, one lock after
 *      the other, never two at once. Under each lock look at the case again. If it can complete now, the wait must
 *      end first: the select wins its own ticket. Then no other thread can complete one of its cases, and the
 *      select completes this case, still under the lock.
 *        - if the ticket was won already, a partner has completed a case that was entered before
 *        - if the partner has been won by another fiber in the meantime, repeat from step 2
 *   3. Block, at most until the earliest time among the cases. The winner of the ticket has completed its case and
 *      written the result. If that time passes first, repeat from step 1, which treats a time as an ordinary case.
 *   4. Leave all chains.
 *
 * Two selects may meet on two channels after each has ended its own wait. Then both fail, and both repeat. That could
 * not happen if all selects used one order of channels. Instead each round starts at a new random case, so the two
 * selects do not go on like this for ever.
 *
 * To add a kind of case, extend three functions: can_be_done, enter and leave.
 */
#include "sync/future.h"

#include "base/random.h"
#include "io/poll_thread.h"
#include "io/readiness.h"

/* The opaque part of a case: first the word that was seen, then the party. */
union case_memory {
    uint64_t seen;
    struct weft__party party;
    struct weft__descriptor descriptor;
};
_Static_assert(sizeof(union case_memory) <= sizeof((struct weft_case){0}.opaque), "a party fits");

static union case_memory *select_case_of(struct weft_case *c) { return (union case_memory *)(void *)c->opaque; }

static bool case_sends(const struct weft_case *c) { return c->kind == WEFT_CASE_SENDS; }

/* A descriptor is encoded as a pointer that is never NULL. */
static int descriptor_of(const struct weft_case *c) { return (int)(intptr_t)c->on - 1; }
/* A time is encoded in the same way. */
static uint64_t time_of(const struct weft_case *c) { return (uint64_t)(uintptr_t)c->on - 1; }
static short events_of(const struct weft_case *c) { return (short)(intptr_t)c->item; }

/* --- 1: cases that can complete --------------------------------------------------------------- */

/* Is the descriptor of this case ready, or has its time passed? */
static WEFT_NOINLINE bool has_come(struct weft_case *c) {
    if (c->kind == WEFT_CASE_SLEEPS) return time_of(c) <= weft__clock();
    select_case_of(c)->seen = (uint64_t)weft__readiness_poll(descriptor_of(c), events_of(c));
    return select_case_of(c)->seen != 0;
}

/* Looks at a case, and remembers the word that it saw. Acquire, so that the next look is not older; see
 * cases_unchanged. */
static inline bool can_be_done(struct weft_case *c) {
    if (!c->on) return false;
    if (c->kind >= WEFT_CASE_AWAITS) return c->kind == WEFT_CASE_AWAITS ? weft__future_is_done(c->on) : has_come(c);
    uint64_t word = load_acq(weft__chan_word(c->on)) & ~WEFT_CHAN_LOCKED; /* pairs with weft__chan_unlock */
    select_case_of(c)->seen = word;
    return case_sends(c) ? weft__chan_can_send(c->on, word) : weft__chan_can_receive(word);
}

/* Threads draw from a shared sequence, fibers from their worker's. */
static uint32_t draw_random(uint32_t below) {
    static _Atomic uint64_t drawn;
    struct weft__worker *w = weft__self();
    if (likely(w != NULL)) return weft__random_below(&w->random, below);
    uint64_t state = (add_rlx(&drawn, 1) + 1) * UINT64_C(0x9e3779b97f4a7c15);
    return weft__random_below(&state, below);
}

/* Chooses one of the cases that can complete, each with the same probability; -1: none can. */
static inline int select_choose(struct weft_case *cases, unsigned n) {
    int chosen = -1;
    uint32_t possible = 0;
    for (unsigned i = 0; i < n; i++)
        if (can_be_done(&cases[i]) && (++possible == 1 || draw_random(possible) == 0)) chosen = (int)i;
    return chosen;
}

/* Completes a case, and stores the result in it. -EAGAIN: the case can no longer complete. */
static inline int do_it(struct weft_case *c) {
    switch (c->kind) {
    case WEFT_CASE_AWAITS: c->result = weft__future_result(c->on, c->item); return 0;
    case WEFT_CASE_POLLS: c->result = (int)select_case_of(c)->seen; return 0;
    case WEFT_CASE_SLEEPS: c->result = 0; return 0;
    }
    c->result = weft__chan_transfer(c->on, c->item, case_sends(c));
    return c->result == -EAGAIN ? -EAGAIN : 0;
}

/* Completes a case and returns its index; -EAGAIN: none can complete. */
static inline int do_one(struct weft_case *cases, unsigned n) {
    for (int i; (i = select_choose(cases, n)) >= 0;)
        if (likely(!do_it(&cases[i]))) return i;
    return -EAGAIN;
}

/*
 * Was there a moment at which no case could complete? select_choose has looked at the cases one after the other, and
 * none could complete when it was looked at. If all channels are still unchanged, none could complete between the two
 * looks. For futures and times a second look is enough: if they are not done now, they were not done before. Whether a
 * descriptor was ready for a moment in between does not matter.
 */
static bool cases_unchanged(struct weft_case *cases, unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        struct weft_case *c = &cases[i];
        if (!c->on) continue;
        if (c->kind >= WEFT_CASE_AWAITS) {
            if (can_be_done(c)) return false;
        } else if ((load_acq(weft__chan_word(c->on)) & ~WEFT_CHAN_LOCKED) !=
                   select_case_of(c)->seen) /* pairs with weft__chan_unlock */
            return false;
    }
    return true;
}

/* --- 2: entering ------------------------------------------------------------------------------ */

/* The state of the select after a case was entered. */
enum { WAITS, DONE, LOST, AGAIN };

/* A hint: can this wait still be won? */
static bool can_still_win(struct weft_waiter *w) {
    uint64_t word = load_rlx(&w->fiber->wait);
    return (word & (WEFT_WAIT_EPOCH | WEFT_WAIT_WAITING)) == (w->ticket | WEFT_WAIT_WAITING);
}

/* Does the chain hold a waiter that can be won, other than ourselves? Removes waiters that cannot be won. */
static bool has_partner(struct weft_waiter **chain, const struct weft__fiber *me) {
    for (struct weft_waiter *w = *chain, *next; w; w = next) {
        next = w->next;
        if (w->fiber == me) continue;
        if (can_still_win(w)) return true;
        weft__chain_remove(chain, w);
    }
    return false;
}

static bool can_be_done_locked(struct weft_case *c, uint64_t word, const struct weft__fiber *me) {
    struct weft_chan *chan = c->on;
    uint64_t alone = word & ~(WEFT_CHAN_RECEIVERS | WEFT_CHAN_SENDERS);
    if (case_sends(c)) return weft__chan_can_send(chan, alone) || has_partner(&chan->receivers, me);
    return weft__chan_can_receive(alone) || has_partner(&chan->senders, me);
}

static int enter_chan(struct weft_case *c, struct weft__party *p) {
    struct weft_chan *chan = c->on;
    struct weft__fiber *me = p->waiter.fiber, *won = NULL;
    int what = WAITS;
    uint64_t word = weft__chan_lock(chan);
    if (likely(!can_be_done_locked(c, word, me))) {
        weft__chan_enter(chan, p, case_sends(c));
    } else if (!weft__wait_win(me, p->waiter.ticket, WEFT_WON_DONE)) {
        what = LOST;
    } else {
        c->result = weft__chan_transfer_locked(chan, &word, c->item, case_sends(c), &won);
        what = c->result == -EAGAIN ? AGAIN : DONE;
    }
    weft__chan_unlock(chan, word);
    if (won) weft__make_ready(won);
    return what;
}

static int enter_future(struct weft_case *c, struct weft__party *p) {
    struct weft_future *f = c->on;
    uint64_t word = weft__wait_queue_lock(&f->queue);
    bool done = word >= WEFT_FUTURE_DONE;
    if (!done) weft__wait_queue_append(&f->queue, &p->waiter, WEFT_ON_FUTURE);
    weft__wait_queue_unlock(&f->queue, word);
    if (!done) return WAITS;
    if (!weft__wait_win(p->waiter.fiber, p->waiter.ticket, WEFT_WON_DONE)) return LOST;
    c->result = weft__future_result(f, c->item);
    return DONE;
}

/* A descriptor that cannot be waited for completes at once, with an error as its result. */
static int enter_descriptor(struct weft_case *c, struct weft__fiber *me, uint64_t ticket) {
    struct weft__descriptor *d = &select_case_of(c)->descriptor;
    *d = (struct weft__descriptor){.waiter = {.fiber = me, .ticket = ticket}, .fd = descriptor_of(c)};
    d->events = (uint16_t)events_of(c);
    int err = weft__readiness_enter(d);
    if (likely(!err)) return WAITS;
    if (!weft__wait_win(me, ticket, WEFT_WON_DONE)) return LOST;
    c->result = err;
    return DONE;
}

static inline int select_enter(struct weft_case *c, struct weft__fiber *me, uint64_t ticket) {
    struct weft__party *p = &select_case_of(c)->party;
    if (c->on && c->kind == WEFT_CASE_POLLS) return enter_descriptor(c, me, ticket);
    p->result = WEFT_PARTY_WAITS;
    if (!c->on || c->kind == WEFT_CASE_SLEEPS) return WAITS;
    p->waiter.fiber = me;
    p->waiter.ticket = ticket;
    p->item = c->item;
    return c->kind == WEFT_CASE_AWAITS ? enter_future(c, p) : enter_chan(c, p);
}

/* --- 4: leaving ------------------------------------------------------------------------------- */

/* Cases are entered from a random case on, so that each has a chance if several use the same channel. */
struct round {
    struct weft_case *cases;
    unsigned n, start;
};
static inline unsigned select_nth(const struct round *r, unsigned k) {
    unsigned i = r->start + k;
    return i < r->n ? i : i - r->n;
}

/* Leaves the first `entered` cases. Returns the index of the case that a partner has completed, or -1. */
static int select_leave(const struct round *r, unsigned entered) {
    int done = -1;
    for (unsigned k = 0; k < entered; k++) {
        unsigned i = select_nth(r, k);
        struct weft_case *c = &r->cases[i];
        struct weft__party *p = &select_case_of(c)->party;
        if (!c->on || c->kind == WEFT_CASE_SLEEPS) continue;
        if (c->kind == WEFT_CASE_POLLS) {
            if (!weft__readiness_leave(&select_case_of(c)->descriptor)) continue;
            c->result = select_case_of(c)->descriptor.got;
            done = (int)i;
        } else if (p->result != WEFT_PARTY_WAITS) { /* the partner has removed it from the chain */
            c->result = c->kind == WEFT_CASE_AWAITS ? weft__future_result(c->on, c->item) : p->result;
            done = (int)i;
        } else if (c->kind == WEFT_CASE_AWAITS)
            weft__wait_queue_leave(&((struct weft_future *)c->on)->queue, &p->waiter);
        else
            weft__chan_leave(c->on, p, case_sends(c));
    }
    return done;
}

/* time: the earliest time among the cases. */
static WEFT_SWITCHES int wait_by(struct weft__fiber *me, struct weft_case *cases, unsigned n, uint64_t ways,
                                 uint64_t deadline, uint64_t time) {
    for (;;) {
        struct round r = {cases, n, n > 1 ? draw_random(n) : 0};
        uint64_t ticket;
        bool in_time = false;
        int what = WAITS, err = weft__wait_begin(me, ways, &ticket);
        if (unlikely(err)) return weft__refused(me, err);
        unsigned k = 0;
        while (k < n && (what = select_enter(&cases[select_nth(&r, k)], me, ticket)) == WAITS) k++;
        if (likely(what == WAITS))
            err =
                weft__wait_block_for(me, ticket, time < deadline ? time : deadline, weft__for(WEFT_WAITS_SELECT, NULL));
        else if (what == LOST) /* a partner has won and will make this fiber ready: block until then */
            err = weft__wait_block_for(me, ticket, WEFT_FOREVER, weft__for(WEFT_WAITS_SELECT, NULL));
        if (unlikely(err)) in_time = time <= deadline && weft__wait_was_late(me);
        int done = select_leave(&r, k);
        if (what == AGAIN) continue;
        if (unlikely(in_time)) {
            if ((done = do_one(cases, n)) == -EAGAIN) continue;
            return done;
        }
        return what == DONE ? (int)select_nth(&r, k) : err ? err : done;
    }
}

static WEFT_COLD int wait_outside(struct weft__fiber *me, struct weft_case *cases, unsigned n, uint64_t deadline,
                                  uint64_t time) {
    int err = weft__poll_thread_hold(me);
    if (err) return err;
    err = wait_by(me, cases, n, WEFT_WAIT_BY_CANCEL | WEFT_WAIT_OUTSIDE, deadline, time);
    weft__poll_thread_release(me);
    return err;
}

/* Is there a descriptor among the cases? Also finds the earliest time. */
static inline bool look_over(const struct weft_case *cases, unsigned n, uint64_t *time) {
    bool outside = false;
    for (unsigned i = 0; i < n; i++) {
        if (likely(cases[i].kind < WEFT_CASE_POLLS) || !cases[i].on) continue;
        if (cases[i].kind == WEFT_CASE_POLLS)
            outside = true;
        else if (time_of(&cases[i]) < *time)
            *time = time_of(&cases[i]);
    }
    return outside;
}

static inline int select_wait_for_case(struct weft_case *cases, unsigned n, uint64_t deadline) {
    struct weft__fiber *me = weft__me();
    if (!me) return -ENOMEM;
    uint64_t time = WEFT_FOREVER;
    if (unlikely(look_over(cases, n, &time))) return wait_outside(me, cases, n, deadline, time);
    return wait_by(me, cases, n, WEFT_WAIT_BY_CANCEL, deadline, time);
}

/* ---------------------------------------------------------------------------------------------- */

static inline int select_check(const struct weft_case *cases, unsigned n) {
    if (unlikely((!cases && n) || n > INT32_MAX)) return -EINVAL;
    for (unsigned i = 0; i < n; i++) {
        const struct weft_case *c = &cases[i];
        if (!c->on) continue;
        if (unlikely(c->kind == WEFT_CASE_NONE || c->kind > WEFT_CASE_SLEEPS)) return -EINVAL;
        if (unlikely(c->kind == WEFT_CASE_POLLS && !weft__readiness_is_valid(events_of(c)))) return -EINVAL;
        if (unlikely(case_sends(c) && !c->item && ((struct weft_chan *)c->on)->size)) return -EINVAL;
    }
    return 0;
}

static inline int select_one(struct weft_case *cases, unsigned n, uint64_t deadline) {
    int which = select_check(cases, n);
    if (unlikely(which)) return which;
    which = do_one(cases, n);
    return which != -EAGAIN ? which : select_wait_for_case(cases, n, deadline);
}

WEFT_PUBLIC int weft_case_select(struct weft_case *cases, unsigned n) { return select_one(cases, n, WEFT_FOREVER); }

WEFT_PUBLIC int weft_case_select_until(struct weft_case *cases, unsigned n, uint64_t deadline) {
    return select_one(cases, n, deadline);
}

WEFT_PUBLIC int weft_case_select_try(struct weft_case *cases, unsigned n) {
    int which = select_check(cases, n);
    if (unlikely(which)) return which;
    do which = do_one(cases, n);
    while (which == -EAGAIN && !cases_unchanged(cases, n));
    return which;
}
