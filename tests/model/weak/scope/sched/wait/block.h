/* SPDX-License-Identifier: MIT */
/* Stands in for src/sched/wait/block.h: a wait blocks its thread of the exploration. */
#ifndef WEFT_SCHED_BLOCK_H
#define WEFT_SCHED_BLOCK_H

#include "sched/dispatch/make_ready.h"
#include "sched/record/tape.h"
#include "sched/wait/wait.h"

int scope_block(struct weft__fiber *me);
static inline int weft__wait_block(struct weft__fiber *me, uint64_t ticket, uint64_t deadline) {
    return (void)ticket, (void)deadline, scope_block(me);
}
static inline int weft__wait_block_for(struct weft__fiber *me, uint64_t ticket, uint64_t deadline,
                                       struct weft__waits_for what) {
    return (void)what, weft__wait_block(me, ticket, deadline);
}
static inline int weft__wait_result(struct weft__fiber *me, uint64_t word) { return (void)me, (void)word, 0; }
static inline bool weft__wait_was_late(struct weft__fiber *me) {
    return (load_rlx(&me->wait) & WEFT_WAIT_REASON) == WEFT_WON_DEADLINE;
}

#endif
