/* SPDX-License-Identifier: MIT */
/* See progress.h. */
#include "progress.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

void progress(const char *format, ...) {
    va_list list;
    bool terminal = isatty(STDERR_FILENO);
    if (terminal) fputs("\r\033[K", stderr);
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    if (!terminal) fputs("\n", stderr);
    fflush(stderr);
}

void progress_end(void) {
    if (isatty(STDERR_FILENO)) fputs("\r\033[K", stderr);
    fflush(stderr);
}
