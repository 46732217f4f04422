/* SPDX-License-Identifier: MIT */
/*
 * What comes from the client. It is received into a little memory in the connection's frame, where a request
 * usually has room; only a longer request gets a buffer, from its first byte there until its last is used.
 */
#ifndef SERVE_INPUT_H
#define SERVE_INPUT_H

#include "buffers.h"

#include <stdbool.h>
#include <stdint.h>

struct weft_tls;

#define INPUT_LITTLE 1024

struct input {
    int fd;
    struct weft_tls *tls; /* NULL: it comes as it is */
    uint32_t begin, end;  /* what has come and is not used yet */
    char *buffer;         /* NULL: it is in `little` */
    char little[INPUT_LITTLE];
};

static inline const char *input_data(const struct input *in) {
    return (in->buffer ? in->buffer : in->little) + in->begin;
}
static inline uint32_t input_size(const struct input *in) { return in->end - in->begin; }
static inline void input_use(struct input *in, uint32_t size) { in->begin += size; }

/* The first bytes of a connection, if they have come by now. */
bool input_try(struct input *in);

/* Waits for more, and puts it behind what is there. False: there is no more, or no room. */
bool input_wait(struct input *in);

/* Gives the buffer back; what was not used is lost. */
void input_end(struct input *in);

#endif
