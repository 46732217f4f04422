/* SPDX-License-Identifier: MIT */
/* Fibers that are ready and do not get to run. See starved.c. */
#ifndef WEFT_LOOK_STARVED_H
#define WEFT_LOOK_STARVED_H

#include "look/report.h"

/* The result of a second look, a while after the first. */
struct weft__starved {
    size_t count;      /* of the fibers that were given: still ready, and have not run */
    size_t low;        /* of these, so many have a low priority */
    uint64_t switches; /* so often other fibers were switched to meanwhile */
    bool asleep;       /* all workers slept, before and after */
    double seconds;    /* between the looks */
};

/*
 * Looks again at fibers that a first look has found ready. Those that have not run meanwhile are moved to the front.
 * Waits for half a second. Of a core file, or of this process itself, there is no second look: count is 0.
 */
void weft__starved_find(struct weft__report *report, const struct weft__seen **ready, size_t n,
                        struct weft__starved *to);

/* Has any fiber run since the look, or within a tenth of a second? Of a core file, or of this process itself: false. */
bool weft__has_worked(struct weft__report *report);

#endif
