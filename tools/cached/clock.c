#include "clock.h"

#include "weft.h"

#include <time.h>

_Atomic uint32_t mc_clock = MC_FIRST_SECOND;
int64_t mc_clock_zero;
static uint64_t begun;

void mc_clock_begin(void) {
    begun = weft_now();
    mc_clock_zero = (int64_t)time(NULL) - MC_FIRST_SECOND;
    store_rlx(&mc_clock, MC_FIRST_SECOND);
}

void mc_clock_tick(void) { store_rlx(&mc_clock, MC_FIRST_SECOND + (uint32_t)((weft_now() - begun) / WEFT_SECOND)); }

uint32_t mc_expires(int32_t given) {
    if (!given) return 0;
    if (given < 0) return 1;
    if (given <= MC_RELATIVE_MOST) return mc_now() + (uint32_t)given;
    return given <= mc_clock_zero ? 1 : (uint32_t)(given - mc_clock_zero);
}
