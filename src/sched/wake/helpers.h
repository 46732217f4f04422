/* SPDX-License-Identifier: MIT */
/*
 * The threads that help the workers, and how these wake them. See helpers.c.
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
/* Memory has come to a pool, and may grow old there; or, at_once, fibers wait for stacks. */
void weft__trimmer_wake(bool at_once);

#endif
