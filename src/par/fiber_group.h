/* SPDX-License-Identifier: MIT */
/*
 * A group of fibers that work on one pipeline or graph. What becomes ready there may wait for long, so each piece of
 * work gets a fiber, and the caller waits until all have ended. These are not tasks, because a task ends in the frame
 * that forked it.
 */
#ifndef WEFT_PAR_FIBER_GROUP_H
#define WEFT_PAR_FIBER_GROUP_H

#include "par/par.h"

struct weft__fiber_group {
    struct weft_counter alive; /* initialized with zeros */
    struct weft_scope scope;   /* the user's functions run in this scope, in the group and in the caller, so cancelling
                                  the caller cancels all of them */
    const char *name;          /* public function that the caller has called */
};

/* Begins a group for the calling fiber. name: the public function, for messages. */
void weft__fiber_group_begin(struct weft__fiber_group *crew, const char *name);

/* Spawns a fiber that runs fn(arg), which calls the user's functions through weft__fiber_group_run. -ENOMEM, -EAGAIN:
 * no fiber; the caller does the work itself. */
int weft__fiber_group_spawn(struct weft__fiber_group *crew, void *(*fn)(void *), void *arg);

/* Runs fn(arg) in the scope. For a fiber of the group, or for a mailed call. */
void weft__fiber_group_run(struct weft__fiber_group *crew, void (*fn)(void *), void *arg);

/* Waits until all fibers have ended, uncancellable. Then the scope ends. */
void weft__fiber_group_end(struct weft__fiber_group *crew);

#endif
