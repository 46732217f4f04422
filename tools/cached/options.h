/* SPDX-License-Identifier: MIT */
/* The command line, as memcached has it. */
#ifndef CACHED_OPTIONS_H
#define CACHED_OPTIONS_H

#include "cache.h"

/* Reads it. 0; or the program ends with *code: it was asked for help, or something made no sense. */
int mc_options_read(int argc, char **argv, struct mc_settings *settings, int *code);

#endif
