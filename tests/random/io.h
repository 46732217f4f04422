/* SPDX-License-Identifier: MIT */
/* Calls for input and output that are made until they are done: with deadlines, by scopes, and cancelled. */
#ifndef WEFT_TESTS_RANDOM_IO_H
#define WEFT_TESTS_RANDOM_IO_H

#include "random.h"

#include "weft/io.h"

/*
 * Makes call(context) until it ends otherwise than by -ECANCELED or -ETIMEDOUT, and returns that: a number, or a
 * negative errno. A thread makes plain calls: they are neither late nor cancelled.
 */
int insist_on(struct party *p, int (*call)(void *context), void *context);

/* Reads or writes a piece: at least one byte, unless the file ends. Some way of several. */
int read_some(struct party *p, int fd, void *buffer, size_t size);
int write_some(struct party *p, int fd, const void *buffer, size_t size);
void write_all(struct party *p, int fd, const void *buffer, size_t size);
void read_all(struct party *p, int fd, void *buffer, size_t size);

void close_file(int fd);

/* The byte of a stream at this place; each operation has a stream of its own. */
static inline unsigned char byte_at(const struct op *op, size_t place) {
    return (unsigned char)((place * 131 + (place >> 8) * 7) ^ op->seed);
}
void fill_bytes(const struct op *op, unsigned char *to, size_t place, size_t n);
void check_bytes(const struct op *op, const unsigned char *from, size_t place, size_t n);

#endif
