/* SPDX-License-Identifier: MIT */
/*
 * How workers wake the threads that help them: the monitor (elastic/monitor.c) and the trimmer (elastic/trim.c). Each
 * of these sleeps on a word of its own.
 */
#include "sched/wake/helpers.h"

#include "base/sys.h"

_Atomic uint32_t weft__monitor_rests;

WEFT_COLD void weft__monitor_wake(void) {
    if (xchg_ar(&weft__monitor_rests, 0)) weft__futex_wake(&weft__monitor_rests, 1);
}

_Atomic uint32_t weft__trimmer_rests;

void weft__trimmer_wake(bool at_once) {
    uint32_t how = load_rlx(&weft__trimmer_rests);
    if (likely(how != WEFT_TRIMMER_RESTS_FOR_EVER) && !(at_once && how == WEFT_TRIMMER_RESTS)) return;
    if (xchg_ar(&weft__trimmer_rests, WEFT_TRIMMER_WORKS) != WEFT_TRIMMER_WORKS)
        weft__futex_wake(&weft__trimmer_rests, 1);
}
