/* SPDX-License-Identifier: MIT */
/* See buffers.h. The last returned buffer is taken first, because it is in the CPU's caches. */
#include "buffers.h"

#include "base/lock.h"
#include "weft.h"

#include <stdlib.h>

enum { WORKERS = 64, KEPT = 126 };

static struct place {
    _Alignas(64) struct weft__lock lock;
    unsigned count;
    char *free[KEPT];
} places[WORKERS];

static _Atomic unsigned made; /* buffers that were allocated and not freed yet */

/* After a wait the caller may be on another worker: then it returns the buffer to that worker. */
static struct place *lock_place(void) {
    struct place *place = &places[(unsigned)weft_worker() % WORKERS];
    weft__lock(&place->lock);
    return place;
}

static char *make(void) {
    char *buffer = malloc(BUFFER_SIZE);
    if (buffer) add_rlx(&made, 1);
    return buffer;
}

char *buffer_take(void) {
    struct place *place = lock_place();
    char *found = place->count ? place->free[--place->count] : NULL;
    weft__unlock(&place->lock);
    return found ? found : make();
}

void buffer_give(char *buffer) {
    struct place *place = lock_place();
    bool fits = place->count < KEPT;
    if (fits) place->free[place->count++] = buffer;
    weft__unlock(&place->lock);
    if (fits) return;
    free(buffer);
    add_rlx(&made, -1u);
}

bool buffers_scarce(void) {
    struct place *place = lock_place();
    bool none = !place->count;
    weft__unlock(&place->lock);
    return none && load_rlx(&made) >= KEPT;
}

void buffers_end(void) {
    for (struct place *place = places; place < places + WORKERS; place++)
        while (place->count) free(place->free[--place->count]);
    store_rlx(&made, 0);
}
