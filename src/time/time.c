/* SPDX-License-Identifier: MIT */
/*
 * The public functions for time: the clock and sleeping. Timers are in sched/wait/timer.c.
 */
#include "sched/wait/block.h"

WEFT_PUBLIC uint64_t weft_now(void) { return weft__clock(); }

WEFT_PUBLIC WEFT_SWITCHES int weft_sleep_until(uint64_t deadline) {
    struct weft__fiber *me = weft__me();
    if (!me) return -ENOMEM;
    uint64_t ticket;
    int err = weft__wait_begin(me, WEFT_WAIT_BY_CANCEL, &ticket);
    if (err) return weft__refused(me, err);
    err = weft__wait_block_for(me, ticket, deadline, weft__for(WEFT_WAITS_SLEEP, NULL));
    return err && weft__wait_was_late(me) ? 0 : err;
}

WEFT_PUBLIC int weft_sleep_for(uint64_t nanoseconds) {
    uint64_t now = weft__clock();
    return weft_sleep_until(nanoseconds < WEFT_FOREVER - now ? now + nanoseconds : WEFT_FOREVER);
}
