/* Built without liburing: no ring can be had, and nobody comes here. */
#include "io/engine.h"

const struct weft__engine weft__engine_uring = {"io_uring", NULL, NULL, NULL, NULL, NULL, NULL, NULL};
