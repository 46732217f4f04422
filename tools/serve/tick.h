/* SPDX-License-Identifier: MIT */
/*
 * The time, with a resolution of a second. The ticker updates it once a second. Other fibers read it without a system
 * call.
 */
#ifndef SERVE_TICK_H
#define SERVE_TICK_H

#include "date.h"

#define TICK_DATE_SIZE (6 + DATE_SIZE + 2) /* "Date: ...\r\n" */

/* Called by the ticker. Returns the time of weft_now() for the next call. */
uint64_t tick(void);

/* Returns the seconds of a clock that never goes back. */
uint32_t tick_now(void);

/* Returns the time of day. */
time_t tick_time(void);

/* Returns the Date field of a head: TICK_DATE_SIZE bytes, valid for some seconds. */
const char *tick_date(void);

#endif
