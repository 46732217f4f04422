/* SPDX-License-Identifier: MIT */
/*
 * Requests and answers in datagrams. Each begins with eight bytes: the number of the request, which the client chose;
 * the place of the datagram in the answer, from 0; how many datagrams the answer has; and two zeros; 16 bits each,
 * the high byte first. A request is one datagram; an answer is as many as it needs, of 1400 bytes at most.
 */
#ifndef CACHED_UDP_H
#define CACHED_UDP_H

#include "cache.h"

/* Answers the requests that come to a socket, until it is cancelled. Several fibers may serve one socket. */
int mc_udp(struct mc_cache *cache, int fd);

#endif
