/* What condition variables, and tests, know of a mutex. See mutex.c. */
#ifndef WEFT_SYNC_MUTEX_H
#define WEFT_SYNC_MUTEX_H

#include "sync/queue.h"

#define WEFT_MUTEX_HELD WEFT_QUEUE_ONE
#define WEFT_MUTEX_HEIR (WEFT_QUEUE_ONE << 1)
#define WEFT_MUTEX_PASS (WEFT_QUEUE_ONE << 2)
#ifndef WEFT_MUTEX_PASSES
#define WEFT_MUTEX_PASSES 64
#endif
#define WEFT_MUTEX_FULL (WEFT_MUTEX_PASSES * WEFT_MUTEX_PASS) /* a word from here on: nobody may pass the heir */

/* Who holds it (weft__life), or 0. */
static inline _Atomic uint64_t *weft__mutex_owner(struct weft_mutex *m) {
    return (_Atomic uint64_t *)(void *)&m->owner;
}

/* The re-lock of a condition variable: it always completes. */
int weft__mutex_relock(struct weft_mutex *mutex);

#endif
