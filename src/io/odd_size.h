/* SPDX-License-Identifier: MIT */
/*
 * Requests of odd sizes: no bytes, or more than SSIZE_MAX. What the plain call does with those depends on the kind of
 * file: it sends an empty datagram, an eventfd returns EINVAL, a bad pointer is detected. Neither a ring nor the
 * vectored calls of nonblocking.c ask the file.
 */
#ifndef WEFT_IO_ODD_SIZE_H
#define WEFT_IO_ODD_SIZE_H

#include "io/request.h"

#include <limits.h>

struct weft__fiber;

static inline bool weft__request_has_odd_size(const struct weft__request *r) {
    if (likely(r->size - 1 < SSIZE_MAX)) return false;
    return r->code == WEFT_IO_READ || r->code == WEFT_IO_WRITE || (r->code == WEFT_IO_RECV && !r->size);
}

/* True: *result is the result or a negative errno. False: *r is now a request to make as usual. */
bool weft__odd_size_run(struct weft__fiber *me, struct weft__request *r, ssize_t *result);

#endif
