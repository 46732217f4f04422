/* SPDX-License-Identifier: MIT */
/*
 * Step 3 of a wait (wait.h): give the worker away until the wait is won. Inlined into every call
 * that parks, so that one return leads from the switch back to the user: the processor predicts
 * returns by the calls it saw, and after a switch it saw another fiber's.
 */
#ifndef WEFT_SCHED_BLOCK_H
#define WEFT_SCHED_BLOCK_H

#include "base/assert.h"
#include "sched/dispatch/dispatch.h"
#include "sched/record/tape.h"
#include "sched/wait/wait.h"

static inline int weft__wait_result(struct weft__fiber *me, uint64_t word) {
    uint64_t reason = word & WEFT_WAIT_REASON;
    if (likely(reason == WEFT_WON_DONE)) return 0;
    return reason == WEFT_WON_DEADLINE ? -ETIMEDOUT : weft__cancel_result(me);
}

/* The caller's last wait was ended by its own deadline; -ETIMEDOUT may also be that of a scope. */
static inline bool weft__wait_was_late(struct weft__fiber *me) {
    return (load_rlx(&me->wait) & WEFT_WAIT_REASON) == WEFT_WON_DEADLINE;
}

/* Threads, and waits with a deadline. */
int weft__wait_block_slow(struct weft__fiber *me, uint64_t ticket, uint64_t deadline, struct weft__waits_for what);

/* The same; while the caller waits, nothing is expected of its deadline: its cluster can be quiet. */
int weft__wait_block_idly(struct weft__fiber *me, uint64_t ticket, uint64_t deadline);

/* 0, -ETIMEDOUT or -ECANCELED. The deadline is armed here; WEFT_FOREVER: none. what: for the recorder; only slow
 * paths look at it. */
static inline __attribute__((always_inline)) int weft__wait_block_for(struct weft__fiber *me, uint64_t ticket,
                                                                      uint64_t deadline, struct weft__waits_for what) {
    if (unlikely(deadline != WEFT_FOREVER || load_rlx(&me->context.kind) != WEFT_KIND_FIBER))
        return weft__wait_block_slow(me, ticket, deadline, what);
    struct weft__worker *w = weft__self();
    count_add(&w->numbers.parks, 1);
    WEFT_ASSERT(load_rlx(&w->current) == me); /* a fiber blocks itself, nothing else does */
    weft__suspend_for(w, me, what);
    WEFT_ASSERT(!(load_rlx(&me->wait) & WEFT_WAIT_WAITING)); /* the wait was won before the fiber was entered */
    return weft__wait_result(me, load_rlx(&me->wait));       /* the switch has ordered it */
}
static inline __attribute__((always_inline)) int weft__wait_block(struct weft__fiber *me, uint64_t ticket,
                                                                  uint64_t deadline) {
    return weft__wait_block_for(me, ticket, deadline, weft__for(0, NULL));
}

#endif
