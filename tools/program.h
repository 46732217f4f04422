/* SPDX-License-Identifier: MIT */
/*
 * Finds measuring programs, and runs them as processes.
 */
#ifndef TOOLS_PROGRAM_H
#define TOOLS_PROGRAM_H

#include "bench/bench.h"

#include <sched.h>

/* The samples that a program prints beside its values, see measure_sample(). Of one run, or of several runs. */
struct sample {
    char name[24];
    double x, y;
};
struct samples {
    size_t count, room;
    struct sample *list; /* the caller frees the list */
};

/* Where and how a program runs. */
struct program_place {
    const cpu_set_t *cpus; /* NULL: the processors of this process */
    bool bind;             /* bind threads to processors, if the system can */
    unsigned limit;        /* s that a run may take; 0: the default of a minute */
};

/* Does the entrant's program exist? */
bool program_installed(const struct entrant *entrant);

/*
 * Runs the entrant's program once: `measurement`, the paths of its server and of the reference (NULL: none), and then
 * the words of `params`. If it cannot be run, crashes, takes too long or prints something else, that is reported on
 * standard error, and the result is false. Its samples are added to `samples`.
 */
bool program_run(const struct entrant *entrant, const char *reference, const char *measurement, const char *params,
                 const struct program_place *place, struct result *result, struct samples *samples);

#endif
