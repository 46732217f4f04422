/* SPDX-License-Identifier: MIT */
/* The suboptions of -o. */
#ifndef CACHED_EXTENDED_H
#define CACHED_EXTENDED_H

#include "cache.h"

/* Reads the text, and changes it. Returns 0, or the exit code after printing the error. */
int mc_extended_read(struct mc_settings *settings, char *list);

/* Reads a number in that range and base, with nothing after it. */
bool mc_option_number(const char *text, unsigned long least, unsigned long most, int base, unsigned long *value);

#endif
