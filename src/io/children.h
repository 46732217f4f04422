/* Waiting for a child process. */
#ifndef WEFT_IO_CHILDREN_H
#define WEFT_IO_CHILDREN_H

#include "io/request.h"

/* waitpid for a fiber, by whichever engine: the result or a negative errno. */
ssize_t weft__children_wait(const struct weft__request *r);

#endif
