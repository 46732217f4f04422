/* SPDX-License-Identifier: MIT */
/*
 * How a connection ends without losing an answer. A close with bytes unread, or before the client has sent its last
 * bytes, is a reset, and a reset may overtake what was sent before.
 */
#ifndef CACHED_LINGER_H
#define CACHED_LINGER_H

#include "cache.h"

#include <sys/socket.h>

/* Has the client got all that was sent? And was all of its own read? */
bool mc_all_arrived(int fd);

/* Says that no more will come, and reads and drops what the client still sends, until it has got everything or has
 * closed, or does neither for some seconds. Whatever cancels the caller. */
void mc_linger(struct mc_cache *cache, int fd);

/* Sends in spite of a cancellation, until the time of grace is over: as weft_sendmsg. */
ssize_t mc_send_in_grace(struct mc_cache *cache, int fd, struct msghdr *message);

#endif
