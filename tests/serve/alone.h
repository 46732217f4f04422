/* SPDX-License-Identifier: MIT */
/* A command of the tool as a program of its own: what the rest of the tool would give it. */
#ifndef TESTS_SERVE_ALONE_H
#define TESTS_SERVE_ALONE_H

#include "command.h"

#include <stdarg.h>
#include <stdio.h>

int usage(const char *format, ...) {
    va_list list;
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fputs("\n", stderr);
    return EXIT_USAGE;
}

#endif
