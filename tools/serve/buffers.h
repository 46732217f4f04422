/* SPDX-License-Identifier: MIT */
/*
 * Buffers, lent while a request is being worked on: a connection on which nothing happens has none. As many as
 * can be in use at the same time without harm are kept for each worker; the others are the heap's.
 */
#ifndef SERVE_BUFFERS_H
#define SERVE_BUFFERS_H

#include <stdbool.h>
#include <stddef.h>

#define BUFFER_SIZE (20 * 1024)

char *buffer_take(void); /* NULL: no memory */
void buffer_give(char *buffer);

/* More are in use than are kept: connections with a buffer should hurry. */
bool buffers_scarce(void);

/* Frees all that are kept: no connection has one. */
void buffers_end(void);

#endif
