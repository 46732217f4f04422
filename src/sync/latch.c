/* SPDX-License-Identifier: MIT */
/* Latches: a counter that only falls. See counter.c. */
#include "sched/wait/wait_queue.h"

#include "sched/wait/cancel.h"

WEFT_PUBLIC int weft_latch_init(struct weft_latch *latch, uint64_t count) {
    if (!latch || count > WEFT_QUEUE_MAX) return -EINVAL;
    *latch = (struct weft_latch)WEFT_LATCH_INIT(count);
    return 0;
}

WEFT_PUBLIC int weft_latch_count_down(struct weft_latch *latch, uint64_t n) {
    return latch ? weft__counter_lower(&latch->counter, n) : -EINVAL;
}

WEFT_PUBLIC int weft_latch_wait_until(struct weft_latch *latch, uint64_t deadline) {
    return latch ? weft_counter_wait_until(&latch->counter, 0, deadline) : -EINVAL;
}

WEFT_PUBLIC int weft_latch_wait(struct weft_latch *latch) { return weft_latch_wait_until(latch, WEFT_FOREVER); }

WEFT_PUBLIC int weft_latch_try(struct weft_latch *latch) {
    if (!latch) return -EINVAL;
    return load_acq(weft__wait_queue_word(&latch->counter.queue)) < WEFT_QUEUE_ONE
               ? 0
               : -EAGAIN; /* pairs with weft_latch_count_down */
}
