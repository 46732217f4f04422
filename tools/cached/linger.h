/* SPDX-License-Identifier: MIT */
/*
 * How a connection ends without losing an answer. A close with bytes unread, or before the client has sent its last
 * bytes, is a reset, and a reset may overtake what was sent before.
 */
#ifndef CACHED_LINGER_H
#define CACHED_LINGER_H

#include "cache.h"

#include <sys/socket.h>

/* Has the client got everything, and was everything that it sent read? */
bool mc_all_arrived(int fd);

/* Announces the end, and then reads and drops what the client sends, until the client has got everything, has closed,
 * or has done neither for some seconds. A cancellation of the caller does not end this. */
void mc_linger(struct mc_cache *cache, int fd);

/* Like weft_sendmsg, but sends in spite of a cancellation, until the time of grace is over. */
ssize_t mc_send_in_grace(struct mc_cache *cache, int fd, struct msghdr *message);

#endif
