/* SPDX-License-Identifier: MIT */
/* Blocking calls, made by a thread of the pool while a fiber waits. See weft/io.h, weft_blocking. */
#ifndef WEFT_IO_BLOCKING_H
#define WEFT_IO_BLOCKING_H

#include "io/request.h"

/* Returns the request's result. -ECANCELED, -ETIMEDOUT, -EAGAIN: the request was not made. Once a thread makes it, the
 * fiber waits for its end, because the request may use the caller's memory. */
ssize_t weft__blocking_run(const struct weft__request *r);
/* The same. Returns 0 and stores the result in *result. An error: the request was not made. */
int weft__blocking_perform(const struct weft__request *r, ssize_t *result);

#endif
