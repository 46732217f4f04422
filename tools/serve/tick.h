/* SPDX-License-Identifier: MIT */
/*
 * Time as a server needs it: to the second. One fiber makes it, once a second; all other fibers read it without
 * a system call.
 */
#ifndef SERVE_TICK_H
#define SERVE_TICK_H

#include "date.h"

#define TICK_DATE_SIZE (6 + DATE_SIZE + 2) /* "Date: ...\r\n" */

/* The ticker's; returns when it wants to be called again, a time of weft_now(). */
uint64_t tick(void);

/* Seconds, that never go back. */
uint32_t tick_now(void);

/* The time of day. */
time_t tick_time(void);

/* The field of a head: TICK_DATE_SIZE bytes, good for some seconds. */
const char *tick_date(void);

#endif
