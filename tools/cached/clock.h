/* SPDX-License-Identifier: MIT */
/*
 * The time of the cache: whole seconds since shortly before its start. The ticker (server.c) advances it once a second,
 * so that no command calls the kernel. Tests set it freely.
 *
 * 0 means never: an item with expiry 0 does not expire. 1 is before all other times.
 */
#ifndef CACHED_CLOCK_H
#define CACHED_CLOCK_H

#include "base/atomic.h"

#include <stdbool.h>
#include <stdint.h>

#define MC_FIRST_SECOND 2
#define MC_RELATIVE_MOST (60 * 60 * 24 * 30) /* a larger number from a client is a date */

extern _Atomic uint32_t mc_clock;
extern int64_t mc_clock_zero; /* the date of second 0, as a time of time(2) */

static inline uint32_t mc_now(void) { return load_rlx(&mc_clock); }

void mc_clock_begin(void);
void mc_clock_tick(void);
uint32_t mc_uptime(void); /* seconds since the start */

/* Continues from an earlier second 0, so that the times of restored items stay valid. False: that second is not in the
 * past, or too long ago. */
bool mc_clock_resume(int64_t zero);
void mc_clock_move(int32_t seconds); /* for tests */

/* Returns the expiry time for a client's number: 0 never expires, a negative number expires at once, other numbers are
 * seconds from now, or a date. */
uint32_t mc_expires(int32_t given);

#endif
