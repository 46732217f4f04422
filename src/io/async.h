/* What is in a struct weft_io. */
#ifndef WEFT_IO_ASYNC_H
#define WEFT_IO_ASYNC_H

#include "driver/ring.h"
#include "io/request.h"

struct weft__io {
    struct weft_future future;
    struct weft__request request;
    _Atomic uint64_t fiber; /* its handle, that makes the request, if the engine cannot make it under way; else 0 */
    struct weft__op op;     /* the ring's */
    _Atomic bool cancelled; /* by weft_io_cancel */
    bool begun;             /* else the rest means nothing */
};
_Static_assert(sizeof(struct weft__io) <= sizeof(struct weft_io), "it has the room");

/* It is done: the result, or a negative errno. */
void weft__io_done(struct weft__io *io, ssize_t result);
/* A fiber of its own is to make it. */
int weft__io_spawn(struct weft__io *io);

#endif
