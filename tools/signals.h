/* SPDX-License-Identifier: MIT */
/* Signals between the moment when a server listens and the moment when it hears them: they wait. Without that, a
 * signal that comes just then ends the process as if it were no server yet. */
#ifndef TOOLS_SIGNALS_H
#define TOOLS_SIGNALS_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

/* Those of the set (WEFT_SIGNAL) are blocked for this thread and all that it makes, before it listens. The thread
 * behind weft_signals_begin takes them all the same, also those that have come before. */
static inline void signals_hold(uint64_t set) {
    sigset_t held;
    sigemptyset(&held);
    for (int i = 1; i <= 64; i++)
        if (set >> (i - 1) & 1) sigaddset(&held, i);
    sigprocmask(SIG_BLOCK, &held, NULL);
}

#endif
