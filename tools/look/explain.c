/* SPDX-License-Identifier: MIT */
/* weft explain: why does nothing happen, or too little, in a process or core file? See docs/OBSERVABILITY.md. */
#include "command.h"
#include "target.h"

#include "look/explain.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "weft explain PID|CORE\n"
    "\n"
    "Says why the fibers of a process, or of a core file, do not continue: deadlocks as cycles, with the line of each\n"
    "wait; locks held by a fiber that sleeps, computes, blocks in C or has ended; waits that nothing can end any\n"
    "more; fibers that keep their workers. It tells certain findings from likely ones. The process needs no "
    "preparation.\n"
    "\n"
    "Exit status: 0 with or without a finding, 1 if the process or core file could not be read, 2 if the arguments "
    "are\n"
    "invalid.\n";

int command_explain(int argc, char **argv) {
    if (argc == 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
        fputs(help, stdout);
        return 0;
    }
    if (argc != 2 || argv[1][0] == '-') return usage("explain: which process or core file? Try: weft explain --help");
    struct target t;
    int code = target_open(&t, argv[1]);
    if (code) return code;
    struct weft__report report = target_report(&t, STDOUT_FILENO);
    int found = weft__explain(&report, false);
    if (found < 0) target_complain(&t, "explain", found);
    target_close(&t);
    return found < 0 ? EXIT_WRONG : 0;
}
