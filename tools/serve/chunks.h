/* SPDX-License-Identifier: MIT */
/* A body in chunks, each behind a line with its length: found to its end, and dropped. Reads memory only. */
#ifndef SERVE_CHUNKS_H
#define SERVE_CHUNKS_H

#include <stddef.h>
#include <stdint.h>

/* Zeros are the beginning. */
struct chunks {
    uint64_t left;  /* of the chunk, its data */
    uint64_t bytes; /* of all chunks, so far: data and what is around them */
    uint32_t state;
    uint32_t line; /* bytes of the line so far */
};

/* Goes over the next bytes and stores how many of them belong to the body. 0: more must follow. 1: that was the
 * end. -1: this is no such body. */
int chunks_skip(struct chunks *c, const char *data, size_t size, size_t *used);

#endif
