/* SPDX-License-Identifier: MIT */
/*
 * Step 3 of a wait (wait.h): gives the worker away until the wait is won. It is inlined into every call that parks, so
 * that there is only one return between the switch and the program. The processor predicts a return by the calls that
 * it has seen, and after a switch those were calls of another fiber.
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

/* Was the caller's last wait ended by its own deadline? -ETIMEDOUT alone does not tell: it may come from a scope. */
static inline bool weft__wait_was_late(struct weft__fiber *me) {
    return (load_rlx(&me->wait) & WEFT_WAIT_REASON) == WEFT_WON_DEADLINE;
}

/* Threads, and waits with a deadline. */
int weft__wait_block_slow(struct weft__fiber *me, uint64_t ticket, uint64_t deadline, struct weft__waits_for what);

/* The same, but the deadline does not count as something that will happen: meanwhile the cluster can be quiet. */
int weft__wait_block_idly(struct weft__fiber *me, uint64_t ticket, uint64_t deadline);

/* 0, -ETIMEDOUT or -ECANCELED. The deadline is armed here; WEFT_FOREVER: none. what: for the recorder; only slow
 * paths look at it. */
static inline __attribute__((always_inline)) int weft__wait_block_for(struct weft__fiber *me, uint64_t ticket,
                                                                      uint64_t deadline, struct weft__waits_for what) {
    if (unlikely(deadline != WEFT_FOREVER || load_rlx(&me->context.kind) != WEFT_KIND_FIBER))
        return weft__wait_block_slow(me, ticket, deadline, what);
    struct weft__worker *w = weft__self();
    count_add(&w->numbers.parks, 1);
    WEFT_ASSERT(load_rlx(&w->current) == me); /* only the fiber itself blocks */
    weft__suspend_for(w, me, what);
    WEFT_ASSERT(!(load_rlx(&me->wait) & WEFT_WAIT_WAITING)); /* the wait was won before the fiber was entered */
    return weft__wait_result(me, load_rlx(&me->wait));       /* the switch has ordered it */
}
static inline __attribute__((always_inline)) int weft__wait_block(struct weft__fiber *me, uint64_t ticket,
                                                                  uint64_t deadline) {
    return weft__wait_block_for(me, ticket, deadline, weft__for(0, NULL));
}

#endif
