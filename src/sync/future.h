/*
 * Futures from inside, for future.c and select.c. The value of the queue's word says how it stands:
 * nothing yet, or done; whoever waits is a party (chan.h), so that a select learns which case it was.
 *
 * Done is for ever: whoever sees it, without the lock and with acquire, may read value and error.
 */
#ifndef WEFT_SYNC_FUTURE_H
#define WEFT_SYNC_FUTURE_H

#include "sync/chan.h"

#define WEFT_FUTURE_DONE WEFT_QUEUE_ONE

static inline bool weft__future_done(const struct weft_future *f) {
    return load_acq(weft__queue_word(&f->queue)) >= WEFT_FUTURE_DONE; /* pairs with the unlock of complete */
}

/* Of one that is done: what a wait returns. */
static inline int weft__future_result(const struct weft_future *f, void **value) {
    if (!f->error && value) *value = f->value;
    return f->error;
}

#endif
