/* SPDX-License-Identifier: MIT */
/*
 * What goes to the client: gathered in a buffer, so that a head and a small file, or the answers to
 * several requests that came together, go in one call. Once something could not be sent, it is broken,
 * and all that follows does nothing.
 */
#ifndef SERVE_OUTPUT_H
#define SERVE_OUTPUT_H

#include "buffers.h"
#include "files.h"

#include <sys/types.h>

struct weft_tls;

struct output {
    int fd;
    struct weft_tls *tls; /* NULL: it goes as it is */
    bool broken;
    uint32_t used;
    uint64_t unsent; /* bytes that were to be sent, but it was broken */
    char *buffer;    /* NULL: nothing is gathered */
};

/* Room for so many bytes, BUFFER_SIZE at most; NULL: broken. */
char *output_room(struct output *o, size_t size);
/* So many of them are there. */
static inline void output_add(struct output *o, size_t size) { o->used += (uint32_t)size; }

void output_text(struct output *o, struct text text);
void output_format(struct output *o, const char *format, ...) __attribute__((format(printf, 2, 3)));
void output_bytes(struct output *o, const char *data, size_t size); /* however many; long parts are not copied */
void output_file(struct output *o, const struct file *f, uint64_t offset, uint64_t size);

/* Sends what was gathered, and gives the buffer back. */
void output_flush(struct output *o);

#endif
