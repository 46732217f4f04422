/* SPDX-License-Identifier: MIT */
/* How many threads wait in glibc. See shared.h. */
#define _GNU_SOURCE
#include "threads/shared.h"

enum { MOST = 16, SHORTEST = 200, LONGEST_TURN = 6 }; /* pauses from 200 us to 13 ms */
static _Atomic uint32_t waiters;

bool weft__shared_begin(void) {
    if (!weft__caller_parks()) return true;
    if (add_rlx(&waiters, 1) < MOST) return true;
    add_rlx(&waiters, -1u);
    return false;
}

void weft__shared_end(void) {
    if (weft__caller_parks()) add_rlx(&waiters, -1u);
}

void weft__shared_after_fork(void) { store_rlx(&waiters, 0); }

bool weft__shared_pause(unsigned *turn, uint64_t deadline) {
    _Atomic uint32_t never = 0;
    uint64_t until = weft_now() + ((uint64_t)SHORTEST << *turn) * WEFT_MICROSECOND;
    if (until > deadline) until = deadline;
    weft__lot_wait(&never, 0, until, WEFT_LOT_PLAIN, weft__lot_for(WEFT_WAITS_SLEEP, NULL));
    if (*turn < LONGEST_TURN) ++*turn;
    return weft_now() < deadline;
}
