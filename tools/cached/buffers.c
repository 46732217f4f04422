#include "buffers.h"

#include "base/lock.h"
#include "weft.h"

#include <stdlib.h>
#include <string.h>

#define STRIPES 16
#define KEPT_MOST 64 /* of each stripe */

static struct stripe {
    struct weft__lock lock;
    unsigned kept;
    char *first; /* each begins with a pointer to the next */
} __attribute__((aligned(64))) stripes[STRIPES];

/* A worker's own, mostly; it need not be, and the fiber may have moved when it gives the buffer back. */
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
    return buffer ? buffer : malloc(MC_BUFFER);
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
    if (!keep) free(buffer);
}

void mc_buffers_end(void) {
    for (unsigned i = 0; i < STRIPES; i++)
        while (stripes[i].first) {
            char *buffer = stripes[i].first;
            memcpy(&stripes[i].first, buffer, sizeof stripes[i].first);
            free(buffer);
        }
    memset(stripes, 0, sizeof stripes);
}
