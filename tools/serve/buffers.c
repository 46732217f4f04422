/* SPDX-License-Identifier: MIT */
/* See buffers.h. The last returned buffer is taken first, because it is in the CPU's caches. */
#include "buffers.h"

#include "base/lock.h"
#include "weft.h"

#include <stdlib.h>

enum { WORKERS = 64, KEPT = 126 };

static struct stripe {
    _Alignas(64) struct weft__lock lock;
    unsigned count;
    char *free[KEPT];
} stripes[WORKERS];

static _Atomic unsigned made; /* buffers that were allocated and not freed yet */

/* After a wait the caller may be on another worker: then it returns the buffer to that worker. */
static struct stripe *lock_stripe(void) {
    struct stripe *stripe = &stripes[(unsigned)weft_worker() % WORKERS];
    weft__lock(&stripe->lock);
    return stripe;
}

static char *make(void) {
    char *buffer = malloc(BUFFER_SIZE);
    if (buffer) add_rlx(&made, 1);
    return buffer;
}

char *buffer_take(void) {
    struct stripe *stripe = lock_stripe();
    char *found = stripe->count ? stripe->free[--stripe->count] : NULL;
    weft__unlock(&stripe->lock);
    return found ? found : make();
}

void buffer_give(char *buffer) {
    struct stripe *stripe = lock_stripe();
    bool fits = stripe->count < KEPT;
    if (fits) stripe->free[stripe->count++] = buffer;
    weft__unlock(&stripe->lock);
    if (fits) return;
    free(buffer);
    add_rlx(&made, -1u);
}

bool buffers_scarce(void) {
    struct stripe *stripe = lock_stripe();
    bool none = !stripe->count;
    weft__unlock(&stripe->lock);
    return none && load_rlx(&made) >= KEPT;
}

void buffers_end(void) {
    for (struct stripe *stripe = stripes; stripe < stripes + WORKERS; stripe++)
        while (stripe->count) free(stripe->free[--stripe->count]);
    store_rlx(&made, 0);
}
