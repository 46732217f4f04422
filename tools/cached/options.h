/* SPDX-License-Identifier: MIT */
/* The command line, compatible with memcached's. */
#ifndef CACHED_OPTIONS_H
#define CACHED_OPTIONS_H

#include "cache.h"

/* Reads the command line. Returns 0; otherwise the program ends with *code, after help or an error. */
int mc_options_read(int argc, char **argv, struct mc_settings *settings, int *code);

#endif
