/* SPDX-License-Identifier: MIT */
/*
 * Buffers for connections that have something to do: taken while a command is at work, and given back. The buffer that
 * was given back last is taken first, and most likely still in the cache.
 */
#ifndef CACHED_BUFFERS_H
#define CACHED_BUFFERS_H

#include <stddef.h>

#define MC_BUFFER 16384u

char *mc_buffer_take(void); /* NULL: no memory */
void mc_buffer_give(char *buffer);
size_t mc_buffers(size_t *spare); /* how many there are, and how many of them are free */
void mc_buffers_end(void);        /* no connection has one any more */

#endif
