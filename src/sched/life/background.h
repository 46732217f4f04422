/* SPDX-License-Identifier: MIT */
/* Fibers in the background. See background.c. */
#ifndef WEFT_SCHED_BACKGROUND_H
#define WEFT_SCHED_BACKGROUND_H

#include "sched/core/fiber.h"

/* For a spawn with attr->background. Errors as weft_spawn. */
int weft__background_spawn(struct weft_fiber *fiber, const struct weft_attr *attr, void *(*fn)(void *), void *arg,
                           const char *where);

/* How many background fibers have begun, and how many have ended. */
struct weft__background {
    uint64_t begun, ended;
};
struct weft__background weft__background_now(void);

/* true: no other fiber is left; cancels all background fibers, also those that begin later. false: the runtime goes on;
 * background fibers that begin later are not cancelled. */
void weft__background_end(bool end);

/* Resets the counts when a runtime starts. */
void weft__background_anew(void);

#endif
