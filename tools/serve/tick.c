/* SPDX-License-Identifier: MIT */
/* See tick.h. A line is overwritten only after all the others, so a reader has that many seconds. */
#include "tick.h"

#include "base/atomic.h"
#include "weft.h"

#define LINES 16

static char lines[LINES][TICK_DATE_SIZE];
static const char *_Atomic line = lines[0];
static _Atomic uint32_t now;
static _Atomic time_t wall;

uint64_t tick(void) {
    static unsigned next;
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    uint64_t monotonic = weft_now();
    char *at = lines[next++ % LINES];
    memcpy(at, "Date: ", 6);
    date_write(at + 6, time.tv_sec);
    memcpy(at + 6 + DATE_SIZE, "\r\n", 2);
    store_rlx(&now, (uint32_t)(monotonic / WEFT_SECOND));
    store_rlx(&wall, time.tv_sec);
    store_rel(&line, at); /* pairs with tick_date: the line is written */
    return monotonic + WEFT_SECOND - (uint64_t)time.tv_nsec;
}

uint32_t tick_now(void) { return load_rlx(&now); }

time_t tick_time(void) { return load_rlx(&wall); }

const char *tick_date(void) { return load_acq(&line); /* pairs with tick */ }
