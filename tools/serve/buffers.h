/*
 * Buffers, lent while a request is being worked on: a connection on which nothing happens has none. A few
 * that are free are kept for each worker; the others are the heap's.
 */
#ifndef SERVE_BUFFERS_H
#define SERVE_BUFFERS_H

#include <stddef.h>

#define BUFFER_SIZE (20 * 1024)

char *buffer_take(void); /* NULL: no memory */
void buffer_give(char *buffer);

/* All that are kept are freed: nobody has any. */
void buffers_end(void);

#endif
