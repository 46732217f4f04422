/* SPDX-License-Identifier: MIT */
/* See input.h. */
#include "input.h"

#include "base/base.h"
#include "weft.h"
#include "weft/io.h"
#include "weft/tls.h"

#include <string.h>

void input_end(struct input *in) {
    if (in->buffer) buffer_give(in->buffer);
    in->buffer = NULL;
    in->begin = in->end = 0;
}

/* Moves the input to a buffer, or to the front of the buffer. False: no memory, or the buffer is full. */
static bool make_room(struct input *in) {
    char *to = in->buffer ? in->buffer : buffer_take();
    uint32_t size = input_size(in);
    if (!to) return false;
    memmove(to, input_data(in), size);
    in->buffer = to;
    in->begin = 0;
    in->end = size;
    return size < BUFFER_SIZE;
}

bool input_try(struct input *in) {
    ssize_t n = weft_recv(in->fd, in->little, INPUT_LITTLE, MSG_DONTWAIT);
    if (n > 0) in->end = (uint32_t)n;
    return n > 0;
}

bool input_wait(struct input *in) {
    if (likely(in->begin == in->end))
        input_end(in);
    else if (!make_room(in))
        return false;
    char *to = in->buffer ? in->buffer : in->little;
    size_t room = in->buffer ? BUFFER_SIZE : INPUT_LITTLE;
    ssize_t n = likely(!in->tls) ? weft_recv(in->fd, to + in->end, room - in->end, 0)
                                 : weft_tls_read(in->tls, to + in->end, room - in->end);
    if (n <= 0) return false;
    in->end += (uint32_t)n;
    return true;
}
