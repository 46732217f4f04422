/* SPDX-License-Identifier: MIT */
/* Giving up the rights of root, before there are threads: those that come have what their maker has. */
#ifndef TOOLS_USER_H
#define TOOLS_USER_H

#include <stdbool.h>

/* Really or effectively. */
bool user_is_root(void);

/*
 * Becomes that user, a name or a number, for good: its groups (`alone`: none), its group, itself; and nothing that it
 * executes gets more. "root": stays root, which it was told to. Returns 0 or the exit code, and what is wrong has been
 * said, for the command of that name.
 */
int user_become(const char *name, bool alone, const char *command);

#endif
