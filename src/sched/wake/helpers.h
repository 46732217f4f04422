/* SPDX-License-Identifier: MIT */
/*
 * How workers wake the monitor and the trimmer. See helpers.c.
 */
#ifndef WEFT_SCHED_WAKE_HELPERS_H
#define WEFT_SCHED_WAKE_HELPERS_H

#include "base/atomic.h"

#include <stdbool.h>
#include <stdint.h>

/* Does the monitor sleep until a worker finds work? */
extern _Atomic uint32_t weft__monitor_rests;
void weft__monitor_wake(void);

enum { WEFT_TRIMMER_WORKS, WEFT_TRIMMER_RESTS, WEFT_TRIMMER_RESTS_FOR_EVER };
extern _Atomic uint32_t weft__trimmer_rests;
/* Called after memory has come to a pool: the trimmer looks at it again when it may have grown old. at_once: fibers
 * wait for stacks, so the trimmer must look now. */
void weft__trimmer_wake(bool at_once);

#endif
