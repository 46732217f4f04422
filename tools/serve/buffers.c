/* See buffers.h. A place holds one or none, and whoever exchanges it has it: no lock, and nothing to mistake. */
#include "buffers.h"

#include "base/atomic.h"
#include "weft.h"

#include <stdlib.h>

enum { WORKERS = 64, KEPT = 7 };

static struct { _Alignas(64) char *_Atomic free[KEPT]; } places[WORKERS];

/* After a wait the caller may be on another worker: then it gives to that one's. */
static char *_Atomic *place(void) { return places[(unsigned)weft_worker() % WORKERS].free; }

char *buffer_take(void) {
    char *_Atomic *free = place(), *found;
    for (int i = 0; i < KEPT; i++)
        if (load_rlx(&free[i]) && (found = xchg_ar(&free[i], NULL))) return found; /* pairs with give: it is unused */
    return malloc(BUFFER_SIZE);
}

void buffer_give(char *buffer) {
    char *_Atomic *to = place();
    for (int i = 0; i < KEPT && buffer; i++)
        if (!load_rlx(&to[i])) buffer = xchg_ar(&to[i], buffer); /* pairs with take; one that came meanwhile moves on */
    free(buffer);
}

void buffers_end(void) {
    for (int w = 0; w < WORKERS; w++)
        for (int i = 0; i < KEPT; i++) free(xchg_ar(&places[w].free[i], NULL)); /* pairs with give */
}
