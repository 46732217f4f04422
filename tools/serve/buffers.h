/* SPDX-License-Identifier: MIT */
/*
 * Buffers for the time of a request: an idle connection has none. Each worker keeps a small number of free buffers;
 * further buffers come from the heap.
 */
#ifndef SERVE_BUFFERS_H
#define SERVE_BUFFERS_H

#include <stdbool.h>
#include <stddef.h>

#define BUFFER_SIZE (20 * 1024)

char *buffer_take(void); /* returns NULL if there is no memory */
void buffer_give(char *buffer);

/* Are more buffers in use than are kept? Then connections with a buffer should hurry. */
bool buffers_scarce(void);

/* Frees all free buffers. No connection may have a buffer. */
void buffers_end(void);

#endif
