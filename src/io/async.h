/* SPDX-License-Identifier: MIT */
/* The contents of a struct weft_io: an operation that runs in the background. */
#ifndef WEFT_IO_ASYNC_H
#define WEFT_IO_ASYNC_H

#include "driver/uring.h"
#include "io/request.h"

struct weft__io {
    struct weft_future future;
    struct weft__request request;
    _Atomic uint64_t
        fiber; /* handle of the fiber that makes the request, if the engine cannot run it in the background; else 0 */
    struct weft__op op;     /* for the ring */
    _Atomic bool cancelled; /* by weft_io_cancel */
    bool begun;             /* false: the other fields are not valid */
};
_Static_assert(sizeof(struct weft__io) <= sizeof(struct weft_io), "it has the room");

/* Completes the operation with its result or a negative errno. */
void weft__io_complete(struct weft__io *io, ssize_t result);
/* Spawns a fiber that makes the request. */
int weft__io_spawn(struct weft__io *io);

#endif
