/* See buffers.h. A few dozen wait with their answers in the ring at the same time; the last one given is taken first.
 */
#include "buffers.h"

#include "base/lock.h"
#include "weft.h"

#include <stdlib.h>

enum { WORKERS = 64, KEPT = 126 };

static struct {
    _Alignas(64) struct weft__lock lock;
    unsigned count;
    char *free[KEPT];
} places[WORKERS];

char *buffer_take(void) {
    /* After a wait the caller may be on another worker: then it gives to that one's. */
    unsigned place = (unsigned)weft_worker() % WORKERS;
    weft__lock(&places[place].lock);
    char *found = places[place].count ? places[place].free[--places[place].count] : NULL;
    weft__unlock(&places[place].lock);
    return found ? found : malloc(BUFFER_SIZE);
}

void buffer_give(char *buffer) {
    unsigned place = (unsigned)weft_worker() % WORKERS;
    weft__lock(&places[place].lock);
    if (places[place].count < KEPT) {
        places[place].free[places[place].count++] = buffer;
        buffer = NULL;
    }
    weft__unlock(&places[place].lock);
    free(buffer);
}

void buffers_end(void) {
    for (int w = 0; w < WORKERS; w++)
        while (places[w].count) free(places[w].free[--places[w].count]);
}
