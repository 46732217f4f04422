/*
 * What weft says on standard error, always one whole line that begins with "weft: ", written by
 * one write(2), without memory from the heap: usable in a signal handler and when all is lost.
 */
#ifndef WEFT_BASE_SAY_H
#define WEFT_BASE_SAY_H

#include "base/base.h"

/* Formats: %s string, %d int, %u unsigned, %x uint64_t in hex, %z size_t. */
void weft__say(const char *format, ...);

/* The same, but says nothing where it would have to wait until there is room for the line. */
void weft__say_if_room(const char *format, ...);

/* The same, then abort: the program is broken. Of several threads that find that at once, one says so. */
_Noreturn void weft__die(const char *format, ...);

/* "Out of memory" and the like, for a negative errno. */
const char *weft__error(int err);

#endif
