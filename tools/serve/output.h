/* SPDX-License-Identifier: MIT */
/*
 * Bytes for the client, collected in a buffer, so that a head and a small file, or several answers, are sent with one
 * call. After a failed send the output is *broken*, and all further calls do nothing.
 */
#ifndef SERVE_OUTPUT_H
#define SERVE_OUTPUT_H

#include "buffers.h"
#include "files.h"

#include <sys/types.h>

struct weft_tls;

struct output {
    int fd;
    struct weft_tls *tls; /* NULL: no TLS */
    bool broken;
    uint32_t used;
    uint64_t unsent; /* bytes that were lost because the output was broken */
    char *buffer;    /* NULL: no bytes are collected */
};

/* Returns room for this many bytes, at most BUFFER_SIZE. NULL: the output is broken. */
char *output_room(struct output *o, size_t size);
/* Adds the bytes that the caller has written into that room. */
static inline void output_add(struct output *o, size_t size) { o->used += (uint32_t)size; }

void output_text(struct output *o, struct text text);
void output_format(struct output *o, const char *format, ...) __attribute__((format(printf, 2, 3)));
void output_bytes(struct output *o, const char *data, size_t size); /* any number of bytes; long parts are not copied */
void output_file(struct output *o, const struct file *f, uint64_t offset, uint64_t size);

/* Sends the collected bytes, and returns the buffer. */
void output_flush(struct output *o);

#endif
