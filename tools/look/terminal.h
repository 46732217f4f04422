/* SPDX-License-Identifier: MIT */
/* A terminal in raw mode, on its second screen. Its mode and screen are restored at the end, also if a signal ends the
 * program. */
#ifndef TOOLS_LOOK_TERMINAL_H
#define TOOLS_LOOK_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KEY_NONE = -1, KEY_UP = 256, KEY_DOWN, KEY_PAGE_UP, KEY_PAGE_DOWN, KEY_ESCAPE, KEY_RESIZE, KEY_END_OF_INPUT };

/* False: standard input or output is no terminal. */
bool terminal_begin(void);
void terminal_end(void);
/* Columns and lines; false: unknown. */
bool terminal_size(unsigned *width, unsigned *height);
/* The next key, or KEY_NONE when the time has come. */
int terminal_key(uint64_t deadline_ns);
/* Writes a frame from the upper left on. */
void terminal_draw(const char *text, size_t n);

#endif
