/* SPDX-License-Identifier: MIT */
/*
 * Deadlines of connections, by descriptor. The fiber of a connection stores its phase and the end of that phase. The
 * ticker visits all connections once a second, and ends waits that are past their time.
 *
 *   the connection                               the ticker
 *   set: from any state but HELD to a phase      1. a phase past its end: to HELD
 *        and its end; HELD: wait, it is short    2. ends its waits: the descriptor is still open
 *   end: the same, to NONE, before it closes     3. to EXPIRED, which also has an end: then a connection that still
 *                                                   exists is reset
 *
 * So a connection need not store that it answers. While the kernel has bytes of an answer that the client has not got,
 * the connection is not idle, whatever its phase. It gets more time while the client takes enough bytes; otherwise it
 * is reset.
 *
 * The ticker ends a wait by shutting down the receiving side, and only if the client has got everything. If more bytes
 * come to a connection that is shut down in both directions, the kernel resets it, and the rest of an answer would be
 * lost.
 */
#ifndef SERVE_DEADLINES_H
#define SERVE_DEADLINES_H

#include <stdbool.h>
#include <stdint.h>

enum phase {
    PHASE_NONE,
    PHASE_HELD,
    PHASE_EXPIRED, /* the ticker has ended its waits */
    PHASE_IDLE,    /* between two requests, or before the first */
    PHASE_READ,    /* within a request: its head, or its body */
    PHASE_WRITE,   /* within an answer that is long, or that the client takes slowly */
    PHASE_LINGER,  /* after the last answer, until the client has closed */
};

/* Prepares for descriptors below `most`. Returns 0 or -ENOMEM. */
int deadlines_begin(unsigned most);
void deadlines_end(void);

/* Begins a connection, which is idle at first. */
void deadline_begin(int fd, unsigned seconds);

/* Sets the phase of the caller's connection, and its end. deadline_end ends the connection. */
void deadline_set(int fd, enum phase phase, unsigned seconds);
bool deadline_expired(int fd);
void deadline_end(int fd);

/* What has the ticker done to the connection: shut down its receiving side, or both, so that a close resets it? Called
 * after a set, which waits for the ticker. */
enum shut { SHUT_NOTHING, SHUT_INPUT, SHUT_ALL };
enum shut deadline_shut(int fd);

/* Are sent bytes still on their way to the client? */
bool deadline_unsent(int fd);

/* Called by the ticker. deadlines_pass ends waits that are past their time at `now`. The others end all idle
 * connections, or all connections at once, and return how many connections there are. */
void deadlines_pass(uint32_t now);
unsigned deadlines_end_idle(void);
unsigned deadlines_reset(void);

/* Makes room for new connections: ends at most `count` lingering and idle connections, those with the earliest end
 * first. Returns how many. Only one fiber may call it. */
unsigned deadlines_make_room(unsigned count);

#endif
