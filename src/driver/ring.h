/* An operation that a ring has under way. */
#ifndef WEFT_DRIVER_RING_H
#define WEFT_DRIVER_RING_H

struct weft__op {
    int result;
};

#endif
