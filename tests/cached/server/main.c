/* weft cached, by itself. */
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

int main(int argc, char **argv) { return command_cached(argc, argv); }
