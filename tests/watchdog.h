/* SPDX-License-Identifier: MIT */
/* For tests that run until the time is over: a thread that notices when they make no progress any more. */
#ifndef WEFT_TESTS_WATCHDOG_H
#define WEFT_TESTS_WATCHDOG_H

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <unistd.h>

/* Returns when the number did not change for this many seconds. Called by a thread of its own, which then receives no
 * signals: these would cut its seconds short. */
static inline void watch_number(_Atomic uint64_t *number, unsigned seconds) {
    sigset_t every;
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, NULL);
    uint64_t last = 0;
    for (unsigned still = 0; still < seconds; sleep(1)) {
        uint64_t now = atomic_load_explicit(number, memory_order_relaxed);
        still = now == last ? still + 1 : 0;
        last = now;
    }
}

#endif
