/* SPDX-License-Identifier: MIT */
/*
 * Notifies stops and drains that perhaps nothing will happen any more. They then look themselves; see
 * control/quiescence.c.
 */
#include "sched/core/quiescence.h"

#include "base/sys.h"

struct weft__quiet weft__quiet;

WEFT_COLD void weft__quiet_notify(void) {
    fence_sc(); /* pairs with a stop or drain that begins to wait: it sees what we changed, or we see that it waits */
    if (likely(!load_rlx(&weft__quiet.waiting))) return;
    void (*collect)(void) = load_acq(&weft__quiet.collect); /* pairs with weft__drain_wait */
    if (collect) collect();
    add_ar(&weft__quiet.notified, 1);
    weft__futex_wake(&weft__quiet.notified, 1);
}
