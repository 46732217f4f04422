/* SPDX-License-Identifier: MIT */
/* weft explain: why does nothing happen, or too little, in a process or core file? See docs/OBSERVABILITY.md. */
#include "command.h"
#include "target.h"

#include "look/explain.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char help[] = "weft explain PID|CORE\n"
                           "\n"
                           "Says why fibers of a process, or of a core file, do not go on: deadlocks as circles, with "
                           "the line of each wait; locks\n"
                           "whose holder sleeps, computes, blocks in C or has ended; waits that nothing is left to "
                           "end; fibers that keep their\n"
                           "workers. Certain and likely are told apart. The process needs no preparation.\n"
                           "\n"
                           "Exit code: 0 when something was found or nothing is wrong, 1 when the target could not be "
                           "read, 2 for arguments that\n"
                           "make no sense.\n";

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
    if (found < 0 && found != -EPIPE) fprintf(stderr, "weft: explain: %s\n", strerror(-found));
    target_close(&t);
    return found < 0 ? EXIT_WRONG : 0;
}
