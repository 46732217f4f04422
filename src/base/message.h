/* SPDX-License-Identifier: MIT */
/*
 * Messages on standard error. Each is one line that begins with "weft: ", written by a single write(2) without heap
 * memory, so that signal handlers and dying programs can use it. Any thread may call these functions.
 */
#ifndef WEFT_BASE_MESSAGE_H
#define WEFT_BASE_MESSAGE_H

#include "base/base.h"

/* Formats: %s string, %d int, %u unsigned, %x uint64_t in hex, %z size_t. */
void weft__say(const char *format, ...);

/* The same, but drops the line if standard error cannot take it at once. */
void weft__say_if_room(const char *format, ...);

/* The same, then aborts: the program has broken a rule. If several threads die at once, the first prints its line. */
_Noreturn void weft__die(const char *format, ...);

/* The text for a negative errno, for example "Out of memory". */
const char *weft__error_text(int err);

#endif
