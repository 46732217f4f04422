/* SPDX-License-Identifier: MIT */
/* A report on a signal, if WEFT_DUMP names one; ends with the runtime. See dump.c. */
#ifndef WEFT_LOOK_DUMP_H
#define WEFT_LOOK_DUMP_H

#include <stdbool.h>

void weft__dump_watch(void);
void weft__dump_unwatch(void);

/* Writes to standard error why all fibers wait for ever. Called when no thread of the program can wake them, either.
 * False: the report could not be written. */
bool weft__explain_self(void);

#endif
