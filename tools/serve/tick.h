/* SPDX-License-Identifier: MIT */
/*
 * Time with a resolution of a second. One fiber updates it once a second; the other fibers read it without a system
 * call.
 */
#ifndef SERVE_TICK_H
#define SERVE_TICK_H

#include "date.h"

#define TICK_DATE_SIZE (6 + DATE_SIZE + 2) /* "Date: ...\r\n" */

/* Called by the ticker. Returns the time of weft_now() for the next call. */
uint64_t tick(void);

/* Seconds, that never go back. */
uint32_t tick_now(void);

/* The time of day. */
time_t tick_time(void);

/* The Date field of a head: TICK_DATE_SIZE bytes, valid for some seconds. */
const char *tick_date(void);

#endif
