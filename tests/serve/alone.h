/* SPDX-License-Identifier: MIT */
/* Replaces the parts of the tool that a command needs as a separate program. */
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
