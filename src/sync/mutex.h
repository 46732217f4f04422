/* SPDX-License-Identifier: MIT */
/* The parts of a mutex that condition variables and tests use. See mutex.c. */
#ifndef WEFT_SYNC_MUTEX_H
#define WEFT_SYNC_MUTEX_H

#include "sched/wait/wait_queue.h"

#define WEFT_MUTEX_HELD WEFT_QUEUE_ONE
#define WEFT_MUTEX_HEIR (WEFT_QUEUE_ONE << 1)
#define WEFT_MUTEX_PASS (WEFT_QUEUE_ONE << 2)
#ifndef WEFT_MUTEX_PASSES
#define WEFT_MUTEX_PASSES 64
#endif
#define WEFT_MUTEX_FULL \
    (WEFT_MUTEX_PASSES * WEFT_MUTEX_PASS) /* at or above this word, only the heir may take the mutex */

/* The fiber or thread that holds the mutex (weft__life), or 0. */
static inline _Atomic uint64_t *weft__mutex_owner(struct weft_mutex *m) {
    return (_Atomic uint64_t *)(void *)&m->owner;
}

#endif
