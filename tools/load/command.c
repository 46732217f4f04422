/* SPDX-License-Identifier: MIT */
/* weft load: reads the plan, runs it, prints the report. See load.h. */
#include "command.h"
#include "load.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int command_load(int argc, char **argv) {
    struct load_plan plan;
    if (argc > 1 && !strcmp(argv[1], "files")) return load_files_command(argc - 1, argv + 1);
    int code = load_options(argc, argv, &plan);
    if (code >= 0) return code;
    struct load_tally *tally = calloc(1, sizeof *tally);
    if (!tally) return EXIT_WRONG;
    load_run(&plan, tally);
    bool good = !tally->problem && !load_faults(tally) && tally->answers;
    if (tally->problem)
        fprintf(stderr, "weft: %s: %s\n", plan.host, tally->problem);
    else
        load_report(&plan, tally);
    if (!tally->problem && plan.hdr && load_write_hdr(plan.hdr, &tally->times)) {
        fprintf(stderr, "weft: %s: %s\n", plan.hdr, strerror(errno));
        good = false;
    }
    free(tally);
    return good ? 0 : EXIT_WRONG;
}
