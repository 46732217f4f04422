/* SPDX-License-Identifier: MIT */
/*
 * Until when each connection may wait, by its descriptor; and which fiber may touch that. The connection's
 * fiber says what it is doing and until when; the ticker looks at all of them once a second, and ends the waits of
 * connections that are past their time.
 *
 *   the connection                               the ticker
 *   set: from whatever it is, but HELD, to a     1. a phase past its end: to HELD
 *   phase and its end; HELD: wait, it is short   2. ends its waits: the descriptor is still the connection's
 *   end: the same, to NONE, before it closes     3. to EXPIRED, which has an end as well: a connection that is
 *                                                   still there then is reset
 *
 * So a connection that answers need not say so. But while the kernel still has bytes of an answer that the client has
 * not got, a connection is not idle, whatever its phase says. It is given time as long as the client takes enough of
 * them; a client that does not is reset.
 *
 * The ticker ends a wait by shutting down the receiving side, and only if the client has got all that was sent: the
 * kernel resets a connection that is shut down in both directions when more comes, and the rest of an answer would be
 * lost.
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
    PHASE_WRITE,   /* within an answer that is long, or that the client does not take */
    PHASE_LINGER,  /* after the last answer, until the client has closed */
};

/* Descriptors below `most`, as many as there can be. 0 or -ENOMEM. */
int deadlines_begin(unsigned most);
void deadlines_end(void);

/* A new connection, which is idle. */
void deadline_begin(int fd, unsigned seconds);

/* Of the caller's connection. */
void deadline_set(int fd, enum phase phase, unsigned seconds);
bool deadline_expired(int fd);
void deadline_end(int fd);

/* What the ticker has done to it: shut down its receiving side, or both, so that a close resets it. Asked after a set,
 * which waits for the ticker. */
enum shut { SHUT_NOTHING, SHUT_INPUT, SHUT_ALL };
enum shut deadline_shut(int fd);

/* Is something that was sent still on its way to the client? */
bool deadline_unsent(int fd);

/* The ticker's: those that are past their time at `now`. All that are idle: how many connections there are. All of
 * them, at once: the same. */
void deadlines_pass(uint32_t now);
unsigned deadlines_end_idle(void);
unsigned deadlines_reset(void);

/* Makes room for new connections: `count` at most of those that linger, and of idle connections, first those with the
 * earliest end. Returns how many. For one fiber. */
unsigned deadlines_make_room(unsigned count);

#endif
