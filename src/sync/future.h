/* SPDX-License-Identifier: MIT */
/*
 * Futures, internal, for future.c and select.c. The value of the wait queue's word is 0 or WEFT_FUTURE_DONE. A waiter
 * is a party (chan.h), so that a select learns which case completed.
 *
 * A future stays done. A thread that sees it done, with acquire and without the lock, may read value and error.
 */
#ifndef WEFT_SYNC_FUTURE_H
#define WEFT_SYNC_FUTURE_H

#include "sync/chan.h"

#define WEFT_FUTURE_DONE WEFT_QUEUE_ONE

static inline bool weft__future_is_done(const struct weft_future *f) {
    return load_acq(weft__wait_queue_word(&f->queue)) >= WEFT_FUTURE_DONE; /* pairs with the unlock in complete */
}

/* The result of a wait for a future that is done. */
static inline int weft__future_result(const struct weft_future *f, void **value) {
    if (!f->error && value) *value = f->value;
    return f->error;
}

#endif
