/* SPDX-License-Identifier: MIT */
#include "buffers.h"

#include "base/lock.h"
#include "weft.h"

#include <stdlib.h>
#include <string.h>

#define STRIPES 16
#define KEPT_MOST 64 /* the most free buffers of a stripe */

static struct stripe {
    struct weft__lock lock;
    unsigned kept;
    char *first; /* the first free buffer; each free buffer begins with a pointer to the next */
} __attribute__((aligned(64))) stripes[STRIPES];

static _Atomic long made;

static __attribute__((noinline, cold)) char *make(void) {
    char *buffer = malloc(MC_BUFFER);
    if (buffer) add_rlx(&made, 1);
    return buffer;
}

/* Returns the stripe of this worker. Usually only this worker uses it, but a fiber may have moved before it returns a
 * buffer. */
static struct stripe *own(void) {
    int worker = weft_worker();
    return &stripes[worker < 0 ? 0 : (unsigned)worker % STRIPES];
}

char *mc_buffer_take(void) {
    struct stripe *stripe = own();
    weft__lock(&stripe->lock);
    char *buffer = stripe->first;
    if (buffer) {
        memcpy(&stripe->first, buffer, sizeof stripe->first);
        stripe->kept--;
    }
    weft__unlock(&stripe->lock);
    return buffer ? buffer : make();
}

void mc_buffer_give(char *buffer) {
    struct stripe *stripe = own();
    weft__lock(&stripe->lock);
    bool keep = stripe->kept < KEPT_MOST;
    if (keep) {
        memcpy(buffer, &stripe->first, sizeof stripe->first);
        stripe->first = buffer;
        stripe->kept++;
    }
    weft__unlock(&stripe->lock);
    if (keep) return;
    free(buffer);
    add_rlx(&made, -1);
}

size_t mc_buffers(size_t *spare) {
    *spare = 0;
    for (unsigned i = 0; i < STRIPES; i++) {
        weft__lock(&stripes[i].lock);
        *spare += stripes[i].kept;
        weft__unlock(&stripes[i].lock);
    }
    long all = load_rlx(&made);
    return all > (long)*spare ? (size_t)all : *spare;
}

void mc_buffers_end(void) {
    for (unsigned i = 0; i < STRIPES; i++)
        while (stripes[i].first) {
            char *buffer = stripes[i].first;
            memcpy(&stripes[i].first, buffer, sizeof stripes[i].first);
            free(buffer);
        }
    memset(stripes, 0, sizeof stripes);
    store_rlx(&made, 0);
}
