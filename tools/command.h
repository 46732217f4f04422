/* SPDX-License-Identifier: MIT */
/* The commands of the tool. Each gets its own arguments, with its name as argv[0], and returns the exit code. */
#ifndef TOOLS_COMMAND_H
#define TOOLS_COMMAND_H

#include <string.h>

#define EXIT_WRONG 1 /* a result was wrong, or there was none */
#define EXIT_USAGE 2

int command_bench(int argc, char **argv);
int command_cached(int argc, char **argv);
int command_dump(int argc, char **argv);
int command_explain(int argc, char **argv);
int command_load(int argc, char **argv);
int command_profile(int argc, char **argv);
int command_report(int argc, char **argv);
int command_serve(int argc, char **argv);
int command_top(int argc, char **argv);
int command_threads(int argc, char **argv);
int command_trace(int argc, char **argv);
int command_tour(int argc, char **argv);

/* Splits "--name=value", and returns the value. NULL: the next argument is the value, if any. */
static inline char *option_value(char *argument) {
    char *value = argument[0] == '-' && argument[1] == '-' ? strchr(argument, '=') : NULL;
    if (value) *value++ = '\0';
    return value;
}

/* Prints one line to standard error. Returns EXIT_USAGE. */
int usage(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
