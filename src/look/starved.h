/* SPDX-License-Identifier: MIT */
/* Finds fibers that are ready but do not run. See starved.c. */
#ifndef WEFT_LOOK_STARVED_H
#define WEFT_LOOK_STARVED_H

#include "look/report.h"

/* The result of a second look, a while after the first. */
struct weft__starved {
    size_t count;      /* number of the given fibers that are still ready and have not run */
    size_t low;        /* how many of these have a low priority */
    uint64_t switches; /* number of switches to other fibers between the looks */
    bool asleep;       /* all workers slept, before and after */
    double seconds;    /* between the looks */
};

/*
 * Waits for half a second, looks again at fibers that a first look has found ready, and moves those that have not run
 * meanwhile to the front. For a core file, or the calling process itself, there is no second look: count is 0.
 */
void weft__starved_find(struct weft__report *report, const struct weft__seen **ready, size_t n,
                        struct weft__starved *to);

/* Has any fiber run since the look, or does one run within a tenth of a second? False for a core file and for the
 * calling process itself. */
bool weft__has_worked(struct weft__report *report);

#endif
