/* SPDX-License-Identifier: MIT */
/*
 * Waiting for objects that glibc serves: locks that are shared between processes, or robust. Such a wait blocks the
 * carrier, and the number of spare workers is limited. So only a few threads at a time wait in glibc. Further threads
 * park for a moment, and try again.
 */
#ifndef WEFT_THREADS_SHARED_H
#define WEFT_THREADS_SHARED_H

#include "threads/threads.h"

#include <errno.h>

/* True: the caller may wait in glibc, and calls weft__shared_end afterwards. Kernel threads always may. */
bool weft__shared_begin(void);
void weft__shared_end(void);
void weft__shared_after_fork(void);
/* Parks for a moment, longer with each turn. False: the deadline has passed. */
bool weft__shared_pause(unsigned *turn, uint64_t deadline);

/* Waits in glibc; or tries again until the result is not `busy`, or the deadline passes: ETIMEDOUT. */
#define SHARED_WAIT(deadline, wait, attempt, busy) \
    ({ \
        unsigned turn_ = 0; \
        int result_; \
        if (weft__shared_begin()) { \
            result_ = wait; \
            weft__shared_end(); \
        } else \
            while ((result_ = attempt) == (busy)) \
                if (!weft__shared_pause(&turn_, deadline)) { \
                    result_ = ETIMEDOUT; \
                    break; \
                } \
        result_; \
    })

#endif
