/* Calls that block, made by a thread of the pool while a fiber waits. See weft/io.h, weft_blocking. */
#ifndef WEFT_IO_BLOCKING_H
#define WEFT_IO_BLOCKING_H

#include "io/request.h"

/* The request's result, or -ECANCELED, -ETIMEDOUT, -EAGAIN: then it was not made. Once a thread is at it, its end is
 * waited for: it may use the memory of the caller. */
ssize_t weft__blocking_request(const struct weft__request *r);
/* 0, and its result; or it was not made. */
int weft__blocking_make(const struct weft__request *r, ssize_t *result);

#endif
