/* SPDX-License-Identifier: MIT */
/* Fibers in the background. See background.c. */
#ifndef WEFT_SCHED_BACKGROUND_H
#define WEFT_SCHED_BACKGROUND_H

#include "sched/core/fiber.h"

/* For a spawn with attr->background. Errors as weft_spawn. */
int weft__background_spawn(struct weft_fiber *fiber, const struct weft_attr *attr, void *(*fn)(void *), void *arg,
                           const char *where);

/* How many have begun, and ended. */
struct weft__background {
    uint64_t begun, ended;
};
struct weft__background weft__background_now(void);

/* No other fiber is left: cancels them, and all that begin from now on. Or the runtime goes on: those that begin from
 * now on are left alone. */
void weft__background_end(bool end);

/* A runtime begins. */
void weft__background_anew(void);

#endif
