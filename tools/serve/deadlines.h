/*
 * Until when each connection may wait, by its descriptor; and who may still touch that. The connection's
 * fiber says what it is doing and until when; the ticker looks at all of them once a second, and shuts
 * down those whose time is up: their waits end.
 *
 *   the connection                               the ticker
 *   set: from whatever it is, but HELD, to a     1. a phase whose time is up: to HELD
 *   phase and its end; HELD: wait, it is short   2. shut down: the descriptor is still the connection's
 *   end: the same, to NONE, before it closes     3. to EXPIRED, which has an end as well: who is still
 *                                                there then is reset
 *
 * So a connection that answers need not say so: one that was idle, and whose client does not take the answer,
 * ends some seconds after its time between requests.
 */
#ifndef SERVE_DEADLINES_H
#define SERVE_DEADLINES_H

#include <stdbool.h>
#include <stdint.h>

enum phase {
    PHASE_NONE,
    PHASE_HELD,
    PHASE_EXPIRED, /* told to end */
    PHASE_IDLE,    /* between two requests, or before the first */
    PHASE_READ,    /* within a request: its head, or its body */
    PHASE_WRITE,   /* within an answer that is long, or that the client does not take; or after the last one */
};

/* Descriptors below `most`, as many as there can be. 0 or -ENOMEM. */
int deadlines_begin(unsigned most);
void deadlines_end(void);

/* Of the caller's connection. */
void deadline_set(int fd, enum phase phase, unsigned seconds);
bool deadline_expired(int fd);
void deadline_end(int fd);

/* The ticker's: those whose time is up by `now`; and all that are in one phase. How many connections there are. */
unsigned deadlines_pass(uint32_t now);
unsigned deadlines_expire(enum phase phase);

/* Of the idle ones those whose time would be up first, `count` at most: how many. One fiber's. */
unsigned deadlines_expire_idle(unsigned count);

#endif
