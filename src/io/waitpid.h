/* SPDX-License-Identifier: MIT */
/* Waiting for a child process. */
#ifndef WEFT_IO_WAITPID_H
#define WEFT_IO_WAITPID_H

#include "io/request.h"

/* waitpid for a fiber, with either engine. Returns the result or a negative errno. */
ssize_t weft__waitpid_run(const struct weft__request *r);

#endif
