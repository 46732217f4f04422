/* SPDX-License-Identifier: MIT */
/* Replaces engine_uring.c in builds without liburing: no ring can be opened, so it is never called. */
#include "io/engine.h"

const struct weft__engine weft__engine_uring = {"io_uring", NULL, NULL, NULL, NULL, NULL, NULL, NULL};
