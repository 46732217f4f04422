/*
 * Requests of odd sizes: of no bytes, or of more than there can be. What a plain call makes of those depends on the
 * kind of file: an empty datagram is sent, an eventfd says EINVAL, a pointer is looked at. Neither a ring nor the
 * vectors of attempt.c ask the file.
 */
#ifndef WEFT_IO_ODD_H
#define WEFT_IO_ODD_H

#include "io/request.h"

#include <limits.h>

struct weft__fiber;

static inline bool weft__odd_is(const struct weft__request *r) {
    if (likely(r->size - 1 < SSIZE_MAX)) return false;
    return r->code == WEFT_IO_READ || r->code == WEFT_IO_WRITE || (r->code == WEFT_IO_RECV && !r->size);
}

/* True, and the result or a negative errno. False: it is to be made like any other, as *r is then. */
bool weft__odd_run(struct weft__fiber *me, struct weft__request *r, ssize_t *result);

#endif
