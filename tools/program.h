/* SPDX-License-Identifier: MIT */
/*
 * Measuring programs as processes: where they are, and one run of one.
 */
#ifndef TOOLS_PROGRAM_H
#define TOOLS_PROGRAM_H

#include "bench/bench.h"

/* Whether the entrant's program is there to be run. */
bool program_installed(const struct entrant *entrant);

/*
 * Runs the entrant's program once: `measurement`, the paths of its server and of the reference (NULL: none), and then
 * the words of `params`. What goes wrong (it cannot be run, crashes, takes more than a minute, prints something else)
 * is said on standard error, and the answer is false.
 */
bool program_run(const struct entrant *entrant, const char *reference, const char *measurement, const char *params,
                 struct result *result);

#endif
