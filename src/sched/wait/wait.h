/* SPDX-License-Identifier: MIT */
/*
 * The wait: the state of every parked fiber, and the only way to end it.
 *
 * One word of the fiber's record:
 *
 *      63 ........................ 8 | 7    | 6..5   | 4         | 3         | 2       | 1      | 0
 *      epoch: number of this wait    | LOOK | reason | BY_CANCEL | BY_PERMIT | WAITING | CANCEL | PERMIT
 *
 * The epoch grows with each wait, so a ticket (record and epoch) names one wait for ever. A completion, a permit, a
 * deadline or a cancellation ends a wait by a compare-and-swap from WAITING to its reason. Exactly one of them
 * succeeds, and the thread that succeeds makes the fiber ready. Records are type-stable, so an old ticket is harmless:
 * its swap fails.
 *
 *   the fiber                                    the thread that ends the wait
 *   1. begin: RUNNING -> WAITING, epoch + 1      1. win: WAITING, this epoch -> reason
 *      (or take the permit, or see CANCEL)       2. make_ready: into a queue
 *   2. hand out the ticket (chain, timer)
 *   3. suspend: run something else
 *   4. entered again: the reason is in the word
 *
 * After step 1 the fiber is still on its stack for a moment. Its wait may be won in that moment, and another carrier
 * may take the fiber from a queue; that carrier waits for on_stack, see context.h. Rejected: to publish the wait only
 * after the stack was left. That needs a second state and a second swap in every wait, and a function call after every
 * switch.
 *
 * PERMIT and CANCEL are in the same word. If one of them comes while the fiber runs, the swap of step 1 sees it. So
 * there is no gap between check and sleep. LOOK: before the fiber waits, it must enter the chain of its scope, where a
 * cancellation finds it (cancel.h).
 *
 * A thread that is no fiber has a record, too, and sleeps in the kernel; see wait.c.
 */
#ifndef WEFT_SCHED_WAIT_H
#define WEFT_SCHED_WAIT_H

#include "base/assert.h"
#include "sched/core/self.h"
#include "sched/core/wait_word.h"

/* For a wait that begins while CANCEL or LOOK is set: 0, or the error with which the wait ends. The second function
 * only returns the error, for a fiber that is cancelled. (cancel.c) */
int weft__cancel_heed(struct weft__fiber *me);
int weft__cancel_result(struct weft__fiber *me);

/*
 * Step 1. 0: the wait has begun, and *ticket is set. 1: there was a permit, which is consumed, and there is no wait.
 * -ECANCELED, or -ETIMEDOUT for the deadline of a scope. Only the fiber itself begins a wait.
 */
static inline int weft__wait_begin(struct weft__fiber *me, uint64_t ways, uint64_t *ticket) {
    uint64_t word = load_rlx(&me->wait), next;
    do {
        WEFT_ASSERT(!(word & WEFT_WAIT_WAITING)); /* only the fiber itself begins a wait, and it runs */
        if (unlikely(word & WEFT_WAIT_PERMIT & (ways >> 3))) {
            if (cas_ar(&me->wait, &word, word & ~WEFT_WAIT_PERMIT)) return 1; /* pairs with unpark */
            continue;
        }
        if (unlikely((word & (WEFT_WAIT_CANCEL | WEFT_WAIT_LOOK)) && (ways & WEFT_WAIT_BY_CANCEL))) {
            int err = weft__cancel_heed(me);
            if (err) return err;
            word = load_rlx(&me->wait);
            continue;
        }
        next = ((word & (WEFT_WAIT_EPOCH | WEFT_WAIT_STICKY)) + WEFT_WAIT_ONE) | WEFT_WAIT_WAITING | ways;
        /* Release: pairs with win; acquire: with an unpark or cancel that came before. */
        if (likely(cas_ar(&me->wait, &word, next))) break;
    } while (true);
    *ticket = next & WEFT_WAIT_EPOCH;
    WEFT_ASSERT(*ticket >= WEFT_WAIT_ONE);
    return 0;
}
_Static_assert(WEFT_WAIT_BY_PERMIT >> 3 == WEFT_WAIT_PERMIT, "wait_begin shifts one onto the other");

/* Tries to end the wait; true: the caller must make the fiber ready. Any thread. */
static inline bool weft__wait_win(struct weft__fiber *f, uint64_t ticket, uint64_t reason) {
    WEFT_ASSERT(f != NULL && !(ticket & ~WEFT_WAIT_EPOCH));
    WEFT_ASSERT(reason && !(reason & ~WEFT_WAIT_REASON));
    uint64_t word = load_rlx(&f->wait);
    do
        if ((word & (WEFT_WAIT_EPOCH | WEFT_WAIT_WAITING)) != (ticket | WEFT_WAIT_WAITING)) return false;
    while (!cas_ar(&f->wait, &word, ticket | (word & WEFT_WAIT_STICKY) | reason)); /* pairs with weft__wait_begin */
    return true;
}

/* Wins the wait of the fiber that a join word (core/fiber.h) names as the joiner: the caller must make it ready.
 * NULL: that fiber no longer waits for this join. */
static inline struct weft__fiber *weft__join_win(uint64_t join) {
    uint32_t index = weft__life_index(join >> 3);
    struct weft__fiber *joiner = weft__fiber_at(index);
    WEFT_ASSERT((join & WEFT_JOIN_TAG) >= WEFT_JOIN_BY && joiner != NULL);
    uint64_t ticket = load_rlx(&joiner->wait) & WEFT_WAIT_EPOCH;
    /* The word holds only 35 bits of the epoch. If the joiner no longer waits, this comparison or the win fails. */
    bool waits = weft__join_by(index, ticket) == join && weft__wait_win(joiner, ticket, WEFT_WON_DONE);
    return waits ? joiner : NULL;
}

/* Step 3 is weft__wait_block, in block.h. */

/* Sets CANCEL in the wait word if the handle is not stale (-ESRCH). *wakes: this ended the fiber's wait, and the caller
 * must make the fiber ready. */
int weft__wait_cancel(struct weft__fiber *f, struct weft_fiber fiber, bool *wakes);
/*
 * A wait was refused because the caller was cancelled. The caller holds no lock of weft. Returns err. A loop that
 * ignores this error would keep its worker busy for ever, so one refusal in WEFT_REFUSALS pauses the caller.
 */
#define WEFT_REFUSALS 64
#define WEFT_REFUSAL_PAUSE WEFT_MILLISECOND
int weft__refused(struct weft__fiber *me, int err);

/* Waits for this time. Neither an unpark nor a cancellation ends the wait early. */
void weft__wait_nap(struct weft__fiber *me, uint64_t nanoseconds);

/* Instead of step 3: the fiber has found that it need not wait. Returns what weft__wait_block would return. */
int weft__wait_withdraw(struct weft__fiber *me, uint64_t ticket);

#endif
