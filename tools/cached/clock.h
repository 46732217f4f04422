/* SPDX-License-Identifier: MIT */
/*
 * Time as the cache has it: whole seconds since shortly before its beginning, moved on once a second by the
 * ticker (server.c), so that no command asks the kernel. Tests set it as they like.
 *
 * 0 is no time: an item that expires at 0 never does. 1 is before everything.
 */
#ifndef CACHED_CLOCK_H
#define CACHED_CLOCK_H

#include "base/atomic.h"

#include <stdbool.h>
#include <stdint.h>

#define MC_FIRST_SECOND 2
#define MC_RELATIVE_MOST (60 * 60 * 24 * 30) /* what a client gives beyond that is a date */

extern _Atomic uint32_t mc_clock;
extern int64_t mc_clock_zero; /* the date of second 0, as time(2) has it */

static inline uint32_t mc_now(void) { return load_rlx(&mc_clock); }

void mc_clock_begin(void);
void mc_clock_tick(void);
uint32_t mc_uptime(void); /* seconds since the beginning */

/* Goes on from a second 0 of earlier, as the times of items that were kept have it. False: that is not in the past, or
 * too long ago. */
bool mc_clock_resume(int64_t zero);
void mc_clock_move(int32_t seconds); /* for tests */

/* When something expires, from what a client gave: 0 never, negative at once, seconds from now, or a date. */
uint32_t mc_expires(int32_t given);

#endif
