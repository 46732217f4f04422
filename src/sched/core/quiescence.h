/* SPDX-License-Identifier: MIT */
/*
 * Notifies stops and drains: perhaps nothing will happen any more. See quiescence.c.
 */
#ifndef WEFT_SCHED_CORE_QUIESCENCE_H
#define WEFT_SCHED_CORE_QUIESCENCE_H

#include "base/atomic.h"

#include <stdbool.h>
#include <stdint.h>

struct weft__quiet {
    _Atomic uint32_t waiting;      /* number of stops and drains that wait */
    _Atomic uint32_t notified;     /* grows with each notification; a stop sleeps on it */
    void (*_Atomic collect)(void); /* ends the drains of quiet clusters; NULL: there was no drain yet */
};
extern struct weft__quiet weft__quiet;

/* Makes all waiting stops and drains look again. */
void weft__quiet_notify(void);

#endif
