/* SPDX-License-Identifier: MIT */
/* The list of -o. */
#ifndef CACHED_EXTENDED_H
#define CACHED_EXTENDED_H

#include "cache.h"

/* Reads it; the text is changed. 0, or the exit code, and what is wrong has been said. */
int mc_extended_read(struct mc_settings *settings, char *list);

/* A number in that range and base, and nothing behind it. */
bool mc_option_number(const char *text, unsigned long least, unsigned long most, int base, unsigned long *value);

#endif
