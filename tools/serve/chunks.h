/* SPDX-License-Identifier: MIT */
/* Finds the end of a body in chunks, each after a line with its length. Only reads memory. */
#ifndef SERVE_CHUNKS_H
#define SERVE_CHUNKS_H

#include <stddef.h>
#include <stdint.h>

/* Initialised with zeros. */
struct chunks {
    uint64_t left;  /* bytes left of the data of the current chunk */
    uint64_t bytes; /* of all chunks so far: data and framing */
    uint32_t state;
    uint32_t line; /* bytes of the current line so far */
};

/* Parses the next bytes, and stores how many of them belong to the body. 0: more must follow. 1: the body has ended.
 * -1: invalid. */
int chunks_skip(struct chunks *c, const char *data, size_t size, size_t *used);

#endif
