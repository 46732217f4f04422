/* SPDX-License-Identifier: MIT */
/*
 * The notice that a stop or a drain waits for: nothing may happen any more. See quiescence.c.
 */
#ifndef WEFT_SCHED_CORE_QUIESCENCE_H
#define WEFT_SCHED_CORE_QUIESCENCE_H

#include "base/atomic.h"

#include <stdbool.h>
#include <stdint.h>

struct weft__quiet {
    _Atomic uint32_t waiting;      /* stops and drains */
    _Atomic uint32_t notified;     /* grows when they should look again; a stop sleeps on it */
    void (*_Atomic collect)(void); /* ends the drains of clusters that are quiet; NULL: there was no drain yet */
};
extern struct weft__quiet weft__quiet;

/* Stops and drains that wait look again. */
void weft__quiet_notify(void);

#endif
