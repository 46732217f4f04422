/* SPDX-License-Identifier: MIT */
#include "clock.h"

#include "weft.h"

#include <time.h>

_Atomic uint32_t mc_clock = MC_FIRST_SECOND;
int64_t mc_clock_zero;
static uint64_t begun;
static _Atomic uint32_t first = MC_FIRST_SECOND; /* the initial time of the clock */
static _Atomic int32_t moved;                    /* seconds by which tests have moved the clock */

void mc_clock_begin(void) {
    begun = weft_now();
    mc_clock_zero = (int64_t)time(NULL) - MC_FIRST_SECOND;
    store_rlx(&first, MC_FIRST_SECOND);
    store_rlx(&mc_clock, MC_FIRST_SECOND);
}

uint32_t mc_uptime(void) { return (uint32_t)((weft_now() - begun) / WEFT_SECOND); }

void mc_clock_tick(void) { store_rlx(&mc_clock, load_rlx(&first) + mc_uptime() + (uint32_t)load_rlx(&moved)); }

bool mc_clock_resume(int64_t zero) {
    int64_t now = (int64_t)time(NULL);
    if (zero <= 0 || now - zero < MC_FIRST_SECOND || now - zero > INT32_MAX) return false;
    mc_clock_zero = zero;
    store_rlx(&first, (uint32_t)(now - zero) - mc_uptime());
    mc_clock_tick();
    return true;
}

void mc_clock_move(int32_t seconds) {
    add_rlx(&moved, seconds);
    mc_clock_tick();
}

uint32_t mc_expires(int32_t given) {
    if (!given) return 0;
    if (given < 0) return 1;
    if (given <= MC_RELATIVE_MOST) return mc_now() + (uint32_t)given;
    return given <= mc_clock_zero ? 1 : (uint32_t)(given - mc_clock_zero);
}
