/* SPDX-License-Identifier: MIT */
/*
 * Buffers for busy connections: a command takes a buffer while it works, and returns it. The last returned buffer is
 * taken first, because it is most likely still in the CPU's cache.
 */
#ifndef CACHED_BUFFERS_H
#define CACHED_BUFFERS_H

#include <stddef.h>

#define MC_BUFFER 16384u

char *mc_buffer_take(void); /* returns NULL if there is no memory */
void mc_buffer_give(char *buffer);
size_t mc_buffers(size_t *spare); /* returns the number of buffers; *spare: how many of them are free */
void mc_buffers_end(void);        /* frees all buffers; no connection may have one */

#endif
