/* What latches know of a counter. See counter.c. */
#ifndef WEFT_SYNC_COUNTER_H
#define WEFT_SYNC_COUNTER_H

#include "sync/queue.h"

/* n less are outstanding. -EINVAL: not so many were. */
int weft__counter_lower(struct weft_counter *counter, uint64_t n);

#endif
