/* SPDX-License-Identifier: MIT */
/* Signals that come after a server has begun to listen, and before it has subscribed to them, must wait. Otherwise such
 * a signal would kill the process. */
#ifndef TOOLS_SIGNALS_H
#define TOOLS_SIGNALS_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

/* Blocks the signals of the set (WEFT_SIGNAL) in this thread and in the threads that it makes, before the server
 * listens. The thread of weft_signals_begin still takes them, also those that have come before. */
static inline void signals_hold(uint64_t set) {
    sigset_t held;
    sigemptyset(&held);
    for (int i = 1; i <= 64; i++)
        if (set >> (i - 1) & 1) sigaddset(&held, i);
    sigprocmask(SIG_BLOCK, &held, NULL);
}

#endif
