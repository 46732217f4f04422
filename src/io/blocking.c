/* See blocking.h. */
#define _GNU_SOURCE
#include "io/blocking.h"

ssize_t weft__blocking_request(const struct weft__request *r) { return weft__request_perform(r); }
