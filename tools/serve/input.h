/* SPDX-License-Identifier: MIT */
/*
 * Bytes from the client. They are received into a small array in the connection's frame, where a request usually fits.
 * Only a longer request gets a buffer, until its last byte is used.
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
    struct weft_tls *tls; /* NULL: no TLS */
    uint32_t begin, end;  /* the bytes that were received and are not used yet */
    char *buffer;         /* NULL: the bytes are in `little` */
    char little[INPUT_LITTLE];
};

static inline const char *input_data(const struct input *in) {
    return (in->buffer ? in->buffer : in->little) + in->begin;
}
static inline uint32_t input_size(const struct input *in) { return in->end - in->begin; }
static inline void input_use(struct input *in, uint32_t size) { in->begin += size; }

/* Receives the first bytes of a connection, if they have already come. */
bool input_try(struct input *in);

/* Waits for more bytes, and appends them. False: no more bytes, or no room. */
bool input_wait(struct input *in);

/* Returns the buffer; unused bytes are lost. */
void input_end(struct input *in);

#endif
