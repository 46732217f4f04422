/* SPDX-License-Identifier: MIT */
/*
 * Ends a connection without losing an answer. Closing with unread bytes, or before the client has sent its last bytes,
 * causes a reset. A reset may overtake an answer that was sent before.
 */
#ifndef CACHED_LINGER_H
#define CACHED_LINGER_H

#include "cache.h"

#include <sys/socket.h>

/* Has the client received everything, and has the server read everything that the client sent? */
bool mc_all_arrived(int fd);

/* Announces the end. Then reads and drops what the client sends, until the client has received everything or has
 * closed, or until nothing has happened for some seconds. Cancelling the caller does not end this. */
void mc_linger(struct mc_cache *cache, int fd);

/* Sends like weft_sendmsg, but continues after a cancellation until the time of grace is over. */
ssize_t mc_send_in_grace(struct mc_cache *cache, int fd, struct msghdr *message);

#endif
