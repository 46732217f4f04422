/* In the stead of src/sched/block.h: a thread of the explorer that waits goes on when it was made ready. */
#ifndef WEFT_SCHED_BLOCK_H
#define WEFT_SCHED_BLOCK_H

#include "sched/wait.h"

void interleave_block(void);

#define weft__make_ready interleave_make_ready
void interleave_make_ready(struct weft__fiber *f);

static inline int weft__wait_result(struct weft__fiber *me, uint64_t word) {
    uint64_t reason = word & WEFT_WAIT_REASON;
    if (reason == WEFT_WON_DONE) return 0;
    return reason == WEFT_WON_DEADLINE ? -ETIMEDOUT : weft__told_result(me);
}

static inline int weft__wait_block(struct weft__fiber *me, uint64_t ticket, uint64_t deadline) {
    (void)ticket, (void)deadline;
    interleave_block();
    return weft__wait_result(me, atomic_load(&me->wait));
}

static inline bool weft__wait_was_late(struct weft__fiber *me) {
    return (atomic_load(&me->wait) & WEFT_WAIT_REASON) == WEFT_WON_DEADLINE;
}

#endif
