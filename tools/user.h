/* SPDX-License-Identifier: MIT */
/* Drops root's rights before there are threads, which inherit the rights of their maker. */
#ifndef TOOLS_USER_H
#define TOOLS_USER_H

#include <stdbool.h>

/* Is the real or the effective user root? */
bool user_is_root(void);

/*
 * Becomes that user, a name or a number, permanently: sets its groups (`alone`: none), its group, and the user.
 * Programs that the process executes get no more rights. "root": stays root on request. Returns 0, or the exit code
 * after printing the error in the name of `command`.
 */
int user_become(const char *name, bool alone, const char *command);

#endif
