/*
 * Fibers that work at one thing, for pipelines and graphs: what becomes ready there may wait for long, so each
 * has a fiber of its own, and whoever asked for it all waits until they have ended. Not tasks: those end in
 * the frame that forked them.
 */
#ifndef WEFT_PAR_CREW_H
#define WEFT_PAR_CREW_H

#include "par/par.h"

struct weft__crew {
    struct weft_counter alive; /* starts as zeros */
    struct weft_scope scope;   /* what the crew and the caller do for the user is done in it, so a request that stops
                                  the caller stops all of them */
    const char *name;          /* of what was asked for */
};

/* The caller is the one who asks, by calling the function of this name. */
void weft__crew_begin(struct weft__crew *crew, const char *name);

/* One more, that runs fn(arg), which calls the user's functions by weft__crew_work. -ENOMEM, -EAGAIN: there is none;
 * the caller does it itself. */
int weft__crew_send(struct weft__crew *crew, void *(*fn)(void *), void *arg);

/* fn(arg), in the scope. By one that was sent, or mailed. */
void weft__crew_work(struct weft__crew *crew, void (*fn)(void *), void *arg);

/* Until all have ended; nothing ends it earlier. The scope ends with it. */
void weft__crew_end(struct weft__crew *crew);

#endif
